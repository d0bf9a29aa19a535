// Attention between tokens as a grid: the stronger, the more colour. Arrow keys read it cell by cell.

import { drawing, element, percent } from "./elements.js";

const LABEL = 118; // room for the tokens' names
const STEPS = [0, 0.25, 0.5, 0.75, 1];

/** Draw weights, rows that add up to 1, with one label for each token. */
export function heatMap(tokens, weights) {
  const size = tokens.length > 30 ? 12 : tokens.length > 16 ? 16 : 22;
  const most = Math.max(...weights.flat(), 1e-9);
  const side = LABEL + size * tokens.length;
  const cursor = drawing("rect", { class: "cursor", width: size, height: size, visibility: "hidden" });
  const grid = drawing(
    "svg",
    { class: "heat", viewBox: `0 0 ${side} ${side}`, role: "img", tabindex: "0" },
    drawing("title", {}, `Attention of ${tokens.length} tokens to each other, at most ${percent(most)}`),
    drawing("rect", { class: "ground", x: LABEL, y: LABEL, width: side - LABEL, height: side - LABEL }),
    ...cells(weights, most, size),
    ...tokens.flatMap((token, place) => labels(token, LABEL + (place + 0.5) * size)),
    cursor,
  );
  grid.style.maxWidth = `${side}px`;
  grid.style.minWidth = `${0.85 * side}px`; // below this the names are too small to read, and the grid scrolls
  const readout = element("p", { class: "readout small muted" }, HINT);
  read(grid, cursor, readout, tokens, weights, size);
  return element("div", {}, legend(most), element("div", { class: "scroll" }, grid), readout);
}

const HINT = "Point at a cell, or use the arrow keys, to read it.";

/** Weak attention would drown beside strong: colour follows the root, and the legend shows the same steps. */
const strength = (share) => Math.sqrt(share).toFixed(3);

function cells(weights, most, size) {
  return weights.flatMap((row, y) =>
    row.flatMap((weight, x) => {
      if (weight / most < 0.0005) return [];
      const place = { x: LABEL + x * size, y: LABEL + y * size, width: size, height: size };
      return drawing("rect", { class: "cell", ...place, "fill-opacity": strength(weight / most) });
    }),
  );
}

function labels(token, middle) {
  const text = token.length > 18 ? `${token.slice(0, 17)}…` : token;
  const style = { class: "token", "dominant-baseline": "central" };
  const row = { ...style, x: LABEL - 6, y: middle, "text-anchor": "end" };
  const column = { ...style, transform: `translate(${middle} ${LABEL - 6}) rotate(-90)` };
  return [drawing("text", row, text), drawing("text", column, text)];
}

function legend(most) {
  const swatches = STEPS.map((share) => {
    const swatch = drawing("rect", { class: "cell", width: 22, height: 12, "fill-opacity": strength(share) });
    const ground = drawing("rect", { class: "ground", width: 22, height: 12 });
    const picture = drawing("svg", { width: 22, height: 12, "aria-hidden": "true" }, ground, swatch);
    return element("span", { class: "key" }, picture, percent(share * most));
  });
  return element("p", { class: "legend small" }, ...swatches);
}

function read(grid, cursor, readout, tokens, weights, size) {
  let at = [0, 0];
  const move = (x, y) => {
    const last = tokens.length - 1;
    at = [Math.min(last, Math.max(0, x)), Math.min(last, Math.max(0, y))];
    cursor.setAttribute("x", LABEL + at[0] * size);
    cursor.setAttribute("y", LABEL + at[1] * size);
    cursor.setAttribute("visibility", "visible");
    readout.textContent = `${tokens[at[1]]} looks at ${tokens[at[0]]}: ${percent(weights[at[1]][at[0]])}`;
  };
  const away = () => {
    cursor.setAttribute("visibility", "hidden");
    readout.textContent = HINT;
  };
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  grid.addEventListener("pointermove", (event) => {
    const box = grid.getBoundingClientRect();
    const scale = grid.viewBox.baseVal.width / box.width;
    const x = Math.floor(((event.clientX - box.left) * scale - LABEL) / size);
    const y = Math.floor(((event.clientY - box.top) * scale - LABEL) / size);
    if (x >= 0 && y >= 0) move(x, y);
    else away();
  });
  grid.addEventListener("pointerleave", away);
  grid.addEventListener("focus", () => {
    readout.setAttribute("role", "status");
  });
  grid.addEventListener("blur", () => {
    readout.removeAttribute("role");
    away();
  });
  grid.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const isShown = cursor.getAttribute("visibility") === "visible";
    move(at[0] + (isShown ? step[0] : 0), at[1] + (isShown ? step[1] : 0));
  });
}
