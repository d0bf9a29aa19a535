// The subgraph on the screen, by cytoscape: attention is the width and the strength of a line.

import { percent } from "./elements.js";
import { INDENT, layout } from "./subgraph.js";

const NARROW = 640;
const LABEL = 108; // widest label in a column, in pixels

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
    container.style.height = `${heightOf(places, isNarrow)}px`;
    cy.resize();
    cy.style(styles(isNarrow, width));
    cy.nodes().positions((node) => ({ ...places[node.data("of") ?? node.id()] }));
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

function heightOf(places, isNarrow) {
  const ys = Object.values(places).map(({ y }) => y);
  const height = Math.max(...ys) - Math.min(...ys);
  return isNarrow ? height + 48 : Math.max(220, height + 96);
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
    ...nodes.filter(({ kind, relation }) => relation && kind !== "middle").map(noteOn),
    ...edges.map((edge) => ({
      data: { ...edge, label: edge.relation.label, text: edgeText(edge) },
      classes: edge.isConnection ? "connection" : "",
    })),
    { data: { id: "asked", source: head.id, target: tail.id, weight: 0, text: "the answer" }, classes: "asked" },
  ];
}

function nodeData({ id, entity, relation }) {
  const way = relation && `${relation.is_inverse ? "←" : "→"} ${relation.label}`;
  const { label, name } = entity;
  return { id, label, long: way ? `${label}  ${way}` : label, text: label === name ? label : `${label} (${name})` };
}

/** The relation that leads to a neighbor, written above it: on the line it would be hidden by other lines. */
function noteOn({ id, relation }) {
  return { data: { id: `${id}-note`, of: id, label: relation.label }, classes: "note" };
}

function edgeText({ text, value }) {
  return value === null || value === undefined ? text : `${text}, ${percent(value)}`;
}

function styles(isNarrow, width) {
  const colors = getComputedStyle(document.documentElement);
  const color = (name) => colors.getPropertyValue(`--${name}`).trim();
  const font = getComputedStyle(document.body).fontFamily;
  const room = (depth) => width - depth * INDENT - 50; // to the right of a node in the list
  const strong = { "font-size": 14, "font-weight": 600 };
  const wide = { "text-max-width": isNarrow ? room(1) : 1.3 * LABEL };
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
    { selector: "edge", style: edgeStyle(color) },
    { selector: "edge.connection", style: connectionStyle(color, font, isNarrow) },
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

function edgeStyle(color) {
  return {
    width: "mapData(weight, 0, 1, 1, 6)",
    opacity: "mapData(weight, 0, 1, 0.35, 0.95)",
    "line-color": color("edge"),
    "target-arrow-color": color("edge"),
    "target-arrow-shape": "triangle",
    "arrow-scale": 0.7,
    "curve-style": "bezier",
  };
}

function connectionStyle(color, font, isNarrow) {
  return {
    width: "mapData(weight, 0, 1, 3, 6)",
    opacity: 1,
    "line-color": color("link"),
    "target-arrow-color": color("link"),
    label: isNarrow ? "" : "data(label)",
    color: color("text"),
    "font-family": font,
    "font-size": 10,
    "text-rotation": "autorotate",
    "text-margin-y": -9,
    "text-wrap": "ellipsis",
    "text-max-width": LABEL,
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
