// The page: a question becomes answers, an answer becomes an explanation, and the address always says which.

import * as api from "./api.js";
import { answerLists, closeRows, openApart, openRow, rowOf } from "./answers.js";
import { announce, count, element, isStill } from "./elements.js";
import { explanationOf } from "./explanation.js";
import { questionForm } from "./form.js";
import { byName, remember, seen } from "./names.js";
import { beginning, problem, waiting } from "./notices.js";
import { fromFragment, isComplete, isSame, nothing, toFragment } from "./state.js";

const results = document.getElementById("results");
let asked = null; // the question that the answers on the screen belong to
let opened = null; // {head, tail} by name
let offered = null; // an example question from the server
let running = new AbortController();
let removeDrawing = () => {};

const about = api.about();
const form = questionForm({ about, ask: askAnew, change: markStale, clear: startOver });

function show(...nodes) {
  closeExplanation();
  results.removeAttribute("aria-busy");
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
  return running.signal;
}

function showNothing() {
  document.title = "tripleshot";
  show(beginning(offered, takeOffer));
}

function takeOffer() {
  form.show(offered);
  askAnew(offered);
}

function startOver() {
  replaceRunning();
  asked = opened = null;
  form.show(nothing());
  history.pushState(null, "", location.pathname + location.search);
  showNothing();
}

/** Ask because a person said so: this is a new step in the history. */
async function askAnew(question) {
  opened = null;
  if (isComplete(question)) {
    const fragment = `#${toFragment(question)}`;
    if (location.hash !== fragment) history.pushState(null, "", fragment);
  }
  await ask(question);
  const isBelow = results.getBoundingClientRect().top > innerHeight * 0.6;
  if (isBelow) results.scrollIntoView({ behavior: isStill() ? "auto" : "smooth" });
}

async function ask(question) {
  const signal = replaceRunning();
  asked = null;
  if (!isComplete(question)) {
    const missing = question.examples.length ? "Name a head to ask about." : "Give at least one example pair.";
    return show(problem(missing));
  }
  show(waiting("Asking…"));
  results.setAttribute("aria-busy", "true");
  try {
    const reply = await api.answer(question, signal);
    asked = question;
    showAnswers(reply);
  } catch (error) {
    if (error.name !== "AbortError") show(problem(error.message));
  }
}

function showAnswers(reply) {
  const found = reply.results.flatMap(({ head, answers }) => [head, ...answers.map(({ entity }) => entity)]);
  remember(found);
  show(...answerLists(reply, { toggle, copy: copyLink }));
  const labels = reply.results.map(({ head }) => head.label).join(", ");
  document.title = `${labels} → ? · tripleshot`;
  const total = reply.results.reduce((sum, { answers }) => sum + answers.length, 0);
  announce(`${count(total, "answer")} for ${labels}`);
  markStale(); // the question may have changed while its answers were under way
  if (opened) open();
}

/** Open an answer, or close it when it is open. */
function toggle(head, tail) {
  const isOpen = opened?.head === head && opened.tail === tail;
  opened = isOpen ? null : { head, tail };
  history.pushState(null, "", `#${toFragment(asked, opened)}`);
  open();
}

async function open() {
  const signal = replaceRunning();
  closeExplanation();
  if (!opened) return;
  const row = findOpened();
  const place = row ? openRow(row) : openApart(results, seen(opened.tail).label);
  place.append(waiting("Looking for the reasons…"));
  try {
    const explanation = await api.explain(asked, opened.head, opened.tail, signal);
    const { nodes, draw } = explanationOf(explanation);
    place.replaceChildren(...nodes);
    removeDrawing = draw();
    announce(`Why ${explanation.tail.label} for ${explanation.head.label}`);
  } catch (error) {
    if (error.name !== "AbortError") place.replaceChildren(problem(error.message));
  }
}

/** A link may name the opened head by label or id: then the only list there is decides. */
function findOpened() {
  const lists = new Set([...results.querySelectorAll(".answers > li")].map((row) => row.dataset.head));
  if (lists.size === 1) opened.head = [...lists][0];
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
  opened = view.opened;
  if (asked && isSame(view.question, asked)) return open();
  form.show(view.question);
  if (isComplete(view.question)) return ask(view.question);
  replaceRunning();
  asked = null;
  return showNothing();
}

async function introduce() {
  const told = await about;
  form.fit(told);
  const sizes = [count(told.num_entities, "entity", "entities"), count(told.num_triples, "triple")];
  document.getElementById("about").textContent = [told.name, ...sizes, `method ${told.method}`].join(" · ");
  offered = offerOf(told.example);
  if (!asked && results.querySelector(".start")) showNothing();
}

/** An example question is optional: {"examples": [{"head": entity, "tail": entity}], "head": entity}. */
function offerOf(example) {
  if (!example?.examples?.length) return null;
  remember([...example.examples.flatMap(({ head, tail }) => [head, tail]), example.head]);
  const examples = example.examples.map(({ head, tail }) => ({ head: head.name, tail: tail.name }));
  return { ...nothing(), examples, heads: [example.head.name] };
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment belongs to the question
  results.focus();
});
results.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !opened) return;
  const row = rowOf(results, opened);
  toggle(opened.head, opened.tail);
  row?.querySelector(".answer").focus();
});
addEventListener("hashchange", restore);

restore();
introduce().catch((error) => {
  if (!asked) show(problem(error.message));
});
