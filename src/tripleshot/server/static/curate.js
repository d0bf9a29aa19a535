// The page of a curator: proposals for a relation are accepted or rejected, and what is accepted becomes an example.

import * as api from "./api.js";
import { asPairs, asTable, decisionsOn, readTable } from "./decisions.js";
import { announce, count, element } from "./elements.js";
import { explanationOf } from "./explanation.js";
import { download } from "./export.js";
import { remember, seen } from "./names.js";
import { problem, waiting } from "./notices.js";
import { proposalList } from "./proposals.js";
import { fromFragment, nothing, toFragment } from "./state.js";

const AT_ONCE = 25; // heads of a request
const WANTED = 25; // proposals on the screen before a person asks for more
const MAX_EXAMPLES = 20; // half of them accepted ones at most
const MAX_BYTES = 10_000_000; // of a file
const PAUSE = 300; // milliseconds without a key before decisions are looked up

const byId = (id) => document.getElementById(id);
const results = byId("results");
const about = api.about();
let most = { examples: 100, asked: 100, top: 100 };
let graph = "";
let given = []; // examples from the address: those of a new relation
let decisions = decisionsOn("", "");
let list = null;
let asked = null; // what the proposals on the screen were asked by
let running = new AbortController();
let removeDrawing = () => {};

function replaceRunning() {
  running.abort();
  running = new AbortController();
  byId("propose").textContent = "Propose";
  byId("propose").setAttribute("aria-busy", "false");
  return running.signal;
}

function complain(message, place = "problem") {
  byId(place).replaceChildren(...(message ? [problem(message)] : []));
}

function show(...nodes) {
  closeExplanation();
  results.replaceChildren(...nodes);
}

function showBeginning() {
  const steps = [
    "Name a relation of the graph.",
    "Accept or reject what is proposed; open a triple to see why.",
    "Save the decisions, or propose again: what you accepted is then an example.",
  ];
  const words = "Confidence counts if the head has the relation at all. Whether it has is for you to say.";
  show(
    element(
      "section",
      { class: "card start" },
      element("h2", {}, "Nothing proposed yet"),
      element("ol", { class: "steps" }, ...steps.map((step) => element("li", {}, step))),
      element("p", { class: "muted" }, words),
    ),
  );
}

/** Take the relation that was typed: its decisions are shown and kept from now on. */
function takeRelation() {
  decisions = decisionsOn(graph, byId("relation").value.trim());
  showDecisions();
}

function showDecisions() {
  const all = decisions.all();
  const accepted = decisions.accepted();
  const words = `${accepted.length} accepted, ${all.length - accepted.length} rejected.`;
  byId("decided").textContent = `${all.length ? words : "None yet."} They stay in this browser.`;
  for (const id of ["save", "forget"]) byId(id).disabled = !all.length;
  byId("save-pairs").disabled = !accepted.length;
  byId("ask-more").hidden = !accepted.length;
  const question = { ...nothing(), relation: decisions.relation, examples: accepted.slice(-MAX_EXAMPLES) };
  byId("ask-more").href = `./#${toFragment(question)}`;
}

/** Read the form. */
function read() {
  const whole = (id, low, high) => Math.min(high, Math.max(low, Number.parseInt(byId(id).value, 10) || low));
  return {
    relation: byId("relation").value.trim(),
    top: whole("top", 1, most.top),
    missing_only: byId("missing").checked,
    ...(byId("confidence-field").hidden ? {} : { min_confidence: whole("confidence", 0, 100) / 100 }),
  };
}

/** What was accepted last, and behind it the examples of the address or triples of the graph. */
async function examplesFor(request, signal) {
  const accepted = decisions.accepted().map(({ head, tail }) => ({ head, tail })).reverse();
  if (!accepted.length) return given;
  const room = Math.min(MAX_EXAMPLES, most.examples);
  const own = given.length ? given : await drawn(request, signal);
  const chosen = [...accepted.slice(0, Math.max(room - own.length, room / 2)), ...own].slice(0, room);
  return [...new Map(chosen.map((pair) => [JSON.stringify([pair.head, pair.tail]), pair])).values()];
}

/** The triples of the graph that are examples without further words; none of a relation that it does not have. */
async function drawn({ relation }, signal) {
  try {
    const { examples } = await api.complete({ relation, limit: 1 }, signal);
    return examples.map(({ head, tail }) => ({ head: head.name, tail: tail.name }));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return [];
  }
}

async function propose() {
  const signal = replaceRunning();
  takeRelation();
  const request = read();
  complain(request.relation ? "" : "Name a relation of the graph.");
  if (!request.relation) return;
  byId("propose").textContent = "Proposing…";
  byId("propose").setAttribute("aria-busy", "true");
  if (!list) show(waiting("Looking for what is missing…"));
  try {
    const examples = await examplesFor(request, signal);
    asked = { ...request, ...(examples.length ? { examples } : {}), skip: 0 };
    await begin(signal);
    history.replaceState(null, "", `#${toFragment({ ...nothing(), relation: decisions.relation, examples: given })}`);
    list?.focusFirst();
  } catch (error) {
    if (error.name === "AbortError") return;
    complain(error.message);
    if (!list) showBeginning();
  }
  replaceRunning();
}

/** Ask for the first heads, and put a new list on the screen. */
async function begin(signal) {
  const first = await ask(signal);
  byId("relation").value = first.relation; // which may have been given by its label
  takeRelation();
  const own = decisions; // whatever is typed meanwhile, they are those of the list
  const decide = (proposal, decision) => note(own, proposal, decision);
  list = proposalList({ decisionOf: (proposal) => own.of(proposal), decide, explain });
  const about = element("p", { class: "muted", id: "note" });
  const more = element("button", { type: "button", class: "quiet", id: "more", onclick: goOn }, "Ask about more heads");
  const title = element("h2", {}, `? — ${first.label || first.relation} → ?`);
  show(element("section", { class: "card" }, title, about, ...list.nodes, more));
  showExamples(first.examples);
  await take(first, signal);
}

