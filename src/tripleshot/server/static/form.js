// The question: examples, what is asked about, and where to look for answers. Knows nothing of answers.

import { searchTypes } from "./api.js";
import { chips } from "./chips.js";
import { combobox } from "./combobox.js";
import { exampleList } from "./examples.js";
import { describeEntity, findEntities, resolve } from "./names.js";
import { problem } from "./notices.js";
import { TOP } from "./state.js";

const byId = (id) => document.getElementById(id);

/**
 * Build the form.
 *
 * @param {Promise<{types?: string[], num_types?: number}>} about what the server says about itself
 * @param {(question) => void} ask called with the question when it is sent
 * @param {() => void} change called whenever a person changed the question
 * @param {() => void} clear called when a person starts over
 */
export function questionForm({ about, ask, change, clear }) {
  let most = { examples: 100, asked: 100, top: 100 };
  const examples = exampleList(change, (relation) => {
    if (!byId("relation").value.trim()) byId("relation").value = relation;
  });
  const asked = chips({
    label: "Ask about",
    placeholder: "Head",
    field: (options) => combobox({ find: findEntities, describe: describeEntity, ...options }),
    resolve,
    change,
  });
  const typeChips = chips({
    label: "Types of answers",
    placeholder: "Type",
    field: (options) => combobox({ find: findTypes, describe: ({ label }) => [label, ""], ...options }),
    resolve: async (name) => ({ name, label: name }),
    change,
  });

  byId("asked").append(asked.node);
  byId("types").append(typeChips.node);
  byId("among").addEventListener("change", () => {
    showTypes();
    change();
  });
  for (const id of ["top", "known", "relation"]) byId(id).addEventListener("change", change);
  for (const choice of sides()) {
    choice.addEventListener("change", () => {
      showSide();
      change();
    });
  }
  byId("question").addEventListener("submit", (event) => {
    event.preventDefault();
    for (const part of [examples, asked, typeChips]) part.addEntered();
    ask(read());
  });
  byId("clear").addEventListener("click", () => {
    clear();
    examples.focus();
  });

  async function findTypes(text) {
    const { types = [], num_types = 0 } = await about; // who types before the server has spoken waits for it
    const matching = types.filter((type) => type.toLowerCase().includes(text.toLowerCase()));
    const found = num_types > types.length ? await searchTypes(text) : matching.slice(0, 8);
    return found.map((type) => ({ name: type, label: type }));
  }

  function showTypes() {
    byId("types").hidden = byId("among").value !== "types";
  }

  function showSide() {
    const isTail = side() === "tail";
    asked.hint(isTail ? "Tail" : "Head");
    byId("open").textContent = `like the examples’ ${isTail ? "heads" : "tails"}`;
  }

  function read() {
    return {
      relation: byId("relation").value.trim(),
      examples: examples.read(),
      side: side(),
      asked: asked.read(),
      top: Math.min(most.top, Math.max(1, Number.parseInt(byId("top").value, 10) || TOP)),
      among: byId("among").value,
      types: typeChips.read(),
      known: byId("known").checked,
    };
  }

  function show(question) {
    byId("relation").value = question.relation;
    examples.show(question.examples);
    for (const choice of sides()) choice.checked = choice.value === question.side;
    asked.show(question.asked);
    typeChips.show(question.types);
    byId("top").value = question.top;
    byId("among").value = question.among;
    byId("known").checked = question.known;
    showTypes();
    showSide();
    complain("");
  }

  /** Fit the form to what the server says about itself. */
  function fit({ types = [], shots = null, limits = most }) {
    most = limits;
    byId("among").querySelector('[value="types"]').hidden = types.length === 0;
    byId("top").max = most.top;
    examples.suit(shots, most.examples);
  }

  /** Say beside the form what went wrong with it, or nothing any more. */
  function complain(message) {
    byId("problem").replaceChildren(...(message ? [problem(message)] : []));
  }

  /** Show whether the question is under way. */
  function wait(isWaiting) {
    byId("ask").textContent = isWaiting ? "Asking…" : "Ask";
    byId("ask").setAttribute("aria-busy", String(isWaiting));
  }

  return { read, show, fit, complain, wait };
}

const sides = () => [...document.querySelectorAll('[name="side"]')];

const side = () => sides().find((choice) => choice.checked).value;
