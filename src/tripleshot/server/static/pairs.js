// Pairs of head and tail in text that was pasted or uploaded: separated values or plain lines, with errors by line.

const HEADERS = [
  ["head", "subject", "source", "from"],
  ["tail", "object", "target", "to"],
];
const SHOWN = 5; // errors that are spelled out

/** Whether text that was pasted into a field for one name holds pairs: a comma alone can belong to a name. */
export const holdsPairs = (text) => /[\t|→]|->/.test(text);

/**
 * Read pairs: {pairs: [{head, tail}], relation, problems: [sentence]}.
 *
 * Two columns are head and tail. Three are head, relation and tail if the relation is the same on every line.
 */
export function readPairs(text) {
  const rows = rowsOf(text.replace(/^\uFEFF/, "")).filter(({ cells }) => cells.some((cell) => cell));
  if (rows.length && isHeader(rows[0].cells)) rows.shift();
  const relations = new Set(rows.map(({ cells }) => cells[1]));
  const isTriples = rows.length > 0 && relations.size === 1 && rows.every(({ cells }) => cells.length === 3);
  const problems = [];
  const pairs = [];
  for (const { line, cells } of rows) {
    const problem = isTriples ? null : problemOf(cells);
    const [head, tail] = [cells[0], cells.at(-1)];
    if (problem || !head || !tail) problems.push(`line ${line}: ${problem ?? "a name is missing"}`);
    else pairs.push({ head, tail });
  }
  if (!rows.length) problems.push("there is no pair in this text");
  if (text.includes("\uFFFD")) problems.push("some letters cannot be read: the text is not UTF-8");
  return { pairs, relation: isTriples ? [...relations][0] : "", problems };
}

/** Write problems as one text, the first few in full. */
export function inWords(problems) {
  const more = problems.length - SHOWN;
  return problems.slice(0, SHOWN).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

function problemOf(cells) {
  if (cells.length === 2) return cells[0] && cells[1] ? null : "a name is missing";
  const found = cells.length === 1 ? `“${shortened(cells[0])}” alone` : `${cells.length} columns`;
  return `expected head and tail, found ${found}`;
}

const shortened = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

function isHeader(cells) {
  const ends = [cells[0], cells.at(-1)].map((cell) => cell.toLowerCase());
  return cells.length > 1 && ends.every((name, place) => HEADERS[place].includes(name));
}

/** Split text into rows of cells, each with the number of the line that it begins on. */
function rowsOf(text) {
  if (holdsPairs(text)) return plainRows(text);
  return quotedRows(text, !text.includes(",") && text.includes(";") ? ";" : ",");
}

/** Where a line has a tab, tabs alone part its cells: a bar then belongs to a name. */
function plainRows(text) {
  return text.split(/\r\n|\n|\r/).map((written, place) => ({
    line: place + 1,
    cells: written.split(written.includes("\t") ? "\t" : /\||→|->/).map((cell) => unquoted(cell.trim())),
  }));
}

const unquoted = (cell) => (/^".*"$/.test(cell) ? cell.slice(1, -1).replaceAll('""', '"').trim() : cell);

/** Comma-separated values after RFC 4180: quoted cells may hold separators, line breaks and doubled quotes. */
function quotedRows(text, separator) {
  const rows = [];
  let [row, cell, isQuoted, line] = [{ line: 1, cells: [] }, "", false, 1];
  const endCell = () => {
    row.cells.push(cell.trim());
    cell = "";
  };
  const endRow = () => {
    endCell();
    rows.push(row);
    row = { line, cells: [] };
  };
  for (let place = 0; place < text.length; place += 1) {
    const letter = text[place];
    if (letter === "\n") line += 1;
    if (isQuoted && letter === '"' && text[place + 1] === '"') {
      cell += '"';
      place += 1;
    } else if (letter === '"' && (isQuoted || !cell.trim())) isQuoted = !isQuoted;
    else if (isQuoted) cell += letter;
    else if (letter === separator) endCell();
    else if (letter === "\n") endRow();
    else cell += letter;
  }
  endRow();
  return rows;
}