const ask = (signal) => api.complete({ ...asked, limit: Math.min(AT_ONCE, most.asked) }, signal);

/** Show what came, and ask about more heads until there is something to decide on. */
async function take(reply, signal) {
  const wanted = list.size() + WANTED;
  let next = reply;
  while (next) {
    remember(next.proposals.flatMap(({ head, tail }) => [head, tail]));
    list.add([...next.proposals].sort((one, other) => (other.confidence ?? 0) - (one.confidence ?? 0)));
    asked = { ...asked, skip: next.next };
    const heads = `${next.next ?? next.num_heads} of ${count(next.num_heads, "head")} asked about.`;
    byId("note").textContent = `${list.words()}, ${heads} Open a triple to see why.`;
    byId("more").hidden = next.next === null;
    const isEnough = next.next === null || list.size() >= wanted;
    next = isEnough ? null : await ask(signal);
  }
  announce(byId("note").textContent);
}

async function goOn() {
  const signal = replaceRunning();
  byId("more").textContent = "Asking…";
  try {
    await take(await ask(signal), signal);
    list.focusFirst();
  } catch (error) {
    if (error.name !== "AbortError") complain(error.message);
  }
  byId("more").textContent = "Ask about more heads";
}

function showExamples(examples) {
  remember(examples.flatMap(({ head, tail }) => [head, tail]));
  byId("examples-note").textContent = `${count(examples.length, "example")} in use. What you accept joins them.`;
  byId("examples").replaceChildren(
    ...examples.map(({ head, tail }) => element("li", {}, `${head.label} → ${tail.label}`)),
  );
}

function note(own, proposal, decision) {
  own.decide(proposal, decision);
  showDecisions();
  announce(`${seen(proposal.head.name).label} → ${seen(proposal.tail.name).label}: ${decision ?? "undecided"}`);
}

function closeExplanation() {
  removeDrawing();
  removeDrawing = () => {};
  for (const button of results.querySelectorAll('.triple[aria-expanded="true"]')) {
    button.setAttribute("aria-expanded", "false");
  }
  for (const node of results.querySelectorAll(".explanation")) node.remove();
}

/** Open a proposal to show what carried it, or close it when it is open. */
async function explain({ head, tail }, row) {
  const button = row.querySelector(".triple");
  const isOpen = button.getAttribute("aria-expanded") === "true";
  closeExplanation();
  if (isOpen) return;
  button.setAttribute("aria-expanded", "true");
  const label = `Why ${tail.label} for ${head.label}`;
  const place = element("div", { class: "explanation", role: "region", "aria-label": label });
  place.append(waiting("Looking for the reasons…"));
  row.append(place);
  try {
    const question = { relation: asked.relation, examples: asked.examples ?? [], side: "head" };
    const explanation = await api.explain(question, { asked: head.name, answer: tail.name });
    if (!place.isConnected) return;
    const { nodes, draw } = explanationOf(explanation);
    place.replaceChildren(...nodes);
    removeDrawing = draw();
    announce(explanation.summary);
  } catch (error) {
    place.replaceChildren(problem(error.message));
  }
}

function save(name, { text, left }) {
  download(name, text, "text/tab-separated-values");
  complain(left ? `${count(left, "row")} left out: a name has a tab or a line break.` : "", "file-problem");
  announce(`${name} saved`);
}

async function load({ target }) {
  const [file] = target.files;
  target.value = ""; // so that the same file can be chosen again
  if (!file) return;
  if (file.size > MAX_BYTES) return complain(`${file.name} is larger than ${count(MAX_BYTES, "byte")}`, "file-problem");
  const { byRelation, problem: wrong } = readTable(await file.text());
  complain(wrong, "file-problem");
  for (const [relation, rows] of byRelation) decisionsOn(graph, relation).add(rows);
  if (byRelation.size && !byId("relation").value.trim()) byId("relation").value = [...byRelation.keys()][0];
  takeRelation();
  list?.refresh();
}

async function introduce() {
  const told = await about;
  [graph, most] = [told.name, told.limits];
  const sizes = [count(told.num_relations, "relation"), count(told.num_triples, "triple")];
  byId("about").textContent = [told.name, ...sizes, `method ${told.method}`].join(" · ");
  byId("confidence-field").hidden = !told.has_confidence;
  byId("top").max = most.top;
  takeRelation();
  const { relations } = await api.relations();
  byId("relations").replaceChildren(
    ...relations.map(({ name, label, num_triples: number }) => {
      const words = label === name ? "" : `${label}, `;
      return element("option", { value: name }, `${words}${count(number, "triple")}`);
    }),
  );
}

function restore() {
  const { question } = fromFragment(location.hash);
  [byId("relation").value, given] = [question.relation, question.examples];
  showDecisions();
}

byId("completion").addEventListener("submit", (event) => {
  event.preventDefault();
  propose();
});
let typing = null;
byId("relation").addEventListener("input", () => {
  given = []; // they were those of the relation of the address
  clearTimeout(typing);
  typing = setTimeout(takeRelation, PAUSE);
});
byId("save").addEventListener("click", () => save("decisions.tsv", asTable(decisions.relation, decisions.all())));
byId("save-pairs").addEventListener("click", () => save("accepted.tsv", asPairs(decisions.accepted())));
byId("file").addEventListener("change", load);
byId("forget").addEventListener("click", () => {
  decisions.forget();
  showDecisions();
  list?.refresh();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment belongs to the relation
  results.focus();
});

restore();
showBeginning();
introduce().catch((error) => complain(error.message));
