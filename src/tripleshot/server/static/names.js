// Names in links and pasted lines become entities with labels; what is unknown stays as typed, with a suggestion.

import { search } from "./api.js";
import { count } from "./elements.js";

const known = new Map(); // name, or label that was looked up -> {name, label}

/** Remember entities that the server spoke of, so that a link's names need not be looked up one by one. */
export function remember(entities) {
  for (const { name, label } of entities) known.set(name, { name, label });
}

/** Return what to show for a name that was already seen; the name itself otherwise. */
export function seen(name) {
  return known.get(name) ?? { name, label: name };
}

/** Return a question with names in place of the labels that have been looked up. */
export function byName(question) {
  const examples = question.examples.map(({ head, tail }) => ({ head: seen(head).name, tail: seen(tail).name }));
  return { ...question, examples, asked: question.asked.map((name) => seen(name).name) };
}

const AT_ONCE = 4; // searches, so that a long list leaves the server to others
const turns = Array.from({ length: AT_ONCE }, () => Promise.resolve());
let turn = 0;

/** Look a name or label up: {name, label} when it is one entity, {name, label, suggestions} when it is not. */
export function resolve(text) {
  if (known.has(text)) return Promise.resolve(known.get(text));
  turn = (turn + 1) % AT_ONCE;
  const found = turns[turn].then(() => lookUp(text));
  turns[turn] = found.catch(() => {});
  return found;
}

async function lookUp(text) {
  if (known.has(text)) return known.get(text);
  const found = await search(text, 4);
  remember(found);
  if (known.has(text)) return known.get(text);
  if (/^#\d+$/.test(text)) return { name: text, label: text }; // an id
  const labelled = found.filter((match) => match.label.toLowerCase() === text.toLowerCase());
  if (labelled.length === 1) {
    known.set(text, known.get(labelled[0].name));
    return known.get(text);
  }
  const suggestions = (labelled.length ? labelled : found).slice(0, 3);
  return { name: text, label: text, suggestions };
}

/** Find suggestions for a text. */
export async function findEntities(text, signal) {
  const found = await search(text, 8, signal);
  remember(found);
  return found;
}

/** Tell entities of one label apart: the label, and a note of name, types and edges. */
export function describeEntity({ name, label, types = [], degree }) {
  const notes = [label === name ? null : name, types.join(", "), degree === undefined ? null : count(degree, "edge")];
  return [label, notes.filter(Boolean).join(" · ")];
}
