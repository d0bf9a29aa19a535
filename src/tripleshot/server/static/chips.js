// Several values in one field: each taken suggestion becomes a chip that can be removed.

import { element } from "./elements.js";

/**
 * Make a field of chips.
 *
 * @param {string} label what is collected
 * @param {(options) => {field, input}} field makes the combobox, given label, placeholder and choose
 * @param {(name: string) => Promise<{name, label, suggestions?}>} resolve finds the label of a name
 * @param {() => void} change called after every change by a person
 */
export function chips({ label, placeholder, field, resolve, change }) {
  let values = [];
  const list = element("ul", { class: "chips", "aria-label": label });
  const entry = field({ label, placeholder, choose: add });

  function add(value) {
    if (!values.some((other) => other.name === value.name)) values.push(value);
    draw();
    change();
  }

  function remove(value) {
    values = values.filter((other) => other !== value);
    draw();
    entry.input.focus();
    change();
  }

  function draw() {
    list.replaceChildren(...values.map(chip));
    list.hidden = values.length === 0;
  }

  function chip(value) {
    const button = { type: "button", class: "remove", "aria-label": `Remove ${value.label}` };
    const away = element("button", { ...button, onclick: () => remove(value) }, "×");
    const words = element("span", { class: value.suggestions ? "unsure" : null }, value.label);
    return element("li", { title: value.name }, words, away);
  }

  function show(names) {
    values = names.map((name) => ({ name, label: name }));
    draw();
    values.forEach((value) => {
      resolve(value.name)
        .then((found) => {
          Object.assign(value, found);
          draw();
        })
        .catch(() => {}); // asking will say what is wrong
    });
  }

  entry.input.addEventListener("keydown", (event) => {
    if (event.key === "Backspace" && entry.input.value === "" && values.length) remove(values.at(-1));
  });
  draw();

  return {
    node: element("div", { class: "field" }, element("span", { "aria-hidden": "true" }, label), list, entry.field),
    read: () => values.map((value) => value.name),
    show,
    hint(text) {
      entry.input.placeholder = text;
    },
    addEntered() {
      const text = entry.input.value.trim();
      if (!text) return;
      entry.input.value = "";
      show([...values.map((value) => value.name), text]);
    },
  };
}
