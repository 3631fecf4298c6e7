/** Begin here. Imports a CSV file into a tenant's inventory system, and reports rejected rows. Source: decision 0011. */
import { Refusal, refuseCommand } from '../../errors.ts';
import { findField, type Field, type FieldDictionary, type RecordType } from '../../pims/rules/fields.ts';
import type { ImportRow } from '../../pims/import.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import { parseValue, type Values } from '../../pims/rules/values.ts';
import { readCsv, type CsvFormat, type CsvRow } from './csv-reader.ts';

export interface ImportRequest {
  readonly recordType: RecordType;
  readonly file: string;
  /** The bytes of the file, if it was read already. */
  readonly content?: Buffer;
  readonly now: string;
  /** Whether to import all rows or none. */
  readonly atomic: boolean;
  /** Whether to check all rows and import none. */
  readonly isDry?: boolean;
  /** Names of fields by the names of columns that have another name in the file. */
  readonly columns?: ReadonlyMap<string, string>;
  readonly format?: CsvFormat;
  /** Called with the number of bytes of each chunk that was read. */
  readonly onRead?: (bytes: number) => void;
  /** Called once if rows were stored, even if the import ends early, with the numbers of stored and rejected rows. */
  readonly onStored?: (imported: number, rejected: number) => Promise<void>;
}

interface Rejection {
  readonly line: number;
  readonly reason: string;
  readonly field?: string;
}

export interface ImportReport {
  imported: number;
  rejected: number;
  /** The first thousand rejected rows, by line. */
  rejections: Rejection[];
  seconds: number;
  rowsPerSecond: number;
}

/**
 * Other writes of the tenant wait while a batch is saved, so the size of the next batch depends on the time of the
 * last.
 */
const BATCH_MS = 150;
const BATCH_ROWS_FIRST = 1000;
const BATCH_ROWS_LEAST = 500;
/** Bounds of a batch in memory, apart from its last row. */
const BATCH_CELLS_MAX = 80_000;
const BATCH_CHARACTERS_MAX = 8 * 1024 * 1024;
const REJECTIONS_MAX = 1000;

