// Answers as files: CSV for a spreadsheet, JSON with the question for a program.

const COLUMNS = ["relation", "head", "head_label", "rank", "tail", "tail_label", "score", "confidence", "is_known"];

/** Write answers as comma-separated values, one row for each. */
export function asCsv(question, reply) {
  const rows = reply.results.flatMap(({ head, tail, answers }) =>
    answers.map(({ rank, entity, score, confidence, is_known: isKnown }) => {
      const [first, last] = [head ?? entity, tail ?? entity];
      return [question.relation, first.name, first.label, rank, last.name, last.label, score, confidence, isKnown];
    }),
  );
  return [COLUMNS, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(value) {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Write a question and its answers as JSON. */
export function asJson(question, reply) {
  const { relation, examples, side, asked } = question;
  const written = { relation: relation || null, examples, [side === "tail" ? "tails" : "heads"]: asked };
  return `${JSON.stringify({ question: written, results: reply.results }, null, 2)}\n`;
}

/** Let the browser keep a text as a file. */
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
