// A text field that suggests as you type, after the ARIA combobox pattern: arrows move, Enter takes, Escape closes.

import { element } from "./elements.js";

const PAUSE = 120; // milliseconds without a key before the server is asked
let made = 0;

/**
 * Make a combobox.
 *
 * @param {string} label what the field is for
 * @param {string} placeholder a hint inside the field
 * @param {(text: string, signal: AbortSignal) => Promise<Array>} find suggestions for a text, best first
 * @param {(option) => [string, string]} describe what to show for a suggestion: its label and a note
 * @param {(option) => void} choose called with the suggestion taken; the field is emptied before
 * @param {(text: string) => boolean} paste called with pasted text; true when it was used
 */
export function combobox({ label, placeholder, find, describe, choose, paste = () => false }) {
  const id = `combobox-${(made += 1)}`;
  const list = element("ul", { id: `${id}-list`, role: "listbox", "aria-label": label, hidden: true });
  const input = element("input", {
    id,
    type: "text",
    role: "combobox",
    placeholder,
    autocapitalize: "off",
    spellcheck: "false",
    "aria-label": label,
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": list.id,
  });
  let options = [];
  let active = -1;
  let timer = null;
  let running = null;
  let isWanted = false; // Enter came before the suggestions did

  function open() {
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  function close() {
    stop();
    list.hidden = true;
    list.replaceChildren();
    options = [];
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function stop() {
    clearTimeout(timer);
    timer = null;
    running?.abort();
    running = null;
    isWanted = false;
  }

  function activate(place) {
    active = place;
    [...list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === place)));
    list.children[place].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", list.children[place].id);
  }

  function note(text) {
    list.replaceChildren(element("li", { class: "note", role: "option", "aria-disabled": "true" }, text));
    open();
  }

  function show(found) {
    options = found;
    if (!found.length) return note("Nothing is called that");
    list.replaceChildren(...found.map(row));
    open();
    activate(0);
    if (isWanted) take(0);
  }

  function row(option, place) {
    const [text, detail] = describe(option);
    const handlers = { onclick: () => take(place), onpointermove: () => point(place) };
    return element(
      "li",
      { id: `${id}-${place}`, role: "option", "aria-selected": "false", ...handlers },
      element("span", { class: "option-label" }, text),
      detail && element("span", { class: "option-note" }, detail),
    );
  }

  function point(place) {
    if (place !== active) activate(place);
  }

  function take(place) {
    const option = options[place];
    close();
    input.value = "";
    choose(option);
  }

  async function suggest() {
    timer = null;
    running = new AbortController();
    const { signal } = running;
    try {
      const found = await find(input.value.trim(), signal);
      if (signal.aborted) return;
      running = null;
      show(found);
    } catch (error) {
      if (error.name === "AbortError") return;
      running = null;
      note(error.message);
    }
  }

  function wait(pause) {
    stop();
    if (input.value.trim() === "") return close();
    timer = setTimeout(suggest, pause);
  }

  function enter(event) {
    const isSearching = timer !== null || running !== null;
    if (isSearching) isWanted = true;
    else if (options.length) take(active);
    if (isSearching || input.value) event.preventDefault(); // an empty field lets the form be sent
  }

  const keys = {
    ArrowDown: (event) => {
      event.preventDefault();
      if (options.length) activate((active + 1) % options.length);
      else wait(0);
    },
    ArrowUp: (event) => {
      event.preventDefault();
      if (options.length) activate((active + options.length - 1) % options.length);
    },
    Enter: enter,
    Tab: (event) => {
      if (!options.length || event.shiftKey) return;
      event.preventDefault();
      take(active);
    },
    Escape: (event) => {
      event.preventDefault();
      if (list.hidden) input.value = "";
      close();
    },
  };

  input.addEventListener("input", () => wait(PAUSE));
  input.addEventListener("keydown", (event) => keys[event.key]?.(event));
  input.addEventListener("blur", close);
  input.addEventListener("paste", (event) => {
    if (!paste(event.clipboardData.getData("text"))) return;
    event.preventDefault();
    input.value = "";
    close();
  });
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // keep the focus in the field

  return { field: element("div", { class: "combobox" }, input, list), input };
}
