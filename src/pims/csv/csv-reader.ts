/**
 * Reads CSV for the command and the page alike: finds the encoding and the separator of a file, and yields its rows
 * with their numbers and faults. Quotes follow RFC 4180; each row may end with LF, CR LF or CR.
 */
import { unguardFormulas } from './formulas.ts';

export interface CsvRow {
  /** The number in a spreadsheet, where the first line is row 1 and a cell of several lines is in one row. */
  readonly rowNumber: number;
  readonly cells: string[];
  /** The reason why the cells cannot be used. */
  readonly fault?: string | undefined;
}

/** The form of a file, which the reader completes. */
export interface CsvFormat {
  /** One character; otherwise, the one of `,;`, tab and `|` that the first line has most. */
  separator?: string;
  /** Otherwise, what the byte order mark says, or UTF-8, or Windows-1252 (`latin1`). */
  encoding?: string;
}
type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

const ROW_CHARACTERS_MAX = 8 * 1024 * 1024;
const LINE_END = /\r\n?|\n|$/g;
const QUOTING = 'Put quotes around the complete cell, without spaces outside them, and double each quote inside it.';

/** Describes a row with another number of cells than the header. */
export const describeWidth = (cells: number, head: number): string =>
  `The row has ${cells} cells, but the first line has ${head}.`;

/** Returns whether a cell has any text. */
export const hasText = (cell: string): boolean => cell.trim() !== '';

/**
 * Yields the rows that have text, a list for each chunk, the header first. Reads the file twice: `open` returns its
 * bytes. `onRead` receives the number of bytes of each chunk.
 */
export async function* readCsv(
  open: () => Chunks,
  format: CsvFormat,
  onRead?: (bytes: number) => void,
): AsyncGenerator<CsvRow[]> {
  const { encoding, isUtf8 } = await findEncoding(open());
  const decoder = new TextDecoder((format.encoding ??= encoding));
  const isBroken = decoder.encoding === 'utf-8' && !isUtf8;
  /** The text that is not parsed yet. */
  let text = '';
  let rowNumber = 0;
  let lineNumber = 1;
  /** The number of columns, without those at the end that have no name. */
  let width = 0;
  const parseRows = (isLast: boolean): CsvRow[] => {
    format.separator ??= findSeparator(text);
    const parseRow = makeCellParser(format.separator);
    const rows: CsvRow[] = [];
    let start = 0;
    while (start < text.length) {
      const row = parseRow(text, start, lineNumber);
      // A line break or a quote at the end of a chunk may be half of two.
      if (row.end === text.length && !isLast) break;
      rowNumber++;
      lineNumber += text.slice(start, row.end).split(LINE_END).length - 1;
      start = row.end;
      const cells = row.cells.map(unguardFormulas);
      width ||= cells.findLastIndex(hasText) + 1;
      if (!cells.slice(width).some(hasText)) cells.splice(width);
      if (row.fault === undefined && !cells.some(hasText)) continue;
      const misfit = cells.length === width ? undefined : describeWidth(cells.length, width);
      const garbled =
        isBroken && cells.some((cell) => cell.includes('\u{fffd}'))
          ? 'The row is not in UTF-8, but other rows are. Save the file as UTF-8.'
          : undefined;
      rows.push({ rowNumber, cells, fault: row.fault ?? garbled ?? misfit });
    }
    text = text.slice(start);
    return rows;
  };
  for await (const chunk of open()) {
    text += decoder.decode(chunk, { stream: true });
    yield parseRows(false);
    onRead?.(chunk.length);
    if (text.length > ROW_CHARACTERS_MAX) {
      const fault = 'The row is longer than 8 MiB. Check its quotes. Nothing after it was read.';
      yield [{ rowNumber: rowNumber + 1, cells: [], fault }];
      return;
    }
  }
  text += decoder.decode();
  yield parseRows(true);
}

