// From an explanation to nodes, lines and places: the head on one side, the tail on the other. Draws nothing.

const SHOWN = 8; // neighbors drawn on each side; the table has them all
const SHOWN_CONNECTIONS = 6;

const SIDES = ["head", "tail"];
const ROW = 54; // wide screens: head and tail in a row, neighbors in columns
const LANE = 74; // between paths, one below the other
const MARGIN = 86; // half of the widest label, and air
const MAX_COLUMN = 190;
export const INDENT = 40; // narrow screens: head above tail, neighbors as an indented list
const LINE = 42;

/** The reasons that are told and drawn, in their order. */
export const mainReasons = ({ reasons }) => reasons.filter((reason) => reason.is_main);

/** Write a path as it is walked: "Baku — is a city in → Azerbaijan ← borders — Iran". */
export function pathText({ relations, entities }) {
  const step = ({ label, is_inverse: isInverse }) => (isInverse ? `← ${label} —` : `— ${label} →`);
  const rest = relations.map((relation, place) => `${step(relation)} ${entities[place + 1].label}`);
  return [entities[0].label, ...rest].join(" ");
}

/**
 * Collect {nodes, edges, has, weightName, numLeftOut} of what is worth drawing.
 *
 * First what the reasons rest on, each line with the numbers of its reasons; then other links and short paths; then
 * neighbors, if the method weighs them or nothing else is there.
 */
export function subgraphOf(explanation) {
  const weigh = weighing(explanation.neighbors);
  const main = mainReasons(explanation);
  const isReasoned = main.some(({ paths, examples }) => paths.length + examples.length > 0);
  const connections = explanation.connections.slice(0, SHOWN_CONNECTIONS);
  const isSurrounded = weigh.name || !(isReasoned || connections.length);
  const shown = isSurrounded ? SIDES.flatMap((side) => heaviest(explanation.neighbors, side, weigh)) : [];
  const nodes = nodesOf(explanation, main, connections, shown);
  const edges = edgesOf(explanation, main, shown, connections, weigh);
  for (const node of nodes.slice(2)) node.relation = edges.find((edge) => edge.to === node.id)?.relation ?? null;
  const hasNode = (kind) => nodes.some((node) => node.kind === kind);
  const hasEdge = (kind) => edges.some((edge) => edge.kind === kind);
  return {
    nodes,
    edges,
    has: {
      direct: hasNode("direct") && Boolean(isSurrounded),
      distant: hasNode("distant"),
      for: hasEdge("for"),
      against: hasEdge("against"),
      example: hasEdge("example"),
      connection: hasEdge("connection"),
      numbers: edges.some(({ numbers }) => numbers.length),
    },
    weightName: isReasoned ? "weight" : weigh.name,
    numLeftOut: explanation.neighbors.length - shown.length,
  };
}

function nodesOf({ head, tail }, main, connections, shown) {
  const nodes = new Map();
  const place = (entity, kind, side, more = {}) => {
    if (!nodes.has(entity.id)) nodes.set(entity.id, { id: `n${entity.id}`, entity, kind, side, parent: null, ...more });
  };
  place(head, "head", "head");
  place(tail, "tail", "tail");
  const paths = [...main.flatMap((reason) => reason.paths), ...connections];
  paths.forEach(({ entities }, lane) => {
    const steps = entities.length - 1;
    for (let step = 1; step < steps; step += 1) place(entities[step], "middle", "both", { at: step / steps, lane });
  });
  for (const pair of main.flatMap((reason) => reason.examples)) {
    if (pair.tail.id === tail.id) place(pair.head, "direct", "tail");
    else place(pair.tail, "direct", "head");
  }
  for (const neighbor of shown.filter(({ hops }) => hops === 1)) place(neighbor.entity, "direct", neighbor.side);
  for (const neighbor of shown.filter(({ through }) => through)) {
    place(neighbor.through, "direct", neighbor.side);
    place(neighbor.entity, "distant", neighbor.side, { parent: `n${neighbor.through.id}` });
  }
  return [...nodes.values()];
}

