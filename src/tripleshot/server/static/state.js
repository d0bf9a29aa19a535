// What is on the screen, as the fragment of the address: a link reproduces the view, and nothing of it is sent on load.

export const TOP = 10;

/** An empty question. */
export function nothing() {
  return { examples: [], heads: [], top: TOP, among: "open", types: [], known: false };
}

/** Write a question and the opened answer ({head, tail} or null) as a fragment without its sign. */
export function toFragment(question, opened = null) {
  const written = new URLSearchParams();
  for (const { head, tail } of question.examples) {
    written.append("from", head);
    written.append("to", tail);
  }
  for (const head of question.heads) written.append("ask", head);
  if (question.top !== TOP) written.set("top", question.top);
  if (question.among !== "open") written.set("among", question.among);
  if (question.among === "types") for (const type of question.types) written.append("type", type);
  if (question.known) written.set("known", "yes");
  if (opened) {
    written.set("why", opened.tail);
    if (question.heads.length > 1) written.set("for", opened.head);
  }
  return written.toString().replaceAll("%2F", "/");
}

/** Read a fragment; what is missing or makes no sense becomes the default. */
export function fromFragment(fragment) {
  const written = new URLSearchParams(fragment.replace(/^#/, ""));
  const tails = written.getAll("to");
  const top = Number.parseInt(written.get("top"), 10);
  const among = written.get("among");
  const question = {
    examples: written.getAll("from").slice(0, tails.length).map((head, place) => ({ head, tail: tails[place] })),
    heads: written.getAll("ask"),
    top: top >= 1 ? top : TOP,
    among: among === "all" || among === "types" ? among : "open",
    types: written.getAll("type"),
    known: written.get("known") === "yes",
  };
  const tail = written.get("why");
  const head = written.get("for") ?? question.heads[0];
  return { question, opened: tail && head ? { head, tail } : null };
}

/** Whether there is enough to ask. */
export function isComplete(question) {
  return question.examples.length > 0 && question.heads.length > 0;
}

/** Whether two questions are the same. */
export function isSame(one, other) {
  return toFragment(one) === toFragment(other);
}
