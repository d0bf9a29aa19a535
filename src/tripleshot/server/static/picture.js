// The subgraph on the screen, by cytoscape: weight is the width of a line; what speaks against is dashed.

import { percent } from "./elements.js";
import { INDENT, layout } from "./subgraph.js";

const NARROW = 640;
const LABEL = 108; // widest label in a column, in pixels
const WIDEST = "mapData(weight, 0, 1, 2, 6)"; // of the lines that reasons rest on
const MAX_LETTERS = 48; // of a label that is wrapped; pointing at it reads it in full
const MAX_WORD = 16;
const NEAR = 26; // pixels from a node, within which a line that passes it is bent
const BENT = 116; // control point of such a line below the straight one; the line reaches half as far
const BESIDE = 56; // further for each line that joins the same two nodes, so that labels do not lie over each other

/**
 * Draw into a container that stands in the page; `read` gets what is pointed at. Returns how to remove it.
 *
 * The library is loaded with the first picture. It is no module: it leaves its one function with the globals.
 */
export function drawPicture(container, subgraph, read) {
  let isWanted = true;
  let remove = () => {
    isWanted = false;
  };
  const draw = () => {
    if (isWanted) remove = mount(container, subgraph, read);
  };
  import("./cytoscape/cytoscape.min.js").then(draw, () => read("The picture could not be loaded."));
  return () => remove();
}

function mount(container, subgraph, read) {
  let width = container.clientWidth;
  let isNarrow = width < NARROW;
  const cy = globalThis.cytoscape({
    container,
    elements: elementsOf(subgraph),
    style: styles(isNarrow, width),
    layout: { name: "preset" },
    userZoomingEnabled: false,
    userPanningEnabled: false,
    boxSelectionEnabled: false,
    autounselectify: true,
  });
  const arrange = () => {
    const places = layout(subgraph, width, isNarrow);
    cy.style(styles(isNarrow, width));
    cy.nodes().positions((node) => ({ ...places[node.data("of") ?? node.id()] }));
    cy.nodes().forEach((node) => node.toggleClass("above", !isNarrow && node.hasClass("middle") && node.position("y") < 0));
    const between = cy.nodes(".middle").map((node) => node.position("y"));
    cy.edges(".asked").style(isNarrow ? {} : { "control-point-distances": -arch(between) });
    const deepest = bendAll(cy.edges().not(".asked"), isNarrow ? {} : places);
    container.style.height = `${heightOf(places, isNarrow, deepest)}px`;
    cy.resize();
    if (isNarrow) cy.viewport({ zoom: 1, pan: { x: 18, y: 22 } });
    else center(cy, places);
    container.dataset.nodes = String(cy.nodes().length);
  };
  const restyle = () => cy.style(styles(isNarrow, width));
  const observer = new ResizeObserver(() => {
    if (container.clientWidth === width) return; // a height of our own making
    width = container.clientWidth;
    isNarrow = width < NARROW;
    arrange();
  });
  cy.on("mouseover", "node, edge", ({ target }) => read(target.data("text")));
  cy.on("mouseout", "node, edge", () => read(""));
  document.addEventListener("themechange", restyle);
  arrange();
  observer.observe(container.parentElement);
  return () => {
    observer.disconnect();
    document.removeEventListener("themechange", restyle);
    cy.destroy();
  };
}

/** Let lines that would pass through another node go around it, below, side by side. Returns how far down the last is. */
function bendAll(edges, places) {
  const bent = new Map(); // how many lines between two nodes are bent
  let deepest = 0;
  edges.forEach((edge) => {
    const [from, to] = [edge.source().position(), edge.target().position()];
    const isPassed = ({ x, y }) => {
      const way = (x - from.x) / (to.x - from.x);
      return way > 0.02 && way < 0.98 && Math.abs(from.y + way * (to.y - from.y) - y) < NEAR;
    };
    if (!Object.values(places).some(isPassed)) return;
    const ends = [edge.source().id(), edge.target().id()].sort().join(" ");
    const depth = BENT + BESIDE * (bent.get(ends) ?? 0);
    bent.set(ends, (bent.get(ends) ?? 0) + 1);
    deepest = Math.max(deepest, depth);
    const distance = to.x > from.x ? depth : -depth;
    edge.style({ "curve-style": "unbundled-bezier", "control-point-distances": distance, "control-point-weights": 0.5 });
  });
  return deepest / 2;
}

