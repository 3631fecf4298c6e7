/**
 * Begin here. Imports a CSV file into a tenant's inventory system, and reports rejected rows. Source: decision 0011.
 */
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { Refusal, refuseCommand } from '../../errors.ts';
import { makeRowFitter, matchColumns } from '../../pims/csv/columns.ts';
import { readCsv, type CsvFormat, type CsvRow } from '../../pims/csv/csv-reader.ts';
import { makeRowParser } from '../../pims/import-rows.ts';
import type { ImportRow } from '../../pims/import.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import { findField, type FieldDictionary, type RecordType } from '../../pims/rules/fields.ts';

export interface ImportRequest {
  readonly recordType: RecordType;
  readonly file: string;
  /** The bytes of the file, if it was read already. */
  readonly content?: Buffer;
  readonly now: string;
  /** Whether to import the other rows if some are rejected. By default, nothing is imported then. */
  readonly partial?: boolean | undefined;
  /** Whether to check all rows and import none. */
  readonly dryRun?: boolean | undefined;
  /** Whether rows may change existing customers or parts. Other record types are refused (COMMAND_REFUSED). */
  readonly update?: boolean | undefined;
  /** The field of each column that is not named like its field. */
  readonly map?: ReadonlyMap<string, string> | undefined;
  /** Whether to leave out columns without a field. By default, they are refused. */
  readonly skipUnknown?: boolean | undefined;
  readonly format?: CsvFormat;
  /** Called with the number of bytes of each chunk that was read. */
  readonly onRead?: (bytes: number) => void;
  /** Called once with the numbers of rows, even if the import ends early, unless no row was stored. */
  readonly onStored?: (report: ImportReport) => Promise<void>;
}

interface Rejection {
  /** The number of the row in a spreadsheet, whose first row is the header. */
  readonly row: number;
  readonly reason: string;
  readonly field?: string;
}

export interface ImportReport {
  imported: number;
  updated: number;
  rejected: number;
  /** At most a thousand rejected rows, in order. */
  rejections: Rejection[];
  /** The columns that were left out. */
  skipped: string[];
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
const CHUNK_BYTES = 256 * 1024;
const REJECTIONS_MAX = 1000;

/** Imports the rows. Throws a Refusal and imports nothing if the header cannot be used. */
export async function importCsv(pims: PimsStore, request: ImportRequest): Promise<ImportReport> {
  const { recordType, now, partial, dryRun: isDry, update: updates = false } = request;
  // The rows of a dry run are stored and undone, so that they are checked against each other.
  const atomic = !partial || isDry === true;
  const startedAt = performance.now();
  const none = { imported: 0, updated: 0, rejected: 0, rejections: [], skipped: [] };
  const report: ImportReport = { ...none, seconds: 0, rowsPerSecond: 0 };
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
  if (atomic && !isDry && report.rejected > 0) Object.assign(report, { imported: 0, updated: 0 });
  if (!isDry) await tellStored();
  report.rejections.sort((a, b) => a.row - b.row);
  return { ...report, seconds: Number(seconds.toFixed(3)), rowsPerSecond };
}

/** Thrown through the store by an atomic import or a dry run, so that the store rolls back. */
class RejectedBeforeStore extends Error {}

function addRejection(report: ImportReport, row: number, reason: Error & { field?: string | undefined }) {
  report.rejected++;
  if (report.rejections.length === REJECTIONS_MAX) return;
  const { message, field } = reason;
  report.rejections.push({ row, reason: message, ...(field !== undefined && { field }) });
}

async function* parseBatches(
  request: ImportRequest,
  dictionary: FieldDictionary,
  report: ImportReport,
): AsyncGenerator<ImportRow[]> {
  const { file, partial, dryRun: isDry, onRead } = request;
  const format = { ...request.format };
  // A pipe can be read only once.
  const content = request.content ?? (statSync(file).isFile() ? undefined : readFileSync(file));
  const openSource = () => (content ? [content] : createReadStream(file, { highWaterMark: CHUNK_BYTES }));
  let table: ReturnType<typeof openTable> | undefined;
  let batch: ImportRow[] = [];
  let characters = 0;
  let rowsMax = BATCH_ROWS_FIRST;
  for await (const rows of readCsv(openSource, format, onRead))
    for (const row of rows) {
      if (!table) {
        table = openTable(row, dictionary, request, format);
        report.skipped = table.skipped;
        continue;
      }
      const fitted = table.fit(row);
      if (!fitted) continue;
      const values = row.fault === undefined ? table.parse(fitted) : new Refusal('INVALID_VALUE', row.fault);
      if (values instanceof Refusal) addRejection(report, row.rowNumber, values);
      else batch.push({ lineNumber: row.rowNumber, values });
      for (const cell of fitted) characters += cell.length;
      const cells = batch.length * fitted.length;
      if (batch.length < rowsMax && cells < BATCH_CELLS_MAX && characters < BATCH_CHARACTERS_MAX) continue;
      const since = performance.now();
      yield batch;
      const rowsInTime = Math.round((batch.length / (performance.now() - since)) * BATCH_MS);
      rowsMax = Math.max(BATCH_ROWS_LEAST, Math.min(rowsInTime, 2 * batch.length));
      batch = [];
      characters = 0;
    }
  if (!table) throw refuseCommand(`${file} is empty. Its first line must name the fields.`);
  if (batch.length > 0) yield batch;
  if (isDry || (!partial && report.rejected > 0)) throw new RejectedBeforeStore();
}

/** Reads the header. Throws COMMAND_REFUSED or UNKNOWN_FIELD. */
function openTable(
  { cells: head, fault }: CsvRow,
  dictionary: FieldDictionary,
  { recordType, map: columns = new Map(), skipUnknown }: ImportRequest,
  { separator }: CsvFormat,
) {
  if (fault !== undefined) throw refuseCommand(`The first line must name the fields, but is not valid CSV. ${fault}`);
  const missing = [...columns.keys()].find((column) => !head.includes(column));
  if (missing !== undefined)
    throw refuseCommand(`--map names the column '${missing}', which the first line does not have.`);
  const fields = matchColumns(head, dictionary, columns);
  const skipped = head.filter((_, column) => fields[column] === '');
  const [first] = skipped;
  if (first !== undefined && !(skipUnknown && fields.some(Boolean)))
    findField(dictionary, recordType, first || `column ${fields.indexOf('') + 1}`);
  const { names, fit } = makeRowFitter(fields, dictionary, recordType, separator);
  return { skipped, fit, parse: makeRowParser(names, dictionary, recordType) };
}
