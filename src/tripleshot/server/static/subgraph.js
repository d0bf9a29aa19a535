// From an explanation to nodes, lines and places: the head on one side, the tail on the other. Draws nothing.

const SHOWN = 8; // neighbors drawn on each side; the table has them all
const SHOWN_CONNECTIONS = 6;

const ROW = 54; // wide screens: head and tail in a row, neighbors in columns
const MARGIN = 62;
const MAX_COLUMN = 190;
export const INDENT = 40; // narrow screens: head above tail, neighbors as an indented list
const LINE = 42;

/** Collect {nodes, edges, connections, weightName, numLeftOut} of what is worth drawing. */
export function subgraphOf(explanation) {
  const { head, tail } = explanation;
  const weigh = weighing(explanation.neighbors);
  const shown = ["head", "tail"].flatMap((side) => heaviest(explanation.neighbors, side, weigh));
  const connections = explanation.connections.slice(0, SHOWN_CONNECTIONS);
  const nodes = new Map();
  const place = (entity, kind, side, parent = null) => {
    if (!nodes.has(entity.id)) nodes.set(entity.id, { id: `n${entity.id}`, entity, kind, side, parent });
  };
  place(head, "head", "head");
  place(tail, "tail", "tail");
  for (const { entities } of connections) for (const entity of entities.slice(1, -1)) place(entity, "middle", "both");
  for (const neighbor of shown.filter(({ hops }) => hops === 1)) place(neighbor.entity, "direct", neighbor.side);
  for (const neighbor of shown.filter(({ through }) => through)) {
    place(neighbor.through, "direct", neighbor.side);
    place(neighbor.entity, "distant", neighbor.side, `n${neighbor.through.id}`);
  }
  const edges = edgesOf(explanation, shown, connections, weigh);
  const entities = [...nodes.values()];
  for (const node of entities.slice(2)) node.relation = edges.find((edge) => edge.to === node.id)?.relation ?? null;
  return {
    nodes: entities,
    edges,
    connections,
    weightName: weigh.name,
    numLeftOut: explanation.neighbors.length - shown.length,
  };
}

function weighing(neighbors) {
  const has = (field) => neighbors.some((neighbor) => neighbor[field] !== null && neighbor[field] !== undefined);
  const field = has("attention") ? "attention" : has("local_weight") ? "local_weight" : null;
  const most = Math.max(...neighbors.map((neighbor) => neighbor[field] ?? 0), 1e-9);
  const share = (neighbor) => (field ? (neighbor[field] ?? 0) / most : 0.3);
  const value = (neighbor) => (field ? neighbor[field] : null);
  return { share, value, name: field === "local_weight" ? "weight" : field };
}

/** The heaviest of a side, and the direct neighbors that lead to them. */
function heaviest(neighbors, side, weigh) {
  const sorted = neighbors
    .filter((neighbor) => neighbor.side === side)
    .sort((one, other) => weigh.share(other) - weigh.share(one));
  const chosen = sorted.slice(0, SHOWN);
  const middles = new Set(chosen.map(({ through }) => through?.id));
  const leading = sorted.slice(SHOWN).filter(({ hops, entity }) => hops === 1 && middles.has(entity.id));
  return [...chosen, ...leading];
}

function edgesOf({ head, tail }, shown, connections, weigh) {
  const edges = new Map();
  const add = (from, to, relation, weight, value, isConnection) => {
    const [first, last] = relation.is_inverse ? [to, from] : [from, to];
    const id = `${first.id}-${relation.label}-${last.id}`;
    const before = edges.get(id);
    const text = `${first.label} — ${relation.label} → ${last.label}`;
    const edge = { id, source: `n${first.id}`, target: `n${last.id}`, to: `n${to.id}`, relation, text };
    edge.weight = Math.max(weight, before?.weight ?? 0);
    edge.value = value ?? before?.value ?? null;
    edge.isConnection = isConnection || (before?.isConnection ?? false);
    edges.set(id, edge);
  };
  for (const { relations, entities } of connections) {
    relations.forEach((relation, step) => add(entities[step], entities[step + 1], relation, 0, null, true));
  }
  for (const neighbor of shown) {
    const from = neighbor.through ?? (neighbor.side === "head" ? head : tail);
    add(from, neighbor.entity, neighbor.relation, weigh.share(neighbor), weigh.value(neighbor), false);
  }
  return [...edges.values()].filter((edge) => edge.source !== edge.target);
}

/** Put every node somewhere: {id: {x, y}}, in columns over a width, or as a list when it is narrow. */
export function layout({ nodes }, width, isNarrow) {
  return isNarrow ? indented(nodes) : columns(nodes, width);
}

const COLUMNS = [
  (node) => node.kind === "distant" && node.side === "head",
  (node) => node.kind === "direct" && node.side === "head",
  (node) => node.kind === "head",
  (node) => node.kind === "middle",
  (node) => node.kind === "tail",
  (node) => node.kind === "direct" && node.side === "tail",
  (node) => node.kind === "distant" && node.side === "tail",
];

function columns(nodes, width) {
  const groups = COLUMNS.map((belongs) => nodes.filter(belongs)).filter((group) => group.length);
  const xs = columnPlaces(groups, width);
  const places = {};
  const stack = (group, x) => {
    group.forEach((node, row) => {
      places[node.id] = { x, y: (row - (group.length - 1) / 2) * ROW };
    });
  };
  const byParent = (one, other) => places[one.parent].y - places[other.parent].y;
  const isDistant = ([node]) => node.kind === "distant";
  groups.forEach((group, column) => isDistant(group) || stack(group, xs[column]));
  groups.forEach((group, column) => isDistant(group) && beside([...group].sort(byParent), xs[column], places));
  return places;
}

/** Columns share the width; those beside the middle get more, for the relations written on connections. */
function columnPlaces(groups, width) {
  const kinds = groups.map(([node]) => node.kind);
  const parts = kinds.slice(1).map((kind, before) => ([kind, kinds[before]].includes("middle") ? 1.5 : 1));
  const whole = parts.reduce((sum, part) => sum + part, 0);
  const unit = Math.min(MAX_COLUMN, (width - 2 * MARGIN) / whole);
  return parts.reduce((xs, part) => [...xs, xs.at(-1) + part * unit], [0]);
}

/** Distant neighbors stand around the height of the neighbor they are reached through, but never on one another. */
function beside(group, x, places) {
  let last = -Infinity;
  for (const node of group) {
    const siblings = group.filter(({ parent }) => parent === node.parent);
    const wanted = places[node.parent].y + (siblings.indexOf(node) - (siblings.length - 1) / 2) * ROW;
    last = Math.max(wanted, last + ROW);
    places[node.id] = { x, y: last };
  }
}

function indented(nodes) {
  const places = {};
  const put = (node, depth) => {
    places[node.id] = { x: depth * INDENT, y: Object.keys(places).length * LINE };
    for (const child of nodes.filter(({ parent }) => parent === node.id)) put(child, depth + 1);
  };
  const putAll = (wanted, side, depth) => {
    for (const node of nodes.filter((other) => other.kind === wanted && other.side === side)) put(node, depth);
  };
  putAll("head", "head", 0);
  putAll("direct", "head", 1);
  putAll("middle", "both", 1);
  putAll("tail", "tail", 0);
  putAll("direct", "tail", 1);
  return places;
}