/** How far the line of the answer is bent, so that it passes above everything between head and tail. */
function arch(between) {
  return 2 * (55 - Math.min(...between, 0));
}

function heightOf(places, isNarrow, deepest) {
  const ys = Object.values(places).map(({ y }) => y);
  const height = Math.max(...ys) - Math.min(...ys);
  return isNarrow ? height + 48 : Math.max(200, height + 136, height + 2 * deepest + 40);
}

function center(cy, places) {
  const middle = (values) => (Math.min(...values) + Math.max(...values)) / 2;
  const [x, y] = ["x", "y"].map((axis) => middle(Object.values(places).map((place) => place[axis])));
  cy.viewport({ zoom: 1, pan: { x: cy.width() / 2 - x, y: cy.height() / 2 - y } });
}

function elementsOf({ nodes, edges }) {
  const [head, tail] = nodes;
  return [
    ...nodes.map((node) => ({ data: nodeData(node), classes: node.kind })),
    ...nodes.filter(({ id, kind }) => kind !== "middle" && isNoted(edges, id)).map(noteOn),
    ...edges.map((edge) => ({
      data: { ...edge, label: edgeLabel(edge), text: edgeText(edge) },
      classes: edge.isAgainst ? `${edge.kind} opposed` : edge.kind,
    })),
    { data: { id: "asked", source: head.id, target: tail.id, weight: 0, text: "the answer" }, classes: "asked" },
  ];
}

function nodeData({ id, entity, relation }) {
  const way = relation && `${relation.is_inverse ? "←" : "→"} ${relation.label}`;
  const { label, name } = entity;
  const text = label === name ? label : `${label} (${name})`;
  return { id, label: shortened(label), long: way ? `${label}  ${way}` : label, text };
}

const isNoted = (edges, id) => edges.some(({ to, kind }) => to === id && kind === "neighbor");

/** The relation that leads to a neighbor, written above it: on the line it would be hidden by other lines. */
function noteOn({ id, relation }) {
  return { data: { id: `${id}-note`, of: id, label: relation.label }, classes: "note" };
}

function edgeLabel({ relation, numbers }) {
  return numbers.length ? `${numbers.join(", ")} · ${relation.label}` : relation.label;
}

function edgeText({ text, value, numbers, isAgainst }) {
  const of = numbers.length ? ` (reason ${numbers.join(", ")}${isAgainst ? ", against it" : ""})` : "";
  return value === null || value === undefined ? text + of : `${text}, ${percent(value)}`;
}