/** Finds the separator in the first line that is not empty, outside quotes. */
function findSeparator(text: string): string {
  const [head = ''] = /[^\r\n]+/.exec(text.replaceAll(/"[^"]*"/g, '"')) ?? [];
  const countCells = (separator: string) => head.split(separator).length;
  // A comma is the likeliest of them to be part of a name.
  const found = ['\t', '|', ';', ','].filter((separator) => head.includes(separator));
  return found.toSorted((a, b) => countCells(b) - countCells(a))[0] ?? ',';
}

/** Returns Windows-1252 only if no character beyond ASCII is in UTF-8, so that a file with both is not garbled. */
async function findEncoding(chunks: Chunks) {
  const strict = new TextDecoder('utf-8', { fatal: true });
  const lax = new TextDecoder();
  let mark = '';
  let isUtf8 = true;
  let hasUtf8 = false;
  const look = (chunk?: Uint8Array) => {
    const options = { stream: chunk !== undefined };
    hasUtf8 ||= /[^\p{ASCII}\u{fffd}]/u.test(lax.decode(chunk, options));
    try {
      strict.decode(chunk, options);
    } catch {
      isUtf8 = false;
    }
  };
  for await (const chunk of chunks) {
    mark ||= chunk.slice(0, 2).join();
    look(chunk);
  }
  look();
  const encoding = isUtf8 || hasUtf8 ? 'utf-8' : 'windows-1252';
  return { encoding: { '255,254': 'utf-16le', '254,255': 'utf-16be' }[mark] ?? encoding, isUtf8 };
}

interface ParsedRow {
  readonly cells: string[];
  /** The place after the line break. */
  readonly end: number;
  readonly fault?: string;
}

/**
 * Makes the function that parses the row at `start`, which is in this line of the file, up to its first fault. A faulty
 * row ends with its line, or with the text if a quote stays open.
 */
function makeCellParser(separator: string) {
  const between = RegExp.escape(separator);
  const rest = new RegExp(['([^"\\r\\n', between, ']*)(', between, '|', LINE_END.source, ')'].join(''), 'y');
  return (text: string, start: number, lineNumber: number): ParsedRow => {
    const end = findLineEnd(text, start);
    const line = text.slice(start, end).split(LINE_END)[0]!;
    if (!line.includes('"')) return { cells: line.split(separator), end };
    const cells: string[] = [];
    for (let at = start; ; at = rest.lastIndex) {
      const isQuoted = text[at] === '"';
      const close = isQuoted ? findClose(text, at) : at - 1;
      if (isQuoted && close < 0)
        return { cells, end: text.length, fault: 'A quote in this row is never closed. Add the closing quote.' };
      rest.lastIndex = close + 1;
      const [, plain, after] = rest.exec(text) ?? [];
      if (plain === undefined || (isQuoted && plain !== '')) {
        const faultAt = isQuoted ? close + 1 : text.indexOf('"', at);
        const lines = text.slice(start, faultAt).split(LINE_END);
        const what = isQuoted ? 'There is text after a closing quote' : 'There is a quote inside a cell';
        const where = `line ${lineNumber + lines.length - 1}, column ${lines.at(-1)!.length + 1}`;
        return { cells, end: findLineEnd(text, faultAt), fault: `${what}, at ${where}. ${QUOTING}` };
      }
      cells.push(isQuoted ? text.slice(at + 1, close).replaceAll('""', '"') : plain);
      if (after !== separator) return { cells, end: rest.lastIndex };
    }
  };
}

/**
 * Returns the place of the quote that closes the one at `open`, or -1. A regular expression could exhaust the stack.
 */
function findClose(text: string, open: number): number {
  let close = open - 1;
  do close = text.indexOf('"', close + 2);
  while (close >= 0 && text[close + 1] === '"');
  return close;
}

/** Returns the place after the line break. */
function findLineEnd(text: string, from: number): number {
  LINE_END.lastIndex = from;
  LINE_END.test(text);
  return LINE_END.lastIndex;
}
