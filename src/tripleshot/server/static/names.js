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
  return { ...question, examples, heads: question.heads.map((head) => seen(head).name) };
}

/** Look a name or label up: {name, label} when it is one entity, {name, label, suggestions} when it is not. */
export async function resolve(text) {
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

/** Split pasted text into pairs: one per line, parted by a bar, an arrow or a tab. Null when it holds none. */
export function pairsIn(text) {
  const pairs = text
    .split(/\r?\n/)
    .map((line) => line.split(/\s*(?:\||→|\t|->)\s*/).map((part) => part.trim()))
    .filter((parts) => parts.length === 2 && parts[0] && parts[1])
    .map(([head, tail]) => ({ head, tail }));
  return pairs.length ? pairs : null;
}