/** Cut a long label, and each word that is too long for a line, in the middle. */
function shortened(label) {
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 7)}…${text.slice(-6)}` : text);
  return cut(label.split(" ").map((word) => cut(word, MAX_WORD)).join(" "), MAX_LETTERS);
}

function styles(isNarrow, width) {
  const colors = getComputedStyle(document.documentElement);
  const color = (name) => colors.getPropertyValue(`--${name}`).trim();
  const font = getComputedStyle(document.body).fontFamily;
  const room = (depth) => width - depth * INDENT - 50; // to the right of a node in the list
  const strong = { "font-size": 14, "font-weight": 600 };
  const wrapped = { "text-wrap": "wrap", "text-max-width": 1.1 * LABEL };
  const wide = isNarrow ? { "text-max-width": room(1) } : wrapped;
  return [
    {
      selector: "node",
      style: {
        label: isNarrow ? "data(long)" : "data(label)",
        width: 14,
        height: 14,
        color: color("text"),
        "font-family": font,
        "font-size": 12,
        "text-wrap": "ellipsis",
        "text-max-width": isNarrow ? room(1) : LABEL,
        "text-valign": isNarrow ? "center" : "bottom",
        "text-halign": isNarrow ? "right" : "center",
        "text-margin-x": isNarrow ? 6 : 0,
        "text-margin-y": isNarrow ? 0 : 4,
        "text-background-color": color("surface"),
        "text-background-opacity": 0.8,
        "text-background-padding": 1,
        "background-color": color("neutral"),
      },
    },
    { selector: "node.note", style: noteStyle(color, isNarrow) },
    { selector: "node.distant", style: distantStyle(color, isNarrow ? room(2) : LABEL) },
    { selector: "node.middle", style: { "background-color": color("link"), width: 18, height: 18, ...wide } },
    { selector: "node.head, node.tail", style: { width: 26, height: 26, ...wide, ...strong } },
    { selector: "node.head", style: { "background-color": color("head") } },
    { selector: "node.tail", style: { "background-color": color("tail"), shape: "round-rectangle" } },
    { selector: "node.above", style: { "text-valign": "top", "text-margin-y": -4 } },
    { selector: "edge", style: edgeStyle(color, isNarrow) },
    { selector: "edge.connection", style: pathStyle(color, font, isNarrow, "edge", 2) },
    { selector: "edge.for", style: pathStyle(color, font, isNarrow, "for", WIDEST) },
    { selector: "edge.example", style: { ...pathStyle(color, font, isNarrow, "for", WIDEST), "line-style": "dotted" } },
    { selector: "edge.against", style: { ...pathStyle(color, font, isNarrow, "against", WIDEST), "line-style": "dashed" } },
    { selector: "edge.opposed", style: { "line-color": color("against"), "target-arrow-color": color("against") } },
    { selector: "edge.asked", style: askedStyle(color, isNarrow) },
  ];
}

function noteStyle(color, isNarrow) {
  return {
    display: isNarrow ? "none" : "element",
    label: "data(label)",
    events: "no",
    "background-opacity": 0,
    "font-size": 10,
    color: color("muted"),
    "text-valign": "top",
    "text-margin-y": -3,
  };
}

function distantStyle(color, room) {
  const border = { "border-width": 2, "border-color": color("neutral") };
  return { ...border, "background-color": color("surface"), width: 11, height: 11, "text-max-width": room };
}

function edgeStyle(color, isNarrow) {
  return {
    width: "mapData(weight, 0, 1, 1, 6)",
    opacity: "mapData(weight, 0, 1, 0.35, 0.95)",
    "line-color": color("edge"),
    "target-arrow-color": color("edge"),
    "target-arrow-shape": "triangle",
    "arrow-scale": 0.7,
    "curve-style": "bezier",
    "control-point-step-size": isNarrow ? 6 : 40, // between lines side by side; in the list, labels are near
  };
}

function pathStyle(color, font, isNarrow, name, width) {
  return {
    width,
    opacity: 1,
    "line-color": color(name),
    "target-arrow-color": color(name),
    label: isNarrow ? "" : "data(label)",
    color: color("text"),
    "font-family": font,
    "font-size": 10,
    "text-rotation": "autorotate",
    "text-margin-y": -9,
    "text-wrap": "ellipsis",
    "text-max-width": 1.3 * LABEL,
    "z-index": 5,
  };
}

function askedStyle(color, isNarrow) {
  return {
    width: 2,
    opacity: 1,
    "line-style": "dashed",
    "line-color": color("muted"),
    "target-arrow-color": color("muted"),
    "curve-style": isNarrow ? "straight" : "unbundled-bezier",
    "control-point-distances": -70,
    "control-point-weights": 0.5,
  };
}
