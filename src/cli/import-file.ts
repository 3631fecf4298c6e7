/**
 * Imports one CSV file into a tenant's inventory system: reads cells by the field dictionary, hands rows to the store in batches, and keeps account of
 * what was rejected and why. Prints nothing. Source: decisions "Command line and settings", decision 0011.
 */
import { Refusal } from '../errors.ts';
import { parseValue, type Values } from '../pims/values.ts';
import { findField, type Field, type FieldDictionary, type RecordType } from '../pims/fields.ts';
import type { ImportRow, PimsStore } from '../pims/port.ts';
import { readCsv, type CsvRow } from './csv-reader.ts';

export interface ImportRequest {
  readonly recordType: RecordType;
  readonly file: string;
  readonly now: string;
  /** All rows or none. */
  readonly atomic: boolean;
  /** Hears how many bytes of the file have been read since it last did. */
  readonly onRead?: (bytes: number) => void;
}

interface Rejection {
  readonly line: number;
  readonly reason: string;
  readonly field?: string;
}

export interface ImportReport {
  imported: number;
  rejected: number;
  /** The first thousand. */
  rejections: Rejection[];
  seconds: number;
  rowsPerSecond: number;
}

const BATCH_ROWS = 2000;
const REJECTIONS_KEPT = 1000;

/** Throws a Refusal, with nothing written, when the header cannot be used. */
export async function importFile(pims: PimsStore, request: ImportRequest): Promise<ImportReport> {
  const { recordType, now, atomic } = request;
  const startedAt = performance.now();
  const report: ImportReport = { imported: 0, rejected: 0, rejections: [], seconds: 0, rowsPerSecond: 0 };
  const batches = readBatches(request, (await pims.dictionaries())[recordType], report);
  try {
    for await (const { imported, rejected } of pims.importRows(recordType, batches, { now, atomic })) {
      report.imported += imported;
      for (const { lineNumber, reason } of rejected) reject(report, lineNumber, reason);
    }
  } catch (fault) {
    if (fault instanceof Refusal && !atomic && report.imported > 0)
      throw new Refusal(fault.code, `${fault.message} Before that, ${report.imported} rows were imported.`);
    if (!(fault instanceof AllOrNothing)) throw fault;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const rowsPerSecond = Math.round((report.imported + report.rejected) / seconds);
  if (atomic && report.rejected > 0) report.imported = 0;
  report.rejections.sort((a, b) => a.line - b.line);
  return { ...report, seconds: Number(seconds.toFixed(3)), rowsPerSecond };
}

/** Thrown through the store when rows were rejected before they reached it, so that it undoes the others. */
class AllOrNothing extends Error {}

function reject(report: ImportReport, line: number, reason: Error & { field?: string | undefined }): void {
  report.rejected++;
  const about = reason.field === undefined ? {} : { field: reason.field };
  if (report.rejections.length < REJECTIONS_KEPT) report.rejections.push({ line, reason: reason.message, ...about });
}

async function* readBatches(
  { recordType, file, atomic, onRead }: ImportRequest,
  dictionary: FieldDictionary,
  report: ImportReport,
): AsyncGenerator<ImportRow[]> {
  let reader: RowReader | undefined;
  let batch: ImportRow[] = [];
  for await (const rows of readCsv(file, onRead))
    for (const row of rows) {
      if (!reader) {
        reader = new RowReader(readHeader(row, dictionary, recordType));
        continue;
      }
      const values = reader.read(row);
      if (values instanceof Refusal) reject(report, row.lineNumber, values);
      else batch.push({ lineNumber: row.lineNumber, values });
      if (batch.length < BATCH_ROWS) continue;
      yield batch;
      batch = [];
    }
  if (!reader) throw new Refusal('COMMAND_REFUSED', `${file} is empty: its first line has to name the fields.`);
  if (batch.length > 0) yield batch;
  if (atomic && report.rejected > 0) throw new AllOrNothing();
}

function readHeader({ cells, fault }: CsvRow, dictionary: FieldDictionary, recordType: RecordType): Field[] {
  if (fault !== undefined)
    throw new Refusal('COMMAND_REFUSED', `The first line has to name the fields, and cannot be read. ${fault}`);
  const fields = cells.map((name) => findField(dictionary, recordType, name));
  const twice = cells.find((name, index) => cells.indexOf(name) !== index);
  if (twice !== undefined)
    throw new Refusal('COMMAND_REFUSED', `The first line names ${twice} twice.`, { field: twice });
  return fields;
}

/** Reads the cells of rows. Rows beside each other mostly repeat dates and flags; a cell that is as the one above is not read anew. */
class RowReader {
  readonly #fields: readonly Field[];
  readonly #cellsAbove: string[] = [];
  readonly #valuesAbove: string[] = [];

  constructor(fields: readonly Field[]) {
    this.#fields = fields;
  }

  read({ cells, fault }: CsvRow): Values | Refusal {
    const fields = this.#fields;
    if (fault !== undefined) return new Refusal('INVALID_VALUE', fault);
    if (cells.length !== fields.length)
      return new Refusal('INVALID_VALUE', `The row has ${cells.length} cells, the first line has ${fields.length}.`);
    const values: Values = {};
    try {
      for (let column = 0; column < cells.length; column++)
        values[fields[column]!.name] = this.#parseCell(column, cells[column]!);
    } catch (refusal) {
      if (refusal instanceof Refusal) return refusal;
      throw refusal;
    }
    return values;
  }

  #parseCell(column: number, cell: string): string {
    if (cell !== this.#cellsAbove[column]) {
      this.#valuesAbove[column] = parseValue(this.#fields[column]!, cell);
      this.#cellsAbove[column] = cell;
    }
    return this.#valuesAbove[column]!;
  }
}
