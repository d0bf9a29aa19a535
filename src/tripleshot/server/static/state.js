// What is on the screen, as the fragment of the address: a link reproduces the view, and nothing of it is sent on load.

export const TOP = 10;

/** An empty question. `side` is what the entities asked about are: heads, whose tails are wanted, or tails. */
export function nothing() {
  return { relation: "", examples: [], side: "head", asked: [], top: TOP, among: "open", types: [], known: false };
}

/** Write a question and the opened answer ({asked, answer} or null) as a fragment without its sign. */
export function toFragment(question, opened = null) {
  const written = new URLSearchParams();
  if (question.relation) written.set("relation", question.relation);
  for (const { head, tail } of question.examples) {
    written.append("from", head);
    written.append("to", tail);
  }
  if (question.side === "tail") written.set("which", "heads");
  for (const entity of question.asked) written.append("ask", entity);
  if (question.top !== TOP) written.set("top", question.top);
  if (question.among !== "open") written.set("among", question.among);
  if (question.among === "types") for (const type of question.types) written.append("type", type);
  if (question.known) written.set("known", "yes");
  if (opened) {
    written.set("why", opened.answer);
    if (question.asked.length > 1) written.set("for", opened.asked);
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
    relation: written.get("relation")?.trim() ?? "",
    examples: written.getAll("from").slice(0, tails.length).map((head, place) => ({ head, tail: tails[place] })),
    side: written.get("which") === "heads" ? "tail" : "head",
    asked: written.getAll("ask"),
    top: top >= 1 ? top : TOP,
    among: among === "all" || among === "types" ? among : "open",
    types: written.getAll("type"),
    known: written.get("known") === "yes",
  };
  const answer = written.get("why");
  const asked = written.get("for") ?? question.asked[0];
  return { question, opened: answer && asked ? { asked, answer } : null };
}

/** What is missing before a question can be asked, in a sentence; empty when nothing is. */
export function missing(question) {
  if (!question.examples.length && !question.relation) {
    return "Give at least one example pair, or the name of a relation of the graph.";
  }
  return question.asked.length ? "" : `Name a ${question.side} to ask about.`;
}

/** Write a question about an entity in a line: "Baku — lies on → ?". */
export function inOneLine({ relation, side }, label) {
  const arrow = relation ? `— ${relation} →` : "→";
  return side === "tail" ? `? ${arrow} ${label}` : `${label} ${arrow} ?`;
}

/** Whether two questions are the same. */
export function isSame(one, other) {
  return toFragment(one) === toFragment(other);
}
