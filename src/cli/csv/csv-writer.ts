/**
 * Writes the cells of an export as CSV, byte by byte: an order has 40 cells or more, and a string for each would cost
 * more than reading the order.
 */
import { guardFormulas, keepApostrophes } from '../../pims/csv/formulas.ts';

const [NUL, LINE_FEED, SPACE, QUOTE, APOSTROPHE, COMMA] = [0, 10, 32, 34, 39, 44] as const;
const BOM_BYTES = [0xef, 0xbb, 0xbf] as const;
const QUOTED = Buffer.from('\r\n",');
/** The maximum growth: a cell of one quote and its NUL become four quotes and a comma. */
const GROWTH_MAX = 3;

interface WrittenCsv {
  readonly csv: Uint8Array;
  readonly records: number;
}

/**
 * Writes records of `columns` cells each. `forSpreadsheet` puts an apostrophe before formulas, so that a spreadsheet
 * does not run them. An import returns the same cells in either case.
 */
export function writeCsv(records: Uint8Array, columns: number, forSpreadsheet: boolean): WrittenCsv {
  const cells = markCells(records, forSpreadsheet);
  const csv = Buffer.allocUnsafe(cells.length * GROWTH_MAX);
  let to = 0;
  let from = 0;
  let cellCount = 0;
  let column = 0;
  let isQuoted = false;
  for (let at = 0; at < cells.length; at++) {
    const byte = cells[at]!;
    // Most bytes are letters and digits.
    if (byte > COMMA && byte < BOM_BYTES[0]) {
      csv[to++] = byte;
      continue;
    }
    if (byte !== NUL) {
      csv[to++] = byte;
      isQuoted ||=
        byte === BOM_BYTES[0]
          ? cells[at + 1] === BOM_BYTES[1] && cells[at + 2] === BOM_BYTES[2]
          : QUOTED.includes(byte);
      continue;
    }
    if (isQuoted || (at > from && (cells[from] === SPACE || cells[at - 1] === SPACE))) {
      to = quoteCell(cells.subarray(from, at), csv, to - (at - from));
      isQuoted = false;
    }
    column = column + 1 === columns ? 0 : column + 1;
    csv[to++] = column === 0 ? LINE_FEED : COMMA;
    from = at + 1;
    cellCount++;
  }
  return { csv: csv.subarray(0, to), records: cellCount / columns };
}

function markCells(cells: Uint8Array, forSpreadsheet: boolean): Uint8Array {
  if (!forSpreadsheet && !cells.includes(APOSTROPHE)) return cells;
  // Latin-1 has one character for each byte.
  const text = Buffer.from(cells).toString('latin1');
  return Buffer.from(forSpreadsheet ? guardFormulas(text) : keepApostrophes(text), 'latin1');
}

/** Quotes a cell and returns the place after it. */
function quoteCell(cell: Uint8Array, csv: Uint8Array, start: number): number {
  let to = start;
  csv[to++] = QUOTE;
  for (const byte of cell) {
    if (byte === QUOTE) csv[to++] = QUOTE;
    csv[to++] = byte;
  }
  csv[to++] = QUOTE;
  return to;
}
