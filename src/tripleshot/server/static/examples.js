// The examples of the relation: pairs as rows that can be removed, and two fields for the next pair.

import { combobox } from "./combobox.js";
import { announce, count, element } from "./elements.js";
import { describeEntity, findEntities, pairsIn, resolve, seen } from "./names.js";

/** Build the list and its fields inside the page; `change` is called whenever a person changed the pairs. */
export function exampleList(change) {
  const list = document.getElementById("pairs");
  const hint = document.getElementById("examples-hint");
  let pairs = []; // [{head: {name, label, suggestions?}, tail: the same}]
  let shots = null;

  const field = (which, choose) => {
    const label = `${which} of a new example`;
    const paste = (text) => addAll(pairsIn(text));
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

  function addAll(found) {
    if (!found) return false;
    pairs.push(...found.map(typedPair));
    announce(`${count(found.length, "example")} pasted`);
    lookUp();
    change();
    return true;
  }

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
    const given = pairs.length ? `${count(pairs.length, "pair")} given` : "Pairs that stand in the relation you mean";
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
      empty();
      lookUp();
    },
    suit(number) {
      shots = number;
      draw();
    },
    focus: () => inputs.head.focus(),
  };
}

const entityText = ({ name, label, suggestions }) =>
  element("span", { class: suggestions ? "unsure" : null, title: name }, label);

const typed = (name) => ({ ...seen(name), isTyped: true });

const typedPair = ({ head, tail }) => ({ head: typed(head), tail: typed(tail) });
