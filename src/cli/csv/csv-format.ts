/**
 * Reads a CSV file (RFC 4180, UTF-8 with or without a BOM) in chunks, with the line and the fault of each row, and
 * writes the cells of an export byte by byte: an order has 40 cells or more, and a string for each would cost more
 * than reading the order.
 */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';

export interface CsvRow {
  readonly lineNumber: number;
  readonly cells: string[];
  /** The reason why the cells cannot be used. */
  readonly fault: string | undefined;
}

export interface CsvFormat {
  /** One character, by default a comma. */
  readonly separator?: string;
  /** The encoding, by default UTF-8. */
  readonly encoding?: 'utf8' | 'latin1';
}

const CHUNK_BYTES = 256 * 1024;
const ROW_CHARACTERS_MAX = 8 * 1024 * 1024;
const LINE_FEED = 10;
const BOM = '\u{feff}';
const UTF_16 = 'The file is in UTF-16. Save it as UTF-8.';
const QUOTING = 'Put quotes around the complete cell, without spaces outside them, and double each quote inside it.';

/** Yields the rows of each chunk of a file or of bytes, the header first. `onRead` receives the bytes of each chunk. */
export async function* readCsv(
  source: string | Buffer,
  onRead: (bytes: number) => void = () => undefined,
  format: CsvFormat = {},
): AsyncGenerator<CsvRow[]> {
  const parser = new ChunkParser(format);
  let rest: Buffer = Buffer.alloc(0);
  const chunks = typeof source === 'string' ? createReadStream(source, { highWaterMark: CHUNK_BYTES }) : [source];
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    // The parser receives complete lines, so that no character is split.
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) yield parser.parse(Buffer.concat([rest, chunk.subarray(0, end)]), false);
    rest = end > 0 ? chunk.subarray(end) : Buffer.concat([rest, chunk]);
    onRead(chunk.length);
    if (parser.openCharacters + rest.length > ROW_CHARACTERS_MAX) {
      yield [parser.endWithFault('The row is longer than 8 MiB. Check its quotes. Nothing after it was read.')];
      return;
    }
  }
  yield parser.parse(rest, true);
}

class ChunkParser {
  readonly #separator: string;
  /** Decodes Windows-1252, which programs call Latin-1 and which has the euro sign; undefined for UTF-8. */
  readonly #latin: TextDecoder | undefined;
  /** The line break of the file, which is its first one. */
  #newline: string | undefined;
  /** The start of a row that continues in the next chunk. */
  #open = '';
  #isOpenValid = true;
  #lineNumber = 1;

  constructor({ separator = ',', encoding }: CsvFormat) {
    this.#separator = separator;
    this.#latin = encoding === 'latin1' ? new TextDecoder('windows-1252') : undefined;
  }

  get openCharacters(): number {
    return this.#open.length;
  }

