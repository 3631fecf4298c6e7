/**
 * Reads the rows of a CSV file (RFC 4180, UTF-8 with or without a BOM) a chunk at a time, each with the number of the line it begins on.
 * Says what is wrong with a row instead of guessing. Knows nothing of fields.
 */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import Papa from 'papaparse';

export interface CsvRow {
  readonly lineNumber: number;
  readonly cells: string[];
  /** Why the cells cannot be relied on. */
  readonly fault: string | undefined;
}

interface Parsed {
  readonly data: string[][];
  readonly errors: readonly { readonly code: string; readonly row: number }[];
  readonly meta: { readonly cursor: number };
}

const CHUNK_BYTES = 256 * 1024;
const ROW_CHARACTERS_MAX = 8 * 1024 * 1024;
const LINE_FEED = 10;

/** Yields the rows of each chunk, the header first of all. `onRead` hears how many bytes each chunk had. */
export async function* readCsv(
  file: string,
  onRead: (bytes: number) => void = () => undefined,
): AsyncGenerator<CsvRow[]> {
  const splitter = new RowSplitter();
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of createReadStream(file, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    // Chunks end with a line, so that no character is ever cut in two.
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    const lines = end === 0 ? Buffer.alloc(0) : Buffer.concat([rest, chunk.subarray(0, end)]);
    rest = end === 0 ? Buffer.concat([rest, chunk]) : chunk.subarray(end);
    if (end > 0) yield splitter.split(lines, false);
    onRead(chunk.length);
    if (splitter.openCharacters + rest.length > ROW_CHARACTERS_MAX) {
      yield [splitter.giveUp()];
      return;
    }
  }
  yield splitter.split(rest, true);
}

class RowSplitter {
  #parser: Papa.Parser | undefined;
  #open = '';
  #isOpenValid = true;
  #lineNumber = 1;

  get openCharacters(): number {
    return this.#open.length;
  }

  /** The rows that are whole now; what is left waits for the next bytes. */
  split(bytes: Buffer, isLast: boolean): CsvRow[] {
    let text = this.#open + bytes.toString('utf8');
    if (!this.#parser) {
      if (text.startsWith('\u{feff}')) text = text.slice(1);
      this.#parser = new Papa.Parser({ delimiter: ',', newline: /\r?\n/.exec(text)?.[0] === '\r\n' ? '\r\n' : '\n' });
    }
    const { data, errors, meta } = this.#parser.parse(text, 0, !isLast) as Parsed;
    const isValid = isUtf8(bytes) && this.#isOpenValid;
    this.#isOpenValid = isValid || meta.cursor === text.length;
    this.#open = isLast ? '' : text.slice(meta.cursor);
    const faults = new Map(errors.map(({ code, row }) => [row, FAULTS[code] ?? code]));
    const isQuoted = text.includes('"');
    const rows: CsvRow[] = [];
    for (let index = 0; index < data.length; index++) {
      const cells = data[index]!;
      const lineNumber = this.#lineNumber;
      this.#lineNumber += 1 + (isQuoted ? countBreaks(cells) : 0);
      const isEmpty = cells.length === 1 && cells[0] === '';
      if (!isEmpty)
        rows.push({ lineNumber, cells, fault: faults.get(index) ?? (isValid ? undefined : findDecodingFault(cells)) });
    }
    return rows;
  }

  /** Stands for a row that does not end. */
  giveUp(): CsvRow {
    return {
      lineNumber: this.#lineNumber,
      cells: [],
      fault: 'The row is longer than 8 MiB: is a quote left open? Nothing after it was read.',
    };
  }
}

const FAULTS: Readonly<Record<string, string>> = {
  MissingQuotes: 'A quote is opened in this row and never closed.',
  InvalidQuotes: 'There is text after a closing quote.',
};

function countBreaks(cells: readonly string[]): number {
  let breaks = 0;
  for (const cell of cells) for (let at = cell.indexOf('\n'); at >= 0; at = cell.indexOf('\n', at + 1)) breaks++;
  return breaks;
}

const findDecodingFault = (cells: readonly string[]): string | undefined =>
  cells.some((cell) => cell.includes('\u{fffd}')) ? 'The row is not in UTF-8.' : undefined;
