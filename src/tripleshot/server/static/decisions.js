// What a curator decided: kept in this browser under the graph and the relation, and as a table that can be saved.

const PREFIX = "tripleshot-decisions";
const COLUMNS = ["head", "relation", "tail", "decision", "confidence", "decided_at"];
const DECISIONS = ["accepted", "rejected"];

const opened = new Map(); // one object for all who decide about a relation

const keyOf = (head, tail) => JSON.stringify([head, tail]);

/**
 * The decisions about one relation of a graph.
 *
 * @param {string} graph what the graph is called
 * @param {string} relation its name
 */
export function decisionsOn(graph, relation) {
  const place = JSON.stringify([PREFIX, graph, relation]);
  if (!opened.has(place)) opened.set(place, makeDecisions(place, relation));
  return opened.get(place);
}

function makeDecisions(place, relation) {
  const found = new Map(read(place).map((row) => [keyOf(row.head, row.tail), row]));

  function keep() {
    try {
      localStorage.setItem(place, JSON.stringify([...found.values()]));
    } catch {
      // without storage, decisions last as long as the page
    }
  }

  return {
    relation,
    of: ({ head, tail }) => found.get(keyOf(head.name, tail.name))?.decision ?? null,
    /** Decide about a proposal; null takes a decision back. */
    decide({ head, tail, confidence }, decision) {
      const key = keyOf(head.name, tail.name);
      found.delete(key); // what was decided last stands last
      if (decision) {
        const time = new Date().toISOString();
        found.set(key, { head: head.name, tail: tail.name, decision, confidence, decided_at: time });
      }
      keep();
    },
    add(rows) {
      for (const row of rows) found.set(keyOf(row.head, row.tail), row);
      keep();
    },
    forget() {
      found.clear();
      keep();
    },
    all: () => [...found.values()],
    accepted: () => [...found.values()].filter(({ decision }) => decision === "accepted"),
  };
}

function read(place) {
  try {
    const rows = JSON.parse(localStorage.getItem(place) ?? "[]");
    return rows.filter(({ head, tail, decision }) => head && tail && DECISIONS.includes(decision));
  } catch {
    return [];
  }
}

/** Write decisions as tab-separated values, with how many did not fit because a name has a tab or a line break. */
export function asTable(relation, rows) {
  const lines = rows.map((row) => COLUMNS.map((name) => String((name === "relation" ? relation : row[name]) ?? "")));
  return tabbed(COLUMNS, lines);
}

/** Write pairs as tab-separated values that can be given as examples. */
export function asPairs(rows) {
  return tabbed(["head", "tail"], rows.map(({ head, tail }) => [head, tail]));
}

function tabbed(columns, rows) {
  const fitting = rows.filter((cells) => !cells.some((cell) => /[\t\r\n]/.test(cell)));
  const text = [columns, ...fitting].map((cells) => `${cells.join("\t")}\n`).join("");
  return { text, left: rows.length - fitting.length };
}

/** Read a table of decisions: {byRelation: Map of relation to rows, problem}. */
export function readTable(text) {
  const [header = "", ...lines] = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const names = header.split("\t");
  const missing = COLUMNS.slice(0, 4).find((name) => !names.includes(name));
  const byRelation = new Map();
  if (missing) return { byRelation, problem: `the first line has no column “${missing}”` };
  for (const line of lines.filter(Boolean)) {
    const cells = line.split("\t");
    const row = Object.fromEntries(names.map((name, place) => [name, cells[place] ?? ""]));
    if (!row.head || !row.tail || !DECISIONS.includes(row.decision)) continue;
    const { head, relation, tail, decision, decided_at: time = "" } = row;
    const confidence = row.confidence ? Number(row.confidence) : null;
    byRelation.set(relation, [...(byRelation.get(relation) ?? []), { head, tail, decision, confidence, decided_at: time }]);
  }
  return { byRelation, problem: byRelation.size ? "" : "there is no decision in this file" };
}
