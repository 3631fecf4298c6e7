/** Reads a CSV file in the browser, and cuts its rows into pieces, one for each request. */
import { hasText, readCsv, type CsvFormat, type CsvRow } from '../../../../src/pims/csv/csv-reader.ts';
import type { RecordType } from '../../../../src/pims/rules/fields.ts';
import { KINDS } from '../../records/records.ts';

const BYTES_MAX = 20 * 1024 * 1024;
/** Bounds of a piece. The route limits the rows, and the body of a request in UTF-8 has room for the characters. */
const PIECE_ROWS = 200;
const PIECE_CHARACTERS = 60_000;

export type CsvTable = Awaited<ReturnType<typeof readTable>>;
/** Reads a table as `storeroom import` does. Throws if its first line is no header, or no row follows. */
export async function readTable(file: File) {
  if (file.size > BYTES_MAX)
    throw new Error('The file is larger than 20 MB. Split it, or use the command storeroom import.');
  const bytes = new Uint8Array(await file.arrayBuffer());
  const format: CsvFormat = {};
  const [first, ...rows] = (await Array.fromAsync(readCsv(() => [bytes], format))).flat();
  if (first?.fault !== undefined) throw new Error(`The first line must name the columns. ${first.fault}`);
  const { cells: head = [] } = first ?? {};
  const twice = head.find((name, at) => hasText(name) && head.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`The first line names ${twice} twice. Rename or remove one of the columns.`);
  if (rows.length === 0) throw new Error('The file has no rows below its first line. Add at least one.');
  return { ...format, name: file.name, head, rows };
}

export interface Rejection {
  readonly row: CsvRow;
  readonly message: string;
}
interface Piece {
  readonly rows: CsvRow[];
  /** The cells of each row that have a field. */
  readonly cells: string[][];
  /** The rows in between that are not sent. */
  readonly faults: Rejection[];
}
type FindFault = (row: CsvRow, cells: readonly string[]) => string | undefined;

/** Makes the function that also finds rows with the key of a row before, which may be in another piece. */
export function makeFaultFinder(recordType: RecordType, names: readonly string[], updates: boolean): FindFault {
  const key = recordType === 'lines' ? ['ORDER_NUMBER', 'LINE_NUMBER'] : [KINDS[recordType].key];
  const columns = key.map((name) => names.indexOf(name));
  const seen = new Map<string, number>();
  return ({ rowNumber, fault }, cells) => {
    const values = columns.map((column) => cells[column] ?? '');
    if (fault !== undefined || updates || !values.every(Boolean)) return fault;
    const before = seen.get(values.join('\0'));
    if (before !== undefined) return `Row ${before} has the same ${key.join(' and ')}.`;
    seen.set(values.join('\0'), rowNumber);
    return undefined;
  };
}

/** Yields pieces of the rows that have text in a column with a field. */
export function* piecesOf(
  { rows }: CsvTable,
  fit: (row: CsvRow) => string[] | undefined,
  findFault: FindFault,
): Generator<Piece> {
  const begin = (): Piece => ({ rows: [], cells: [], faults: [] });
  let piece = begin();
  let characters = 0;
  for (const row of rows) {
    const cells = fit(row);
    const message = cells && findFault(row, cells);
    if (message !== undefined) piece.faults.push({ row, message });
    if (!cells || message !== undefined) continue;
    const length = cells.reduce((sum, cell) => sum + cell.length + 3, 0);
    if (piece.rows.length === PIECE_ROWS || (piece.rows.length > 0 && characters + length > PIECE_CHARACTERS)) {
      yield piece;
      [piece, characters] = [begin(), 0];
    }
    piece.rows.push(row);
    piece.cells.push(cells);
    characters += length;
  }
  yield piece;
}
