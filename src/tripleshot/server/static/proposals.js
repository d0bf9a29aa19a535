// Proposed triples, one row each: accept, reject, or open to see why. The arrow keys move, letters decide.

import { bar, count, element, percent, score } from "./elements.js";

const KEYS = [
  ["↓ ↑", "move"],
  ["A", "accept"],
  ["R", "reject"],
  ["U", "undo"],
  ["W", "why"],
];

/**
 * Build a list of proposals.
 *
 * @param {(proposal) => string | null} decisionOf what was decided about a proposal
 * @param {(proposal, decision: string | null) => void} decide called when a person decides
 * @param {(proposal, row: Element) => void} explain called when a person wants to know why
 */
export function proposalList({ decisionOf, decide, explain }) {
  const list = element("ol", { class: "proposals", "aria-label": "Proposals" });
  const shown = new Map(); // row -> proposal

  function add(proposals) {
    for (const proposal of proposals) {
      const row = rowOf(proposal);
      shown.set(row, proposal);
      list.append(row);
      mark(row);
    }
    if (!list.querySelector('[tabindex="0"]')) list.firstElementChild?.setAttribute("tabindex", "0");
  }

  function rowOf(proposal) {
    const { head, tail, confidence } = proposal;
    const words = `${head.label} → ${tail.label}`;
    const button = (kind, text, decision) =>
      element(
        "button",
        { type: "button", class: kind, "aria-label": `${text} ${words}`, onclick: () => judge(row, decision) },
        text,
      );
    const why = { type: "button", class: "triple", "aria-expanded": "false", onclick: () => explain(proposal, row) };
    const said = element("span", { class: "said" }, element("span", {}, words), names(head, tail));
    const row = element(
      "li",
      { tabindex: "-1", "aria-label": words },
      element(
        "div",
        { class: "proposal" },
        element("button", why, said, element("span", { class: "chevron", "aria-hidden": "true" })),
        bar(confidence ?? 0),
        element("span", { class: "number" }, confidence === null ? score(proposal.score) : percent(confidence)),
        element(
          "div",
          { class: "judge" },
          button("accept", "Accept", "accepted"),
          button("reject", "Reject", "rejected"),
        ),
      ),
    );
    return row;
  }

  /** Decide; the same decision again takes it back. */
  function judge(row, decision) {
    const proposal = shown.get(row);
    decide(proposal, decisionOf(proposal) === decision ? null : decision);
    mark(row);
  }

  function mark(row) {
    const decision = decisionOf(shown.get(row));
    row.dataset.decision = decision ?? "";
    row.querySelector(".accept").setAttribute("aria-pressed", String(decision === "accepted"));
    row.querySelector(".reject").setAttribute("aria-pressed", String(decision === "rejected"));
  }

  function focus(row) {
    if (!row) return;
    list.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    row.setAttribute("tabindex", "0");
    row.focus();
  }

  const open = (row) => !row.dataset.decision;

  /** Go to the next row without a decision; stay where there is none. */
  function advance(row) {
    const rows = [...list.children];
    const place = rows.indexOf(row);
    focus([...rows.slice(place + 1), ...rows.slice(0, place)].find(open) ?? row);
  }

  list.addEventListener("keydown", (event) => {
    const row = event.target.closest(".proposals > li");
    const isOwn = event.target === row || event.target.closest(".proposal");
    if (!row || !isOwn || event.ctrlKey || event.metaKey || event.altKey) return;
    const settle = (decision) => {
      decide(shown.get(row), decision);
      mark(row);
      if (decision) advance(row);
    };
    const actions = {
      ArrowDown: () => focus(row.nextElementSibling),
      ArrowUp: () => focus(row.previousElementSibling),
      a: () => settle("accepted"),
      r: () => settle("rejected"),
      u: () => settle(null),
      w: () => explain(shown.get(row), row),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  const keys = element(
    "p",
    { class: "muted keys" },
    ...KEYS.map(([key, text]) => element("span", {}, element("kbd", {}, key), ` ${text}`)),
  );

  return {
    nodes: [keys, list],
    add,
    focusFirst: () => focus([...list.children].find(open)),
    refresh: () => [...list.children].forEach(mark),
    size: () => shown.size,
    words: () => count(shown.size, "proposal"),
  };
}

/** The names in the graph, where they are not what is shown. */
function names(head, tail) {
  if (head.name === head.label && tail.name === tail.label) return null;
  return element("span", { class: "name" }, `${head.name} → ${tail.name}`);
}
