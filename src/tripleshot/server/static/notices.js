// What stands where answers would: nothing asked yet, asking, and what went wrong.

import { element } from "./elements.js";
import { seen } from "./names.js";
import { inOneLine } from "./state.js";

const STEPS = [
  "Give a few pairs that stand in a relation, or the name of one that the graph has.",
  "Name a head or a tail.",
  "See ranked answers, and why.",
];

/** Say how to begin; `offered` is an example question or null, `take` is called when a person wants it. */
export function beginning(offered, take) {
  const button = { type: "button", class: "primary", onclick: take };
  return element(
    "section",
    { class: "card start" },
    element("h2", {}, "Nothing asked yet"),
    element("ol", { class: "steps" }, ...STEPS.map((step) => element("li", {}, step))),
    offered && element("div", { class: "offer" }, inWords(offered), element("button", button, "Try an example")),
  );
}

function inWords({ relation, side, examples, asked }) {
  const label = (name) => seen(name).label;
  const pairs = examples.slice(0, 2).map(({ head, tail }) => `${label(head)} → ${label(tail)}`);
  const question = inOneLine({ relation, side }, label(asked[0]));
  return element("p", {}, `If ${pairs.join(", ")} and so on, then ${question}`);
}

/** Say what is being waited for. */
export function waiting(text) {
  return element("div", { class: "loading" }, element("span", { class: "dot", "aria-hidden": "true" }), text);
}

/** Say what went wrong, in the server's words where it gave some. */
export function problem(message, title = "That did not work.") {
  const sentence = message.charAt(0).toUpperCase() + message.slice(1);
  return element("div", { class: "notice", role: "alert" }, element("strong", {}, title), sentence);
}
