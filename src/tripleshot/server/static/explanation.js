// Why one answer: in words, as a picture of the neighborhood, by example, and as a map of attention.

import { bar, count, element, percent } from "./elements.js";
import { heatMap } from "./heatmap.js";
import { drawPicture } from "./picture.js";
import { subgraphOf } from "./subgraph.js";

/** Return the parts of an explanation, and `draw` to call once they stand in the page; it returns how to undo it. */
export function explanationOf(explanation) {
  const subgraph = subgraphOf(explanation);
  const canvas = element("div", { class: "picture", role: "img", "aria-label": pictureTitle(explanation, subgraph) });
  const readout = element("p", { class: "readout small muted" }, READ_HINT);
  const nodes = [
    part("In words", words(explanation)),
    part(`Around ${explanation.head.label} and ${explanation.tail.label}`, [
      legend(subgraph),
      canvas,
      readout,
      neighborTable(explanation),
    ]),
    part("Examples that mattered", examples(explanation.examples)),
    part("Attention", attention(explanation)),
  ];
  const read = (text) => readout.replaceChildren(text || READ_HINT);
  return { nodes, draw: () => drawPicture(canvas, subgraph, read) };
}

const READ_HINT = "Point at a line or an entity to read it.";

function part(title, content) {
  return element("section", { class: "part" }, element("h3", {}, title), content);
}

/** One paragraph for each line; the indented lines are reasons, and stand as one list with their weights. */
function words({ text, reasons }) {
  const lines = text.split("\n").filter((line) => line.trim());
  const isReason = (line) => line.startsWith(" ");
  const nodes = lines.filter((line) => !isReason(line)).map((line) => element("p", {}, line));
  const place = lines.findIndex(isReason);
  if (place >= 0) nodes.splice(place, 0, weighed(reasons.filter((reason) => lines.includes(`  ${reason.text}`))));
  return element("div", { class: "words" }, ...nodes);
}

function weighed(reasons) {
  const heaviest = Math.max(...reasons.map(({ weight }) => weight), 1e-9);
  const rows = reasons.map(({ text, weight }) => {
    const number = element("span", { class: "number" }, weight.toFixed(2));
    return element("li", {}, element("span", {}, text), bar(weight / heaviest), number);
  });
  return element("ol", { class: "bars reasons" }, ...rows);
}

function pictureTitle({ head, tail }, { nodes, weightName }) {
  const weights = weightName ? `; the wider a line, the more ${weightName}` : "";
  return `${head.label} on one side, ${tail.label} on the other, and ${count(nodes.length - 2, "neighbor")}${weights}`;
}

function legend({ weightName, numLeftOut, connections }) {
  const key = (kind, text) => element("span", { class: "key" }, element("span", { class: `mark ${kind}` }), text);
  const entries = [
    key("head", "head"),
    key("tail", "tail"),
    key("direct", "direct neighbor"),
    key("distant", "distant neighbor"),
    connections.length > 0 && key("connection", "connects head and tail"),
  ];
  const width = weightName ? `A wider line carries more ${weightName}.` : "This method gives no weights to lines.";
  const left = numLeftOut > 0 ? ` ${count(numLeftOut, "more neighbor")} in the table.` : "";
  return element("p", { class: "legend small" }, ...entries, element("span", { class: "muted" }, width + left));
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
  const share = (value) => (value === null || value === undefined ? "–" : percent(value));
  const header = ["From", "Relation", "Neighbor", "Steps", "Local weight", "Attention"];
  return lazyTable("Neighbors as a table", header, () =>
    neighbors.map((neighbor) => [
      (neighbor.through ?? (neighbor.side === "head" ? head : tail)).label,
      (neighbor.relation.is_inverse ? "← " : "→ ") + neighbor.relation.label,
      neighbor.entity.label,
      String(neighbor.hops),
      share(neighbor.local_weight),
      share(neighbor.attention),
    ]),
  );
}

function examples(given) {
  const kinds = [
    ["global_weight", "by context", "global"],
    ["local_weight", "by neighbors", "local"],
  ].filter(([field]) => given.some((example) => example[field] !== null && example[field] !== undefined));
  if (!kinds.length) return element("p", { class: "muted" }, "This method does not weigh its examples.");
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
  return [element("p", { class: "legend small" }, ...keys, note), element("ol", { class: "bars" }, ...rows)];
}

function attention({ tokens, attention: weights }) {
  if (!weights) return element("p", { class: "muted" }, "This method has no attention to show.");
  const note = "Each row is a token of the context and says how much it looks at every other; rows add up to 100%.";
  const table = lazyTable("Attention as a table", ["Token", ...tokens], () =>
    weights.map((row, place) => [tokens[place], ...row.map(percent)]),
  );
  return [element("p", { class: "muted" }, note), heatMap(tokens, weights), table];
}
