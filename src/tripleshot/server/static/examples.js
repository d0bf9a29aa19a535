// The examples of the relation: pairs as rows that can be removed, and two fields for the next pair.

import { combobox } from "./combobox.js";
import { announce, count, element } from "./elements.js";
import { describeEntity, findEntities, resolve, seen } from "./names.js";
import { problem } from "./notices.js";
import { holdsPairs, inWords, readPairs } from "./pairs.js";

const MAX_BYTES = 1_000_000; // of a file

/**
 * Build the list and its fields inside the page.
 *
 * @param {() => void} change called whenever a person changed the pairs
 * @param {(relation: string) => void} name called with what pasted or uploaded lines call the relation
 */
export function exampleList(change, name) {
  const list = document.getElementById("pairs");
  const hint = document.getElementById("examples-hint");
  let pairs = []; // [{head: {name, label, suggestions?}, tail: the same}]
  let shots = null;
  let most = 100; // examples that the server takes

  const field = (which, choose) => {
    const label = `${which} of a new example`;
    const paste = (text) => holdsPairs(text) && addLines(text);
    return combobox({ label, placeholder: which, find: findEntities, describe: describeEntity, choose, paste });
  };
  const first = field("Head", (entity) => take("head", entity));
  const second = field("Tail", (entity) => take("tail", entity));
  const inputs = { head: first.input, tail: second.input };
  let taken = { head: null, tail: null }; // chosen suggestions that wait for the other half of their pair

  const arrow = () => element("span", { class: "arrow", "aria-hidden": "true" }, "→");
  document.getElementById("entry").append(first.field, arrow(), second.field);
  for (const side of ["head", "tail"]) {
    inputs[side].addEventListener("input", () => {
      taken[side] = null;
    });
  }

  function take(side, entity) {
    taken[side] = entity;
    inputs[side].value = entity.label;
    const other = side === "head" ? "tail" : "head";
    if (half(other)) addEntered();
    inputs[taken[side] ? other : "head"].focus();
  }

  /** What one of the two fields holds: what was chosen, or what was typed. */
  function half(side) {
    const text = inputs[side].value.trim();
    return taken[side] ?? (text ? typed(text) : null);
  }

  /** Take what the fields hold, so that asking never drops it silently. */
  function addEntered() {
    const pair = { head: half("head"), tail: half("tail") };
    if (!pair.head || !pair.tail) return;
    empty();
    pairs.push(pair);
    announce(`Example ${pairs.length}: ${pair.head.label} → ${pair.tail.label}`);
    lookUp();
    change();
  }

  /** Take every pair of a text, and say which lines hold none; true when there was a pair. */
  function addLines(text) {
    const { pairs: found, relation, problems } = readPairs(text);
    const room = Math.max(0, most - pairs.length);
    if (found.length > room) {
      problems.push(`this server takes ${count(most, "example")}, and ${found.length - room} more were left out`);
    }
    pairs.push(...found.slice(0, room).map(typedPair));
    complain(problems.length ? inWords(problems) : "");
    if (!found.length) return false;
    if (relation) name(relation);
    announce(`${count(Math.min(room, found.length), "example")} added`);
    lookUp();
    change();
    return true;
  }

  function complain(text) {
    const shown = text ? [problem(text, "Some lines could not be used.")] : [];
    document.getElementById("lines-problem").replaceChildren(...shown);
    if (text) document.getElementById("many").open = true;
  }

  document.getElementById("add-lines").addEventListener("click", () => {
    const lines = document.getElementById("lines");
    if (addLines(lines.value)) lines.value = "";
  });
  document.getElementById("file").addEventListener("change", async ({ target }) => {
    const [file] = target.files;
    target.value = ""; // so that the same file can be chosen again
    if (!file) return;
    if (file.size > MAX_BYTES) complain(`${file.name} is larger than ${count(MAX_BYTES, "byte")}`);
    else addLines(await file.text());
  });

  function empty() {
    taken = { head: null, tail: null };
    inputs.head.value = inputs.tail.value = "";
  }

  function lookUp() {
    draw();
    for (const pair of pairs) {
      for (const side of ["head", "tail"].filter((which) => pair[which].isTyped)) {
        pair[side].isTyped = false;
        const replace = (entity) => {
          pair[side] = entity;
          draw();
        };
        resolve(pair[side].name).then(replace, () => {}); // asking will say what is wrong
      }
    }
  }

  function draw() {
    list.replaceChildren(...pairs.map(row));
    const given = pairs.length ? `${count(pairs.length, "pair")} given` : "Pairs that stand in the relation you mean, or none if the graph has it";
    hint.textContent = shots ? `${given}; ${shots} suit this model.` : `${given}.`;
  }

  function row(pair, place) {
    const label = `Remove ${pair.head.label} → ${pair.tail.label}`;
    const button = { type: "button", class: "remove", "aria-label": label, onclick: () => remove(place) };
    const words = element("span", { class: "pair" }, entityText(pair.head), arrow(), entityText(pair.tail));
    return element("li", {}, words, element("button", button, "×"), doubt(pair, "head"), doubt(pair, "tail"));
  }

  function remove(place) {
    pairs.splice(place, 1);
    draw();
    const buttons = list.querySelectorAll(".remove");
    (buttons[Math.min(place, pairs.length - 1)] ?? inputs.head).focus();
    change();
  }

  function doubt(pair, side) {
    const { suggestions, label } = pair[side];
    if (!suggestions) return null;
    const choose = (entity) => {
      pair[side] = entity;
      draw();
      change();
    };
    const buttons = suggestions.map((entity) => {
      const attributes = { type: "button", class: "suggestion", title: entity.name, onclick: () => choose(entity) };
      return element("button", attributes, entity.label);
    });
    const words = buttons.length ? `“${label}” is no single entity. Perhaps` : `Nothing is called “${label}”.`;
    return element("p", { class: "doubt small" }, words, ...buttons);
  }

  return {
    addEntered,
    read: () => pairs.map(({ head, tail }) => ({ head: head.name, tail: tail.name })),
    show(examples) {
      pairs = examples.map(typedPair);
      complain("");
      empty();
      lookUp();
    },
    suit(number, atMost) {
      shots = number;
      most = atMost ?? most;
      draw();
    },
    focus: () => inputs.head.focus(),
  };
}

const entityText = ({ name, label, suggestions }) =>
  element("span", { class: suggestions ? "unsure" : null, title: name }, label);

const typed = (name) => ({ ...seen(name), isTyped: true });

const typedPair = ({ head, tail }) => ({ head: typed(head), tail: typed(tail) });
