/** Parses the rows of a table, such as a CSV file, into the values of records, and imports a small table at once. */
import { Refusal, settle, type Outcome } from '../errors.ts';
import { describeWidth, hasText } from './csv/csv-reader.ts';
import { importBatch, type RowOptions } from './import.ts';
import { writeOnce } from './operations.ts';
import type { PimsStore } from './pims-port.ts';
import { findField, type FieldDictionary, type RecordType } from './rules/fields.ts';
import { complete, parseValue, type Values } from './rules/values.ts';
import { withoutSaves } from './writes/script.ts';
import type { WriteOptions } from './writes/writes.ts';

/**
 * Makes the function that parses a row. Adjacent rows mostly repeat dates and flags, so a cell equal to the one above
 * is not parsed again. Throws UNKNOWN_FIELD, or COMMAND_REFUSED if a name is given twice.
 */
export function makeRowParser(names: readonly string[], dictionary: FieldDictionary, recordType: RecordType) {
  const fields = names.map((name) => findField(dictionary, recordType, name));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new Refusal('COMMAND_REFUSED', `The field ${twice} has two columns. Keep one.`, { field: twice });
  const cellsAbove: string[] = [];
  const valuesAbove: string[] = [];
  /** A copy of this object is fast to fill, but an object that grows field by field becomes slow. */
  const empty = JSON.parse(JSON.stringify(complete(names, {}))) as Values;
  return (cells: readonly string[]): Outcome<Values> =>
    settle(() => {
      if (cells.length !== fields.length)
        throw new Refusal('INVALID_VALUE', describeWidth(cells.length, fields.length));
      const values = { ...empty };
      for (let column = 0; column < cells.length; column++) {
        const [field, cell] = [fields[column]!, cells[column]!];
        if (cell !== cellsAbove[column]) {
          valuesAbove[column] = parseValue(field, cell);
          cellsAbove[column] = cell;
        }
        values[field.name] = valuesAbove[column]!;
      }
      return values;
    });
}

/** A table: the names of its fields, and a list of cells for each row. */
export interface ImportTable {
  readonly fields: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The result of an import. `row` is the index of a rejected row in the table. */
export interface TableImport {
  readonly imported: number;
  readonly updated: number;
  readonly rejected: readonly { readonly row: number; readonly message: string }[];
}

/**
 * Imports a table in one transaction, apart from the rows that are rejected. With `isDry`, imports nothing and returns
 * what the result would be. Throws UNKNOWN_FIELD or COMMAND_REFUSED.
 */
export async function importTable(
  store: PimsStore,
  recordType: RecordType,
  { fields, rows }: ImportTable,
  { isDry, ...options }: WriteOptions & RowOptions & { readonly isDry: boolean },
): Promise<TableImport> {
  const parse = makeRowParser(fields, (await store.dictionaries())[recordType], recordType);
  const parsed = rows.flatMap((cells, lineNumber) => (cells.some(hasText) ? { lineNumber, values: parse(cells) } : []));
  const wrong = parsed.flatMap(({ lineNumber, values: reason }) =>
    reason instanceof Refusal ? [{ lineNumber, reason }] : [],
  );
  const good = parsed.flatMap(({ lineNumber, values }) => (values instanceof Refusal ? [] : [{ lineNumber, values }]));
  const script = function* () {
    const batch = importBatch(recordType, good, options);
    const done = yield* isDry ? withoutSaves(batch) : batch;
    const all = [...wrong, ...done.rejected].toSorted((a, b) => a.lineNumber - b.lineNumber);
    const rejected = all.map(({ lineNumber: row, reason: { message } }) => ({ row, message }));
    return JSON.stringify({ ...done, rejected });
  };
  return JSON.parse((await writeOnce(store, script, options)).data) as TableImport;
}
