// Elements are made here and nowhere else. Text goes in as text: labels are other people's data, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element; an attribute that is null, undefined or false is left out, a handler is given as onclick. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Make a bar of a share between 0 and 1; the number beside it is what assistive technology reads. */
export function bar(share, kind = "") {
  const inside = element("span", { class: "bar-fill" });
  inside.style.width = `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`;
  return element("span", { class: `bar ${kind}`, "aria-hidden": "true" }, inside);
}

/** Make a bar of a signed share between -1 and 1: to the right of the middle, or hatched to the left of it. */
export function signedBar(share) {
  const inside = element("span", { class: `bar-fill ${share > 0 ? "for" : "against"}` });
  inside.style.width = `${(50 * Math.min(1, Math.abs(share))).toFixed(1)}%`;
  return element("span", { class: "bar signed", "aria-hidden": "true" }, inside);
}

/** Write a weight with its sign and two digits; more where they would all be zeros. */
export function signed(weight) {
  const size = Math.abs(weight);
  if (!size) return "0.00";
  return (weight > 0 ? "+" : "−") + (size >= 0.005 ? size.toFixed(2) : Number(size.toPrecision(1)).toString());
}

/** Write a share as a percentage that never rounds something to nothing. */
export function percent(share) {
  if (share > 0 && share < 0.001) return "< 0.1%";
  const points = 100 * share;
  return `${points.toFixed(points < 10 ? 1 : 0)}%`;
}

/** Write a score with as many digits as tell neighbors apart; a zero has no sign. */
export function score(value) {
  const rounded = Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(3);
  return rounded.replace("-", Number(rounded) ? "−" : "");
}

/** Write a count with its noun. */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

/** Tell assistive technology what just happened. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/** Whether the person asked for less motion. */
export function isStill() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
