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
  readonly errors: readonly { readonly code: string; readonly row: number }[];
  readonly meta: { readonly cursor: number };
}

const CHUNK_BYTES = 256 * 1024;
const ROW_CHARACTERS_MAX = 8 * 1024 * 1024;
const LINE_FEED = 10;
const BOM = '\u{feff}';

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
  #parser: Papa.Parser | undefined;
  /** The beginning of a row that goes on in the next chunk. */
  #open = '';
  #isOpenValid = true;
  #lineNumber = 1;

  get openCharacters(): number {
    return this.#open.length;
  }

  parse(bytes: Buffer, isLast: boolean): CsvRow[] {
    let text = this.#open + bytes.toString('utf8');
    if (!this.#parser) {
      if (text.startsWith(BOM)) text = text.slice(1);
      this.#parser = new Papa.Parser({ delimiter: ',', newline: /\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n' });
    }
    const { data, errors, meta } = this.#parser.parse(text, 0, !isLast) as PapaResult;
    const isValid = isUtf8(bytes) && this.#isOpenValid;
    this.#isOpenValid = isValid || meta.cursor === text.length;
    this.#open = isLast ? '' : text.slice(meta.cursor);
    const faults = new Map(errors.map(({ code, row }) => [row, FAULTS[code] ?? code]));
    const isQuoted = text.includes('"');
    const rows: CsvRow[] = [];
    for (const [index, cells] of data.entries()) {
      const fault = faults.get(index) ?? (isValid ? undefined : findDecodingFault(cells));
      const isEmpty = cells.length === 1 && cells[0] === '';
      if (!isEmpty) rows.push({ lineNumber: this.#lineNumber, cells, fault });
      this.#lineNumber += 1 + (isQuoted ? countLineFeeds(cells) : 0);
    }
    return rows;
  }

  /** In place of a row that does not end. */
  endWithFault(fault: string): CsvRow {
    return { lineNumber: this.#lineNumber, cells: [], fault };
  }
}

const FAULTS: Readonly<Record<string, string>> = {
  MissingQuotes: 'A quote is opened in this row and never closed.',
  InvalidQuotes: 'There is text after a closing quote.',
};

function countLineFeeds(cells: readonly string[]): number {
  let count = 0;
  for (const cell of cells) for (let at = cell.indexOf('\n'); at >= 0; at = cell.indexOf('\n', at + 1)) count++;
  return count;
}

const findDecodingFault = (cells: readonly string[]): string | undefined =>
  cells.some((cell) => cell.includes('\u{fffd}')) ? 'The row is not in UTF-8.' : undefined;
