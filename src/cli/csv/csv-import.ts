/** Begin here. Imports a CSV file into a tenant's inventory system, and reports rejected rows. Source: decision 0011. */
import { Refusal, refuseCommand } from '../../errors.ts';
import { makeRowParser } from '../../pims/import-rows.ts';
import type { ImportRow } from '../../pims/import.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { FieldDictionary, RecordType } from '../../pims/rules/fields.ts';
import { readCsv, type CsvFormat, type CsvRow } from './csv-format.ts';

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
  /** Whether rows may change existing customers or parts. Other record types are refused (COMMAND_REFUSED). */
  readonly updates?: boolean;
  /** The field of each column that is not named like its field. */
  readonly columns?: ReadonlyMap<string, string>;
  readonly format?: CsvFormat;
  /** Called with the number of bytes of each chunk that was read. */
  readonly onRead?: (bytes: number) => void;
  /** Called once with the numbers of rows, even if the import ends early, unless no row was stored. */
  readonly onStored?: (report: ImportReport) => Promise<void>;
}

interface Rejection {
  readonly line: number;
  readonly reason: string;
  readonly field?: string;
}

export interface ImportReport {
  imported: number;
  updated: number;
  rejected: number;
  /** At most a thousand rejected rows, by line. */
  rejections: Rejection[];
  seconds: number;
  rowsPerSecond: number;
}

/**
 * Wanted duration of a batch. Other writes of the tenant wait while a batch is saved, so the size of the next batch
 * depends on the time of the last.
 */
const BATCH_MS = 150;
const BATCH_ROWS_FIRST = 1000;
const BATCH_ROWS_LEAST = 500;
/** Bounds of a batch in memory, apart from its last row. */
const BATCH_CELLS_MAX = 80_000;
const BATCH_CHARACTERS_MAX = 8 * 1024 * 1024;
const REJECTIONS_MAX = 1000;

/** Imports the rows. Throws a Refusal and imports nothing if the header cannot be used. */
export async function importCsv(pims: PimsStore, request: ImportRequest): Promise<ImportReport> {
  const { recordType, now, isDry = false, updates = false } = request;
  // The rows of a dry run are stored and undone, so that they are checked against each other.
  const atomic = request.atomic || isDry;
  const startedAt = performance.now();
  const report: ImportReport = { imported: 0, updated: 0, rejected: 0, rejections: [], seconds: 0, rowsPerSecond: 0 };
  const batches = parseBatches(request, (await pims.dictionaries())[recordType], report);
  const tellStored = async () => {
    if (report.imported + report.updated > 0) await request.onStored?.(report);
  };
  try {
    for await (const { imported, updated, rejected } of pims.importRows(recordType, batches, {
      now,
      atomic,
      updates,
    })) {
      report.imported += imported;
      report.updated += updated;
      for (const { lineNumber, reason } of rejected) addRejection(report, lineNumber, reason);
    }
  } catch (fault) {
    if (!atomic) await tellStored();
    const stored = report.imported + report.updated;
    if (fault instanceof Refusal && !atomic && stored > 0)
      throw new Refusal(fault.code, `${fault.message} Rows saved before that: ${stored}.`);
    if (!(fault instanceof RejectedBeforeStore)) throw fault;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const rowsPerSecond = Math.round((report.imported + report.updated + report.rejected) / seconds);
  if (request.atomic && report.rejected > 0) Object.assign(report, { imported: 0, updated: 0 });
  if (!isDry) await tellStored();
  report.rejections.sort((a, b) => a.line - b.line);
  return { ...report, seconds: Number(seconds.toFixed(3)), rowsPerSecond };
}

/** Thrown through the store by an atomic import or a dry run, so that the store rolls back. */
class RejectedBeforeStore extends Error {}

function addRejection(report: ImportReport, line: number, reason: Error & { field?: string | undefined }) {
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
  let parse: ReturnType<typeof makeRowParser> | undefined;
  let batch: ImportRow[] = [];
  let characters = 0;
  let rowsMost = BATCH_ROWS_FIRST;
  for await (const rows of readCsv(content ?? file, onRead, format))
    for (const row of rows) {
      if (!parse) {
        parse = parseHeader(row, dictionary, recordType, columns);
        continue;
      }
      const values = row.fault === undefined ? parse(row.cells) : new Refusal('INVALID_VALUE', row.fault);
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
  if (!parse) throw refuseCommand(`${file} is empty. Its first line must name the fields.`);
  if (batch.length > 0) yield batch;
  if (isDry || (atomic && report.rejected > 0)) throw new RejectedBeforeStore();
}

function parseHeader(
  { cells: names, fault }: CsvRow,
  dictionary: FieldDictionary,
  recordType: RecordType,
  columns: ReadonlyMap<string, string> = new Map(),
): ReturnType<typeof makeRowParser> {
  if (fault !== undefined) throw refuseCommand(`The first line must name the fields, but is not valid CSV. ${fault}`);
  const [separator] = names.length > 1 ? [] : (/[,;\t|]/.exec(names[0] ?? '') ?? []);
  if (separator !== undefined) {
    const what = { ';': 'semicolons', '\t': 'tabs', '|': 'bars', ',': 'commas' }[separator];
    const flag = separator === '\t' ? String.raw`\t` : separator;
    throw refuseCommand(`The first line has ${what} between its fields. Give --separator '${flag}'.`);
  }
  const missing = [...columns.keys()].find((column) => !names.includes(column));
  if (missing !== undefined)
    throw refuseCommand(`--map names the column '${missing}', which the first line does not have.`);
  return makeRowParser(
    names.map((name) => columns.get(name) ?? name),
    dictionary,
    recordType,
  );
}
