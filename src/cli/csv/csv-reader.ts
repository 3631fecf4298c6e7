/** Reads a CSV file (RFC 4180, UTF-8 with or without a BOM) in chunks, with the line and the fault of each row. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import Papa from 'papaparse';

export interface CsvRow {
  readonly lineNumber: number;
  readonly cells: string[];
  /** Why the cells cannot be used. */
  readonly fault: string | undefined;
}

interface PapaResult {
  readonly data: string[][];
  readonly meta: { readonly cursor: number };
}

const CHUNK_BYTES = 256 * 1024;
const ROW_CHARACTERS_MAX = 8 * 1024 * 1024;
const LINE_FEED = 10;
const BOM = '\u{feff}';
const QUOTING = 'Quotes stand around a whole cell, without spaces beside them, and are doubled within it.';

/** Yields the rows of each chunk of a file or of bytes, the header first. `onRead` is called with a chunk's bytes. */
export async function* readCsv(
  source: string | Buffer,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<CsvRow[]> {
  const parser = new ChunkParser();
  let rest: Buffer = Buffer.alloc(0);
  const chunks = typeof source === 'string' ? createReadStream(source, { highWaterMark: CHUNK_BYTES }) : [source];
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    // The parser gets whole lines, so that no character is cut in two.
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end > 0) yield parser.parse(Buffer.concat([rest, chunk.subarray(0, end)]), false);
    rest = end > 0 ? chunk.subarray(end) : Buffer.concat([rest, chunk]);
    onRead(chunk.length);
    if (parser.openCharacters + rest.length > ROW_CHARACTERS_MAX) {
      yield [parser.endWithFault('The row is longer than 8 MiB: is a quote left open? Nothing after it was read.')];
      return;
    }
  }
  yield parser.parse(rest, true);
}

class ChunkParser {
  #newline: '\r\n' | '\n' | undefined;
  /** The beginning of a row that goes on in the next chunk. */
  #open = '';
  #isOpenValid = true;
  #lineNumber = 1;

  get openCharacters(): number {
    return this.#open.length;
  }

  parse(bytes: Buffer, isLast: boolean): CsvRow[] {
    let text = this.#open + bytes.toString('utf8');
    if (!this.#newline) {
      if (text.startsWith(BOM)) text = text.slice(1);
      this.#newline = /\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n';
    }
    const { parsed, end } = parseRows(text, this.#newline, isLast);
    const isValid = isUtf8(bytes) && this.#isOpenValid;
    this.#isOpenValid = isValid || end === text.length;
    this.#open = isLast ? '' : text.slice(end);
    const rows: CsvRow[] = [];
    for (const { cells, source } of parsed) {
      const fault = findQuoteFault(source, this.#lineNumber) ?? (isValid ? undefined : findDecodingFault(cells));
      const isEmpty = cells.length === 1 && cells[0] === '';
      if (!isEmpty) rows.push({ lineNumber: this.#lineNumber, cells, fault });
      this.#lineNumber += 1 + (source === '' ? 0 : countLineFeeds(cells));
    }
    return rows;
  }

  /** In place of a row that does not end. */
  endWithFault(fault: string): CsvRow {
    return { lineNumber: this.#lineNumber, cells: [], fault };
  }
}

interface ParsedRow {
  readonly cells: string[];
  /** The row as it stands in the file; '' when it has no quotes. */
  readonly source: string;
}

/** The rows of a text that begins with a row, and where the last of them ends. */
function parseRows(
  text: string,
  newline: '\r\n' | '\n',
  isLast: boolean,
): { parsed: readonly ParsedRow[]; end: number } {
  const options = { delimiter: ',', newline };
  if (!text.includes('"')) {
    const { data, meta } = new Papa.Parser(options).parse(text, 0, !isLast) as PapaResult;
    return { parsed: data.map((cells) => ({ cells, source: '' })), end: meta.cursor };
  }
  const parsed: ParsedRow[] = [];
  let end = 0;
  const step = ({ data, meta }: PapaResult): void => {
    const source = text.slice(end, meta.cursor);
    parsed.push({ cells: data[0]!, source: source.includes('"') ? source : '' });
    end = meta.cursor;
  };
  new Papa.Parser({ ...options, step }).parse(text, 0, !isLast);
  return { parsed, end };
}

/**
 * What is wrong with the quotes of a row: RFC 4180 has them around a whole cell, and doubled within it. The parser
 * keeps others as characters, or drops the spaces beside them.
 */
function findQuoteFault(source: string, lineNumber: number): string | undefined {
  let [at, quoteAt, commaAt] = [0, -1, -1];
  const next = (character: string, from: number): number => {
    const found = source.indexOf(character, from);
    return found < 0 ? source.length : found;
  };
  const tell = (what: string, place: number): string => {
    const lines = source.slice(0, place).split('\n');
    return `${what}, at line ${lineNumber + lines.length - 1}, column ${lines.at(-1)!.length + 1}. ${QUOTING}`;
  };
  while (at < source.length) {
    if (source[at] === '"') {
      let end = next('"', at + 1);
      while (source[end + 1] === '"') end = next('"', end + 2);
      if (end === source.length) return 'A quote is opened in this row and never closed.';
      at = end + 1;
      if (/[^,\r\n]/.test(source[at] ?? '')) return tell('There is text after a closing quote', at);
    } else {
      if (quoteAt < at) quoteAt = next('"', at);
      if (commaAt < at) commaAt = next(',', at);
      if (quoteAt < commaAt) return tell('There is a quote inside a cell', quoteAt);
      at = commaAt;
    }
    if (source[at] !== ',') return undefined;
    at++;
  }
  return undefined;
}

function countLineFeeds(cells: readonly string[]): number {
  let count = 0;
  for (const cell of cells) for (let at = cell.indexOf('\n'); at >= 0; at = cell.indexOf('\n', at + 1)) count++;
  return count;
}

const findDecodingFault = (cells: readonly string[]): string | undefined =>
  cells.some((cell) => cell.includes('\u{fffd}')) ? 'The row is not in UTF-8.' : undefined;
