// Ranked answers, one list for each entity asked about; an answer opens to show why.

import { bar, count, element, percent, score } from "./elements.js";
import { inOneLine } from "./state.js";

/** Draw the reply to a question; `toggle(asked, answer)` is called when an answer is clicked. */
export function answerLists(question, reply, { toggle, copy, save }) {
  const named = { ...question, relation: reply.relation ?? question.relation };
  const lists = reply.results.map((result) => answerList(named, result, toggle));
  const seconds = reply.seconds === undefined ? "" : ` in ${reply.seconds.toFixed(2)} s`;
  const note = element("p", { class: "muted" }, `Answered${seconds}.`);
  const changed = { class: "small stale-note", id: "stale", hidden: true };
  const stale = element("p", changed, "The question has changed; ask again.");
  const button = (id, text, onclick, label = null) =>
    element("button", { type: "button", class: "quiet", id, onclick, "aria-label": label }, text);
  const buttons = element(
    "div",
    { class: "tools" },
    button("save-csv", "CSV", () => save("csv"), "Save the answers as CSV"),
    button("save-json", "JSON", () => save("json"), "Save the answers as JSON"),
    button("copy", "Copy link", copy),
  );
  return [element("div", { class: "results-bar" }, note, stale, buttons), ...lists];
}

function answerList(question, { head, tail, num_candidates: candidates, none, answers }, toggle) {
  const asked = head ?? tail;
  const title = element("h2", { class: "entity", title: asked.name }, inOneLine(question, asked.label));
  if (!answers.length) {
    const words = "No answers: no candidate is left. Look among other entities.";
    return element("section", { class: "card" }, title, element("p", { class: "empty" }, words));
  }
  const share = shares(answers);
  const rows = answers.map((answer) => answerRow(asked, answer, share, toggle));
  const rest = none === null || none === undefined ? "" : ` None of them is right: ${percent(none)}.`;
  const words = `${count(candidates, "candidate")}.${rest} ${share.caption} Open an answer to see why.`;
  return element("section", { class: "card" }, title, element("p", { class: "muted" }, words), rowList(rows));
}

const rowList = (rows) => element("ol", { class: "answers" }, ...rows);

/** Bars are confidence where there is any; else the score's place between the worst and the best one shown. */
function shares(answers) {
  if (answers.every(({ confidence }) => confidence !== null && confidence !== undefined)) {
    const certain = answers.some(({ is_known: isKnown }) => isKnown) ? " What is known is certain." : "";
    const caption = `Bars show confidence: how likely an answer is right.${certain}`;
    return { caption, of: ({ confidence }) => confidence, text: ({ confidence }) => percent(confidence) };
  }
  const scores = answers.map((answer) => answer.score);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const of = (answer) => (high > low ? 0.04 + (0.96 * (answer.score - low)) / (high - low) : 1);
  const caption = "Bars show the score, from the lowest to the highest in this list; it is no probability.";
  return { caption, of, text: (answer) => score(answer.score) };
}

function answerRow(asked, answer, share, toggle) {
  const { entity, rank } = answer;
  const name = entity.label === entity.name ? null : element("span", { class: "name" }, entity.name);
  const known = answer.is_known ? element("span", { class: "tag" }, "known") : null;
  const button = element(
    "button",
    { type: "button", class: "answer", "aria-expanded": "false", onclick: () => toggle(asked.name, entity.name) },
    element("span", { class: "rank" }, String(rank)),
    element("span", { class: "label" }, entity.label, name, known),
    bar(share.of(answer)),
    element("span", { class: "number" }, share.text(answer)),
    element("span", { class: "chevron", "aria-hidden": "true" }),
  );
  const row = element("li", {}, button);
  row.dataset.asked = asked.name;
  row.dataset.answer = entity.name;
  return row;
}

/** Find the row of an answer in what is shown; null when it is not among the answers. */
export function rowOf(place, { asked, answer }) {
  return [...place.querySelectorAll(".answers > li")].find(
    (row) => row.dataset.answer === answer && row.dataset.asked === asked,
  ) ?? null;
}

/** Open a row and return the place for its explanation. */
export function openRow(row) {
  const place = explanationPlace(row.querySelector(".label").firstChild.textContent);
  const button = row.querySelector(".answer");
  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-controls", place.id);
  row.append(place);
  return place;
}

/** Make a place for the explanation of an answer that a link names but that is not among the answers now. */
export function openApart(results, label) {
  const place = explanationPlace(label);
  const title = element("h2", {}, `${label}, which is not among these answers`);
  results.append(element("section", { class: "card apart" }, title, place));
  return place;
}

function explanationPlace(label) {
  return element("div", { id: "explanation", class: "explanation", role: "region", "aria-label": `Why ${label}` });
}

/** Close whatever is open. */
export function closeRows(results) {
  for (const button of results.querySelectorAll('.answer[aria-expanded="true"]')) {
    button.setAttribute("aria-expanded", "false");
    button.removeAttribute("aria-controls");
  }
  for (const node of results.querySelectorAll(".apart, .explanation")) node.remove();
}