/** Weights as the text tells them: a direct neighbor's local weight if it has one, else its attention. */
function weighing(neighbors) {
  const value = ({ local_weight: local, attention }) => local ?? attention ?? null;
  const weighed = neighbors.filter((neighbor) => value(neighbor) !== null);
  const most = (hops) => Math.max(...weighed.filter((other) => other.hops === hops).map(value), 1e-9);
  const [direct, distant] = [most(1), most(2)];
  const share = (neighbor) => (weighed.length ? (value(neighbor) ?? 0) / (neighbor.hops === 1 ? direct : distant) : 0.3);
  const hasLocal = weighed.some((neighbor) => (neighbor.local_weight ?? null) !== null);
  return { share, value, name: hasLocal ? "weight" : weighed.length ? "attention" : null };
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

/** One line for each edge of the graph, however many reasons rest on it: the heaviest decides how it looks. */
function edgesOf({ head, tail, relation: name }, main, shown, connections, weigh) {
  const edges = new Map();
  const add = (from, to, relation, { kind, weight = 0, value = null, number = null, isAgainst = false }) => {
    const [first, last] = relation.is_inverse ? [to, from] : [from, to];
    const id = `${first.id}-${kind === "example" ? "example" : ""}${relation.label}-${last.id}`;
    const text = `${first.label} — ${relation.label} → ${last.label}`;
    const ends = { source: `n${first.id}`, target: `n${last.id}`, to: `n${to.id}` };
    const edge = edges.get(id) ?? { id, ...ends, relation, text, kind, isAgainst, weight, value, numbers: [] };
    edge.weight = Math.max(edge.weight, weight);
    edge.value ??= value;
    if (kind === "connection" && edge.kind === "neighbor") edge.kind = kind;
    if (number && !edge.numbers.includes(number)) edge.numbers.push(number);
    edges.set(id, edge);
  };
  const addPath = ({ relations, entities }, look) =>
    relations.forEach((relation, step) => add(entities[step], entities[step + 1], relation, look));
  const most = Math.max(...main.map(({ weight }) => Math.abs(weight)), 1e-9);
  const byWeight = main.map((reason, place) => ({ reason, number: place + 1, share: Math.abs(reason.weight) / most }));
  byWeight.sort((one, other) => other.share - one.share);
  for (const { reason, number, share } of byWeight) {
    const isAgainst = reason.weight < 0;
    const look = { kind: isAgainst ? "against" : "for", weight: share, number, isAgainst };
    for (const path of reason.paths) addPath(path, look);
    const said = { label: name, is_inverse: false };
    for (const pair of reason.examples) add(pair.head, pair.tail, said, { ...look, kind: "example" });
  }
  for (const path of connections) addPath(path, { kind: "connection" });
  for (const neighbor of shown) {
    const from = neighbor.through ?? (neighbor.side === "head" ? head : tail);
    const look = { kind: "neighbor", weight: weigh.share(neighbor), value: weigh.value(neighbor) };
    add(from, neighbor.entity, neighbor.relation, look);
  }
  const drawn = [...edges.values()].filter((edge) => edge.source !== edge.target);
  for (const edge of drawn) edge.numbers.sort((one, other) => one - other);
  return drawn;
}

/** Put every node somewhere: {id: {x, y}}, in columns over a width, or as a list when it is narrow. */
export function layout({ nodes }, width, isNarrow) {
  return isNarrow ? indented(nodes) : columns(nodes, width);
}

const isOn = (kind, side) => (node) => node.kind === kind && node.side === side;

/** Groups of nodes from left to right; those between head and tail by how far on their way they are. */
function groupsOf(nodes) {
  const middles = nodes.filter(({ kind }) => kind === "middle");
  const ways = [...new Set(middles.map(({ at }) => at))].sort((one, other) => one - other);
  return [
    nodes.filter(isOn("distant", "head")),
    nodes.filter(isOn("direct", "head")),
    nodes.filter(isOn("head", "head")),
    ...ways.map((at) => middles.filter((node) => node.at === at)),
    nodes.filter(isOn("tail", "tail")),
    nodes.filter(isOn("direct", "tail")),
    nodes.filter(isOn("distant", "tail")),
  ].filter((group) => group.length);
}

function columns(nodes, width) {
  const groups = groupsOf(nodes);
  const xs = columnPlaces(groups, width);
  const lanes = [...new Set(nodes.filter(({ kind }) => kind === "middle").map(({ lane }) => lane))];
  const places = {};
  const stack = (group, x) => {
    group.forEach((node, row) => {
      const y = (row - (group.length - 1) / 2) * ROW;
      places[node.id] = { x, y: node.kind === "middle" ? lanePlace(lanes, node.lane) : y };
    });
  };
  const byParent = (one, other) => places[one.parent].y - places[other.parent].y;
  const isDistant = ([node]) => node.kind === "distant";
  groups.forEach((group, column) => isDistant(group) || stack(spread(group), xs[column]));
  groups.forEach((group, column) => isDistant(group) && beside([...group].sort(byParent), xs[column], places));
  return places;
}

const lanePlace = (lanes, lane) => (lanes.indexOf(lane) - (lanes.length - 1) / 2) * LANE;

const spread = (group) => [...group].sort((one, other) => (one.lane ?? 0) - (other.lane ?? 0));

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