  parse(bytes: Buffer, isLast: boolean): CsvRow[] {
    if (this.#newline === undefined && isUtf16(bytes)) return [this.endWithFault(UTF_16)];
    let text = this.#open + (this.#latin?.decode(bytes) ?? bytes.toString('utf8'));
    if (this.#newline === undefined && text.startsWith(BOM)) text = text.slice(1);
    this.#newline ??= /\r?\n/.exec(text)?.[0] ?? '\n';
    const isValid = (this.#latin !== undefined || isUtf8(bytes)) && this.#isOpenValid;
    const rows: CsvRow[] = [];
    let start = 0;
    while (start < text.length) {
      const row = parseRow(text, start, this.#newline, this.#separator);
      if (row.end === text.length && !isLast) break;
      const { cells } = row;
      const fault =
        this.#describeFault(row, text.slice(start, row.faultAt)) ?? (isValid ? undefined : findDecodingFault(cells));
      if (fault !== undefined || cells.length > 1 || cells[0] !== '')
        rows.push({ lineNumber: this.#lineNumber, cells, fault });
      this.#lineNumber += row.hasQuotes ? text.slice(start, row.end).split('\n').length : 1;
      start = row.end + this.#newline.length;
    }
    this.#open = text.slice(start);
    this.#isOpenValid = isValid || this.#open === '';
    return rows;
  }

  /** Returns a row without cells, for a fault that ends the file. */
  endWithFault(fault: string): CsvRow {
    return { lineNumber: this.#lineNumber, cells: [], fault };
  }

  /** Adds the place of a fault to it. `before` is the part of the row before the fault. */
  #describeFault({ fault, faultAt }: ParsedRow, before: string): string | undefined {
    if (faultAt === undefined) return fault;
    const lines = before.split('\n');
    const column = lines.at(-1)!.length + 1;
    return `${fault}, at line ${this.#lineNumber + lines.length - 1}, column ${column}. ${QUOTING}`;
  }
}

/** Returns whether the bytes begin with a byte order mark of UTF-16. */
const isUtf16 = ([first, second]: Buffer) => (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

const findDecodingFault = (cells: readonly string[]) =>
  cells.some((cell) => cell.includes('\u{fffd}'))
    ? 'The row is not in UTF-8. The file may be in Latin-1: save it as UTF-8, or give --encoding latin1.'
    : undefined;

interface ParsedRow {
  readonly cells: string[];
  /** Place of the line break after the row; the length of the text where there is none. */
  readonly end: number;
  readonly hasQuotes: boolean;
  readonly fault?: string;
  /** The place of the fault in the text; undefined for a quote that is never closed. */
  readonly faultAt?: number;
}

/** Parses the row that begins at `start`. A faulty row ends with its line, or with the text if a quote stays open. */
function parseRow(text: string, start: number, newline: string, separator: string): ParsedRow {
  const find = (wanted: string, from: number): number => {
    const found = text.indexOf(wanted, from);
    return found < 0 ? text.length : found;
  };
  let end = find(newline, start);
  const line = text.slice(start, end);
  if (!line.includes('"')) return { cells: line.split(separator), end, hasQuotes: false };
  const row = { cells: [] as string[], hasQuotes: true };
  for (let at = start; ; at++) {
    if (text[at] === '"') {
      let close = find('"', at + 1);
      while (text[close + 1] === '"') close = find('"', close + 2);
      if (close === text.length)
        return { ...row, end: close, fault: 'A quote in this row is never closed. Add the closing quote.' };
      row.cells.push(text.slice(at + 1, close).replaceAll('""', '"'));
      at = close + 1;
      if (at > end) end = find(newline, at);
      // A file may mix line breaks.
      if (text[at] === '\r' && at + 1 === end) at++;
      if (at < end && text[at] !== separator)
        return { ...row, end, fault: 'There is text after a closing quote', faultAt: at };
    } else {
      const cell = text.slice(at, Math.min(find(separator, at), end));
      const quote = cell.indexOf('"');
      if (quote >= 0) return { ...row, end, fault: 'There is a quote inside a cell', faultAt: at + quote };
      row.cells.push(cell);
      at += cell.length;
    }
    if (at === end) return { ...row, end };
  }
}

const [NUL, SPACE, QUOTE, COMMA] = [0, 32, 34, 44] as const;
const BOM_BYTES = [0xef, 0xbb, 0xbf] as const;
/**
 * The places where a spreadsheet could begin to read a formula, in cells that end with NUL. It may separate cells by
 * semicolons or tabs instead, and then ignores quotes. Apostrophes and quotes before a formula count as its beginning,
 * so that a reader can remove exactly what was added.
 */
const FORMULA = new RegExp('(?<![^\\0;\\t\\r\\n])(?=[\'"]*[=+\\-@\\t\\r\\n])', 'g');
const QUOTED = Buffer.from('\r\n",');
/** The maximum growth: a cell of one quote and its NUL become four quotes and a comma. */
const GROWTH_MAX = 3;

interface WrittenCsv {
  readonly csv: Uint8Array;
  readonly records: number;
}

/**
 * Writes records of `columns` cells each. `forSpreadsheet` puts an apostrophe before formulas, so that a spreadsheet
 * does not run them.
 */
export function writeCsv(records: Uint8Array, columns: number, forSpreadsheet: boolean): WrittenCsv {
  const cells = forSpreadsheet ? guardFormulas(records) : records;
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

/** Latin-1 has one character for each byte. */
const guardFormulas = (cells: Uint8Array): Uint8Array =>
  Buffer.from(Buffer.from(cells).toString('latin1').replaceAll(FORMULA, "'"), 'latin1');

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
