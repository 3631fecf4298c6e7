/**
 * Writes the cells of an export as CSV, byte by byte: a record has up to 40 cells, and a text for each would be more
 * expensive than reading them. A cell is quoted if a CSV reader could misinterpret it.
 */

const [NUL, LINE_FEED, SPACE, QUOTE, COMMA] = [0, 10, 32, 34, 44] as const;
const BOM = [0xef, 0xbb, 0xbf] as const;
const APOSTROPHE = 39;
/** A spreadsheet treats a cell that begins with one of these as a formula. */
const FORMULA = Buffer.from('=+-@\t\r');
const QUOTED = Buffer.from('\r\n",');
/**
 * The maximum growth: a cell of one byte and its NUL become the byte, an apostrophe or a second quote, two quotes and a
 * comma.
 */
const GROWTH_MAX = 3;

export interface WrittenCsv {
  readonly csv: Uint8Array;
  readonly records: number;
}

/** Writes records of `columns` cells each, on request with cells that a spreadsheet does not run as formulas. */
export function writeCsv(cells: Uint8Array, columns: number, forSpreadsheet: boolean): WrittenCsv {
  const csv = Buffer.allocUnsafe(cells.length * GROWTH_MAX);
  let to = 0;
  let from = 0;
  let cellCount = 0;
  let column = 0;
  let isQuoted = false;
  for (let at = 0; at < cells.length; at++) {
    const byte = cells[at]!;
    // Letters and digits, which most bytes are.
    if (byte > COMMA && byte < BOM[0]) {
      csv[to++] = byte;
      continue;
    }
    if (byte !== NUL) {
      csv[to++] = byte;
      isQuoted ||= byte === BOM[0] ? cells[at + 1] === BOM[1] && cells[at + 2] === BOM[2] : QUOTED.includes(byte);
      continue;
    }
    const isFormula = forSpreadsheet && at > from && FORMULA.includes(cells[from]!);
    if (isQuoted || isFormula || (at > from && (cells[from] === SPACE || cells[at - 1] === SPACE))) {
      to = quoteCell(cells.subarray(from, at), isFormula, csv, to - (at - from));
      isQuoted = false;
    }
    column = column + 1 === columns ? 0 : column + 1;
    csv[to++] = column === 0 ? LINE_FEED : COMMA;
    from = at + 1;
    cellCount++;
  }
  return { csv: csv.subarray(0, to), records: cellCount / columns };
}

/** Quotes a cell and returns the place after it. */
function quoteCell(cell: Uint8Array, isFormula: boolean, csv: Uint8Array, start: number): number {
  let to = start;
  csv[to++] = QUOTE;
  if (isFormula) csv[to++] = APOSTROPHE;
  for (const byte of cell) {
    if (byte === QUOTE) csv[to++] = QUOTE;
    csv[to++] = byte;
  }
  csv[to++] = QUOTE;
  return to;
}
