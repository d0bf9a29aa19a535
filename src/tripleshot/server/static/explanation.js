// Why one answer: in a sentence, by reasons, as a picture, by example, and as a map of attention. What is not there has no part.

import { bar, count, element, percent, signed, signedBar } from "./elements.js";
import { heatMap } from "./heatmap.js";
import { drawPicture } from "./picture.js";
import { mainReasons, pathText, subgraphOf } from "./subgraph.js";

const MAX_PATHS = 3; // under a reason

/** Return the parts of an explanation, and `draw` to call once they stand in the page; it returns how to undo it. */
export function explanationOf(explanation) {
  const subgraph = subgraphOf(explanation);
  const canvas = element("div", { class: "picture", role: "img", "aria-label": pictureTitle(explanation, subgraph) });
  const readout = element("p", { class: "readout small muted" }, READ_HINT);
  const around = [legend(subgraph), canvas, readout, neighborTable(explanation)];
  const nodes = [
    element("p", { class: "summary" }, explanation.summary),
    ...reasons(explanation),
    remarks(explanation),
    subgraph.edges.length > 0 && part(`Between ${explanation.head.label} and ${explanation.tail.label}`, around),
    examples(explanation.examples),
    attention(explanation),
  ];
  const read = (text) => readout.replaceChildren(text || READ_HINT);
  const draw = () => (subgraph.edges.length > 0 ? drawPicture(canvas, subgraph, read) : () => {});
  return { nodes: nodes.filter(Boolean), draw };
}

const READ_HINT = "Point at a line or an entity to read it.";

function part(title, content) {
  return element("section", { class: "part" }, element("h3", {}, title), content);
}

/** What spoke for an answer and against it, numbered through, as the picture numbers its lines. */
function reasons(explanation) {
  const main = mainReasons(explanation);
  const heaviest = Math.max(...main.map(({ weight }) => Math.abs(weight)), 1e-9);
  const shown = new Set(); // a path stands under the first reason that rests on it
  const rows = main.map((reason, place) => {
    const paths = reason.paths.slice(0, MAX_PATHS).map(pathText).filter((path) => !shown.has(path));
    for (const path of paths) shown.add(path);
    const words = paths.map((path) => element("span", { class: "path" }, path));
    const row = element(
      "li",
      { value: place + 1 },
      element("span", { class: "badge" }, String(place + 1)),
      element("span", {}, reason.text, ...words),
      signedBar(reason.weight / heaviest),
      element("span", { class: "number" }, signed(reason.weight)),
    );
    return { row, isFor: reason.weight > 0 };
  });
  const list = (title, isFor) => {
    const chosen = rows.filter((each) => each.isFor === isFor).map(({ row }) => row);
    return chosen.length > 0 && part(title, element("ol", { class: "bars reasons" }, ...chosen));
  };
  return [list("What spoke for it", true), list("What spoke against it", false)];
}

function remarks({ remarks: lines }) {
  return lines.length > 0 && element("div", { class: "words" }, ...lines.map((line) => element("p", {}, line)));
}

function pictureTitle({ head, tail }, { edges, weightName }) {
  const weights = weightName ? `; the wider a line, the more ${weightName}` : "";
  return `${head.label} on one side, ${tail.label} on the other: ${edges.map(({ text }) => text).join("; ")}${weights}`;
}

function legend({ weightName, numLeftOut, has }) {
  const key = (kind, text) => element("span", { class: "key" }, element("span", { class: `mark ${kind}` }), text);
  const entries = [
    key("head", "head"),
    key("tail", "tail"),
    has.direct && key("direct", "direct neighbor"),
    has.distant && key("distant", "distant neighbor"),
    has.for && key("line for", "speaks for it"),
    has.against && key("line against", "speaks against it"),
    has.example && key("line example", "an example"),
    has.connection && key("connection", "connects head and tail"),
  ];
  const numbers = has.numbers ? "Numbers are those of the reasons." : "";
  const width = weightName ? `A wider line carries more ${weightName}.` : "";
  const left = numLeftOut > 0 ? `${count(numLeftOut, "more neighbor")} in the table.` : "";
  const note = [numbers, width, left].filter(Boolean).join(" ");
  return element("p", { class: "legend small" }, ...entries, element("span", { class: "muted" }, note));
}

/** Rows are made when the table is opened: there can be hundreds. */
function lazyTable(title, header, rows) {
  const details = element("details", {}, element("summary", {}, title));
  details.addEventListener(
    "toggle",
    () => {
      const cells = (tag, texts) => texts.map((text, place) => element(place || tag === "th" ? tag : "th", {}, text));
      const head = element("thead", {}, element("tr", {}, ...cells("th", header)));
      const body = element("tbody", {}, ...rows().map((texts) => element("tr", {}, ...cells("td", texts))));
      details.append(element("div", { class: "scroll", tabindex: "0" }, element("table", {}, head, body)));
    },
    { once: true },
  );
  return details;
}

function neighborTable({ head, tail, neighbors }) {
  if (!neighbors.length) return null;
  const has = (value) => value !== null && value !== undefined;
  const weights = [
    ["Local weight", "local_weight"],
    ["Attention", "attention"],
  ].filter(([, field]) => neighbors.some((neighbor) => has(neighbor[field])));
  const header = ["From", "Relation", "Neighbor", "Steps", ...weights.map(([title]) => title)];
  return lazyTable("Neighbors as a table", header, () =>
    neighbors.map((neighbor) => [
      (neighbor.through ?? (neighbor.side === "head" ? head : tail)).label,
      (neighbor.relation.is_inverse ? "← " : "→ ") + neighbor.relation.label,
      neighbor.entity.label,
      String(neighbor.hops),
      ...weights.map(([, field]) => (has(neighbor[field]) ? percent(neighbor[field]) : "–")),
    ]),
  );
}

function examples(given) {
  const kinds = [
    ["global_weight", "by context", "global"],
    ["local_weight", "by neighbors", "local"],
  ].filter(([field]) => given.some((example) => example[field] !== null && example[field] !== undefined));
  if (!kinds.length) return null;
  const weight = (example) => kinds.reduce((sum, [field]) => sum + example[field], 0);
  const rows = [...given].sort((one, other) => weight(other) - weight(one)).map((example) =>
    element(
      "li",
      {},
      element("span", {}, `${example.head.label} → ${example.tail.label}`),
      element("span", { class: "twin" }, ...kinds.map(([field, , kind]) => bar(example[field], kind))),
      element("span", { class: "number" }, kinds.map(([field]) => percent(example[field])).join(" · ")),
    ),
  );
  const keys = kinds.map(([, text, kind]) =>
    element("span", { class: "key" }, element("span", { class: `mark ${kind}` }), text),
  );
  const note = element("span", { class: "muted" }, "Each adds up to 100% over the examples.");
  const list = element("ol", { class: "bars" }, ...rows);
  return part("Examples that mattered", [element("p", { class: "legend small" }, ...keys, note), list]);
}

function attention({ tokens, attention: weights }) {
  if (!weights) return null;
  const note = "Each row is a token of the context and says how much it looks at every other; rows add up to 100%.";
  const table = lazyTable("Attention as a table", ["Token", ...tokens], () =>
    weights.map((row, place) => [tokens[place], ...row.map(percent)]),
  );
  return part("Attention", [element("p", { class: "muted" }, note), heatMap(tokens, weights), table]);
}
