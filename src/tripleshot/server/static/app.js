// The page: a question becomes answers, an answer becomes an explanation, and the address always says which.

import * as api from "./api.js";
import { answerLists, closeRows, openApart, openRow, rowOf } from "./answers.js";
import { announce, count, isStill } from "./elements.js";
import { explanationOf } from "./explanation.js";
import { asCsv, asJson, download } from "./export.js";
import { questionForm } from "./form.js";
import { byName, remember, seen } from "./names.js";
import { beginning, problem, waiting } from "./notices.js";
import { fromFragment, inOneLine, isSame, missing, nothing, toFragment } from "./state.js";

const results = document.getElementById("results");
let asked = null; // the question that the answers on the screen belong to
let opened = null; // {asked, answer} by name
let offered = null; // an example question from the server
let running = new AbortController();
let removeDrawing = () => {};

const about = api.about();
const form = questionForm({ about, ask: askAnew, change: markStale, clear: startOver });

function show(...nodes) {
  closeExplanation();
  results.classList.remove("stale");
  results.replaceChildren(...nodes);
}

function closeExplanation() {
  removeDrawing();
  removeDrawing = () => {};
  closeRows(results);
}

function replaceRunning() {
  running.abort();
  running = new AbortController();
  endWaiting();
  return running.signal;
}

function showNothing() {
  asked = null;
  document.title = "tripleshot";
  show(beginning(offered, takeOffer));
}

function takeOffer() {
  form.show(offered);
  askAnew(offered);
}

function startOver() {
  replaceRunning();
  opened = null;
  form.show(nothing());
  history.pushState(null, "", location.pathname + location.search);
  showNothing();
}

/** Ask because a person said so: once it is answered, this is a new step in the history. */
async function askAnew(question) {
  if (!(await ask(question, null))) return;
  const fragment = `#${toFragment(question)}`;
  if (location.hash !== fragment) history.pushState(null, "", fragment);
  const isBelow = results.getBoundingClientRect().top > innerHeight * 0.6;
  if (isBelow) results.scrollIntoView({ behavior: isStill() ? "auto" : "smooth" });
}

/** Ask, and show the answers; what goes wrong is said beside the form, and what was on the screen stays. */
async function ask(question, toOpen) {
  const signal = replaceRunning();
  form.complain(missing(question));
  if (missing(question)) return false;
  if (!results.hasChildNodes()) show(waiting("Asking…"));
  results.setAttribute("aria-busy", "true");
  form.wait(true);
  try {
    const reply = await api.answer(question, signal);
    endWaiting();
    [asked, opened] = [question, toOpen];
    showAnswers(reply);
    return true;
  } catch (error) {
    if (error.name === "AbortError") return false;
    endWaiting();
    form.complain(error.message);
    if (asked) markStale();
    else showNothing();
    return false;
  }
}

function endWaiting() {
  results.removeAttribute("aria-busy");
  form.wait(false);
}

function showAnswers(reply) {
  const entities = reply.results.map(({ head, tail }) => head ?? tail);
  remember([...entities, ...reply.results.flatMap(({ answers }) => answers.map(({ entity }) => entity))]);
  show(...answerLists(asked, reply, { toggle, copy: copyLink, save: (kind) => save(kind, reply) }));
  const labels = entities.map(({ label }) => label).join(", ");
  document.title = `${inOneLine(asked, labels)} · tripleshot`;
  const total = reply.results.reduce((sum, { answers }) => sum + answers.length, 0);
  announce(`${count(total, "answer")} for ${labels}`);
  markStale(); // the question may have changed while its answers were under way
  if (opened) open();
}

function save(kind, reply) {
  const [write, type] = kind === "csv" ? [asCsv, "text/csv"] : [asJson, "application/json"];
  download(`answers.${kind}`, write(asked, reply), type);
  announce(`answers.${kind} saved`);
}

/** Open an answer, or close it when it is open. */
function toggle(entity, answer) {
  const isOpen = opened?.asked === entity && opened.answer === answer;
  opened = isOpen ? null : { asked: entity, answer };
  history.pushState(null, "", `#${toFragment(asked, opened)}`);
  open();
}

async function open() {
  const signal = replaceRunning();
  closeExplanation();
  if (!opened) return;
  const row = findOpened();
  const place = row ? openRow(row) : openApart(results, seen(opened.answer).label);
  place.append(waiting("Looking for the reasons…"));
  try {
    const explanation = await api.explain(asked, opened, signal);
    const { nodes, draw } = explanationOf(explanation);
    place.replaceChildren(...nodes);
    removeDrawing = draw();
    announce(explanation.summary);
  } catch (error) {
    if (error.name !== "AbortError") place.replaceChildren(problem(error.message));
  }
}

/** A link may name the entity asked about by label or id: then the only list there is decides. */
function findOpened() {
  const lists = new Set([...results.querySelectorAll(".answers > li")].map((row) => row.dataset.asked));
  if (lists.size === 1) opened.asked = [...lists][0];
  return rowOf(results, opened);
}

function markStale() {
  const isStale = asked !== null && !isSame(byName(form.read()), byName(asked));
  results.classList.toggle("stale", isStale);
  const note = document.getElementById("stale");
  if (note) note.hidden = !isStale;
}

async function copyLink() {
  const button = document.getElementById("copy");
  const isCopied = await copied(location.href);
  button.textContent = isCopied ? "Copied" : "Copy it from the address bar";
  announce(button.textContent);
  setTimeout(() => {
    button.textContent = "Copy link";
  }, 2000);
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // pages without TLS may not write to the clipboard
  }
}

async function restore() {
  const view = fromFragment(location.hash);
  if (asked && isSame(view.question, asked)) {
    opened = view.opened;
    return open();
  }
  form.show(view.question);
  opened = null;
  if (!missing(view.question)) return ask(view.question, view.opened);
  replaceRunning();
  return showNothing();
}

async function introduce() {
  const told = await about;
  form.fit(told);
  const sizes = [count(told.num_entities, "entity", "entities"), count(told.num_triples, "triple")];
  document.getElementById("about").textContent = [told.name, ...sizes, `method ${told.method}`].join(" · ");
}

/** Offer a question of the server's own, if it has one. */
async function offer() {
  const { question } = await api.example();
  if (!question) return;
  remember([...question.examples.flatMap(({ head, tail }) => [head, tail]), question.head]);
  const examples = question.examples.map(({ head, tail }) => ({ head: head.name, tail: tail.name }));
  const { relation, head, with_known: known } = question;
  offered = { ...nothing(), relation, examples, asked: [head.name], known };
  if (results.querySelector(".start")) showNothing();
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment belongs to the question
  results.focus();
});
results.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !opened) return;
  const row = rowOf(results, opened);
  toggle(opened.asked, opened.answer);
  row?.querySelector(".answer").focus();
});
document.getElementById("curate").addEventListener("click", ({ currentTarget }) => {
  const { relation, examples } = form.read();
  if (relation) currentTarget.href = `curate.html#${toFragment({ ...nothing(), relation, examples })}`;
});
addEventListener("hashchange", restore);

restore();
introduce().catch((error) => form.complain(error.message));
offer().catch(() => {}); // the page is whole without it