/** Throws a Refusal and imports nothing if the header cannot be used. */
export async function importCsv(pims: PimsStore, request: ImportRequest): Promise<ImportReport> {
  const { recordType, now, isDry = false } = request;
  // The rows of a dry run are stored and undone, so that they are checked against each other.
  const atomic = request.atomic || isDry;
  const startedAt = performance.now();
  const report: ImportReport = { imported: 0, rejected: 0, rejections: [], seconds: 0, rowsPerSecond: 0 };
  const batches = parseBatches(request, (await pims.dictionaries())[recordType], report);
  const tellStored = async (): Promise<void> => {
    if (report.imported > 0) await request.onStored?.(report.imported, report.rejected);
  };
  try {
    for await (const { imported, rejected } of pims.importRows(recordType, batches, { now, atomic })) {
      report.imported += imported;
      for (const { lineNumber, reason } of rejected) addRejection(report, lineNumber, reason);
    }
  } catch (fault) {
    if (!atomic) await tellStored();
    if (fault instanceof Refusal && !atomic && report.imported > 0)
      throw new Refusal(fault.code, `${fault.message} Before that, ${report.imported} rows were imported.`);
    if (!(fault instanceof RejectedBeforeStore)) throw fault;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const rowsPerSecond = Math.round((report.imported + report.rejected) / seconds);
  if (request.atomic && report.rejected > 0) report.imported = 0;
  if (!isDry) await tellStored();
  report.rejections.sort((a, b) => a.line - b.line);
  return { ...report, seconds: Number(seconds.toFixed(3)), rowsPerSecond };
}

/** Thrown through the store by an atomic import, so that the store rolls back. */
class RejectedBeforeStore extends Error {}

function addRejection(report: ImportReport, line: number, reason: Error & { field?: string | undefined }): void {
  report.rejected++;
  if (report.rejections.length === REJECTIONS_MAX) return;
  const { message, field } = reason;
  report.rejections.push({ line, reason: message, ...(field !== undefined && { field }) });
}

async function* parseBatches(
  { recordType, file, content, atomic, isDry, columns, format, onRead }: ImportRequest,
  dictionary: FieldDictionary,
  report: ImportReport,
): AsyncGenerator<ImportRow[]> {
  let parser: RowParser | undefined;
  let batch: ImportRow[] = [];
  let characters = 0;
  let rowsMost = BATCH_ROWS_FIRST;
  for await (const rows of readCsv(content ?? file, onRead, format))
    for (const row of rows) {
      if (!parser) {
        parser = new RowParser(parseHeader(row, dictionary, recordType, columns));
        continue;
      }
      const values = parser.parse(row);
      if (values instanceof Refusal) addRejection(report, row.lineNumber, values);
      else batch.push({ lineNumber: row.lineNumber, values });
      for (const cell of row.cells) characters += cell.length;
      const cells = batch.length * row.cells.length;
      if (batch.length < rowsMost && cells < BATCH_CELLS_MAX && characters < BATCH_CHARACTERS_MAX) continue;
      const since = performance.now();
      yield batch;
      const rowsInTime = Math.round((batch.length / (performance.now() - since)) * BATCH_MS);
      rowsMost = Math.max(BATCH_ROWS_LEAST, Math.min(rowsInTime, 2 * batch.length));
      batch = [];
      characters = 0;
    }
  if (!parser) throw refuseCommand(`${file} is empty. Its first line must name the fields.`);
  if (batch.length > 0) yield batch;
  if (isDry || (atomic && report.rejected > 0)) throw new RejectedBeforeStore();
}

function parseHeader(
  { cells: names, fault }: CsvRow,
  dictionary: FieldDictionary,
  recordType: RecordType,
  columns: ReadonlyMap<string, string> = new Map(),
): Field[] {
  if (fault !== undefined) throw refuseCommand(`The first line must name the fields, and is not valid CSV. ${fault}`);
  const [separator] = names.length > 1 ? [] : (/[,;\t|]/.exec(names[0] ?? '') ?? []);
  if (separator !== undefined) {
    const what = { ';': 'semicolons', '\t': 'tabs', '|': 'bars', ',': 'commas' }[separator];
    const flag = separator === '\t' ? String.raw`\t` : separator;
    throw refuseCommand(`The first line has ${what} between its fields. Give --separator '${flag}'.`);
  }
  const missing = [...columns.keys()].find((column) => !names.includes(column));
  if (missing !== undefined) throw refuseCommand(`The first line has no column '${missing}', which --map names.`);
  const cells = names.map((name) => columns.get(name) ?? name);
  const fields = cells.map((name) => findField(dictionary, recordType, name));
  const twice = cells.find((name, index) => cells.indexOf(name) !== index);
  if (twice === undefined) return fields;
  throw new Refusal('COMMAND_REFUSED', `The first line names ${twice} twice.`, { field: twice });
}

/** Adjacent rows mostly repeat dates and flags, so a cell equal to the one above is not parsed again. */
class RowParser {
  readonly #fields: readonly Field[];
  readonly #cellsAbove: string[] = [];
  readonly #valuesAbove: string[] = [];
  /** A copy of this object is fast to fill, but an object that grows field by field becomes slow. */
  readonly #empty: Values;

  constructor(fields: readonly Field[]) {
    this.#fields = fields;
    this.#empty = JSON.parse(JSON.stringify(Object.fromEntries(fields.map(({ name }) => [name, ''])))) as Values;
  }

  parse({ cells, fault }: CsvRow): Values | Refusal {
    const fields = this.#fields;
    if (fault !== undefined) return new Refusal('INVALID_VALUE', fault);
    if (cells.length !== fields.length)
      return new Refusal(
        'INVALID_VALUE',
        `The row has ${cells.length} cells, but the first line has ${fields.length}.`,
      );
    try {
      const values = { ...this.#empty };
      for (let column = 0; column < cells.length; column++)
        values[fields[column]!.name] = this.#parseCell(column, cells[column]!);
      return values;
    } catch (refusal) {
      if (refusal instanceof Refusal) return refusal;
      throw refusal;
    }
  }

  #parseCell(column: number, cell: string): string {
    if (cell !== this.#cellsAbove[column]) {
      this.#valuesAbove[column] = parseValue(this.#fields[column]!, cell);
      this.#cellsAbove[column] = cell;
    }
    return this.#valuesAbove[column]!;
  }
}
