// The question: examples, heads, and where to look for answers. Knows nothing of answers.

import { chips } from "./chips.js";
import { combobox } from "./combobox.js";
import { exampleList } from "./examples.js";
import { describeEntity, findEntities, resolve } from "./names.js";
import { TOP } from "./state.js";

const MAX_TOP = 100;
const byId = (id) => document.getElementById(id);

/**
 * Build the form.
 *
 * @param {Promise<{types?: string[]}>} about what the server says about itself
 * @param {(question) => void} ask called with the question when it is sent
 * @param {() => void} change called whenever a person changed the question
 * @param {() => void} clear called when a person starts over
 */
export function questionForm({ about, ask, change, clear }) {
  const examples = exampleList(change);
  const heads = chips({
    label: "Ask about",
    placeholder: "Which tail has…",
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

  byId("heads").append(heads.node);
  byId("types").append(typeChips.node);
  byId("among").addEventListener("change", () => {
    showTypes();
    change();
  });
  for (const id of ["top", "known"]) byId(id).addEventListener("change", change);
  byId("question").addEventListener("submit", (event) => {
    event.preventDefault();
    for (const part of [examples, heads, typeChips]) part.addEntered();
    ask(read());
  });
  byId("clear").addEventListener("click", () => {
    clear();
    examples.focus();
  });

  async function findTypes(text) {
    const { types = [] } = await about; // who types before the server has spoken waits for it
    const matching = types.filter((type) => type.toLowerCase().includes(text.toLowerCase()));
    return matching.slice(0, 8).map((type) => ({ name: type, label: type }));
  }

  function showTypes() {
    byId("types").hidden = byId("among").value !== "types";
  }

  function read() {
    return {
      examples: examples.read(),
      heads: heads.read(),
      top: Math.min(MAX_TOP, Math.max(1, Number.parseInt(byId("top").value, 10) || TOP)),
      among: byId("among").value,
      types: typeChips.read(),
      known: byId("known").checked,
    };
  }

  function show(question) {
    examples.show(question.examples);
    heads.show(question.heads);
    typeChips.show(question.types);
    byId("top").value = question.top;
    byId("among").value = question.among;
    byId("known").checked = question.known;
    showTypes();
  }

  /** Fit the form to what the server says about itself. */
  function fit({ types = [], shots = null }) {
    byId("among").querySelector('[value="types"]').hidden = types.length === 0;
    examples.suit(shots);
  }

  return { read, show, fit };
}
