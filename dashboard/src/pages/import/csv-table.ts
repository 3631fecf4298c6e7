/** Reads a CSV file in the browser, and cuts its rows into pieces, one for each request. */

const BYTES_MAX = 20 * 1024 * 1024;
/** Bounds of a piece. The route limits the rows, and the body of a request in UTF-8 has room for the characters. */
const PIECE_ROWS = 200;
const PIECE_CHARACTERS = 60_000;

export type CsvTable = Awaited<ReturnType<typeof readTable>>;
/** Reads a table. Detects the separator (comma, semicolon, tab or bar) and UTF-8 or Latin-1. Throws if it is no CSV. */
export async function readTable(file: File) {
  if (file.size > BYTES_MAX)
    throw new Error('The file is larger than 20 MB. Split it, or use the command storeroom import.');
  const bytes = await file.arrayBuffer();
  const [text, encoding] = decode(bytes);
  const { default: papa } = await import('papaparse');
  const { data, errors } = papa.parse<string[]>(text, { skipEmptyLines: true });
  const error = errors.find(({ type }) => type === 'Quotes');
  if (error) throw new Error(`Row ${error.row}: ${error.message}. Correct the quotes in this row.`);
  const [head = [], ...rows] = data;
  const twice = head.find((name, at) => head.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`The first line names ${twice} twice. Rename or remove one of the columns.`);
  if (rows.length === 0) throw new Error('The file has no rows below its first line. Add at least one.');
  const wrong = rows.findIndex((row) => row.length !== head.length);
  if (wrong >= 0)
    throw new Error(
      `Row ${wrong + 1} has ${rows[wrong]!.length} cells, but the first line has ${head.length}. Correct this row.`,
    );
  return { name: file.name, encoding, head, rows };
}

function decode(bytes: ArrayBuffer): [text: string, encoding: string] {
  try {
    return [new TextDecoder('utf-8', { fatal: true }).decode(bytes), 'UTF-8'];
  } catch {
    return [new TextDecoder('windows-1252').decode(bytes), 'Latin-1'];
  }
}

/** Yields pieces without the columns that have no field, each with the index of its first row. */
export function* piecesOf(
  { rows }: CsvTable,
  fields: readonly string[],
): Generator<{ begin: number; rows: string[][] }> {
  let piece: string[][] = [];
  let characters = 0;
  let begin = 0;
  for (const [at, row] of rows.entries()) {
    const cells = row.filter((_, column) => fields[column]);
    const length = cells.reduce((sum, cell) => sum + cell.length + 3, 0);
    if (piece.length === PIECE_ROWS || (piece.length > 0 && characters + length > PIECE_CHARACTERS)) {
      yield { begin, rows: piece };
      [piece, characters, begin] = [[], 0, at];
    }
    piece.push(cells);
    characters += length;
  }
  yield { begin, rows: piece };
}
