// Ranked tails, one list for each head; an answer opens to show why.

import { bar, count, element, percent, score } from "./elements.js";

/** Draw the reply of a question; `toggle(head, tail)` is called when an answer is clicked. */
export function answerLists(reply, { toggle, copy }) {
  const lists = reply.results.map((result) => answerList(result, toggle));
  const seconds = reply.seconds === undefined ? "" : ` in ${reply.seconds.toFixed(2)} s`;
  const button = element("button", { type: "button", class: "quiet", id: "copy", onclick: copy }, "Copy link");
  const note = element("p", { class: "muted" }, `Answered${seconds}.`);
  const changed = { class: "small stale-note", id: "stale", hidden: true };
  const stale = element("p", changed, "The question has changed; ask again.");
  return [element("div", { class: "results-bar" }, note, stale, button), ...lists];
}

function answerList({ head, num_candidates: candidates, answers }, toggle) {
  const title = element("h2", {}, element("span", { class: "entity", title: head.name }, head.label), " → ?");
  if (!answers.length) {
    const words = "No answers: no candidate is left. Look among other entities.";
    return element("section", { class: "card" }, title, element("p", { class: "empty" }, words));
  }
  const share = shares(answers);
  const rows = answers.map((answer) => answerRow(head, answer, share, toggle));
  const caption = element("p", { class: "muted" }, `${count(candidates, "candidate")}. ${share.caption}`);
  return element("section", { class: "card" }, title, caption, element("ol", { class: "answers" }, ...rows));
}

/** Bars are confidence where there is any; else the score's place between the worst and the best one shown. */
function shares(answers) {
  if (answers.every(({ confidence }) => confidence !== null && confidence !== undefined)) {
    const caption = "Bars show confidence: how likely an answer is right.";
    return { caption, of: ({ confidence }) => confidence, text: ({ confidence }) => percent(confidence) };
  }
  const scores = answers.map((answer) => answer.score);
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const of = (answer) => (high > low ? 0.04 + (0.96 * (answer.score - low)) / (high - low) : 1);
  const caption = "Bars show the score, from the lowest to the highest in this list; it is no probability.";
  return { caption, of, text: (answer) => score(answer.score) };
}

function answerRow(head, answer, share, toggle) {
  const { entity, rank } = answer;
  const name = entity.label === entity.name ? null : element("span", { class: "name" }, entity.name);
  const known = answer.is_known ? element("span", { class: "tag" }, "known") : null;
  const button = element(
    "button",
    { type: "button", class: "answer", "aria-expanded": "false", onclick: () => toggle(head.name, entity.name) },
    element("span", { class: "rank" }, String(rank)),
    element("span", { class: "label" }, entity.label, name, known),
    bar(share.of(answer)),
    element("span", { class: "number" }, share.text(answer)),
  );
  const row = element("li", {}, button);
  row.dataset.head = head.name;
  row.dataset.tail = entity.name;
  return row;
}

/** Find the row of an answer in what is shown; null when it is not among the answers. */
export function rowOf(place, { head, tail }) {
  return [...place.querySelectorAll(".answers > li")].find(
    (row) => row.dataset.tail === tail && row.dataset.head === head,
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

/** Make a place for the explanation of a tail that a link names but that is not among the answers now. */
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
