/** Matches the columns of a CSV file with fields, and takes from its rows the cells that an import needs. */
import type { Field, RecordType } from '../rules/fields.ts';
import { hasText, type CsvRow } from './csv-reader.ts';

type KnownFields = ReadonlyMap<string, Pick<Field, 'name' | 'type'>>;

/** Returns the name of each column's field, or ''. Columns that `chosen` does not have are named like their field. */
export const matchColumns = (
  head: readonly string[],
  known: KnownFields,
  chosen: ReadonlyMap<string, string>,
): string[] => head.map((column) => chosen.get(column) ?? known.get(column.trim().toUpperCase())?.name ?? '');

const DECIMAL_COMMA = /^-?\d{1,3}(\.?\d{3})*,\d+$/;

/**
 * Makes the function that returns the cells of `names` from a row, or undefined for a row without text in any of them.
 * It needs every row in order, also those with a fault: a line without LINE_NUMBER gets its place among the rows of its
 * order, so that it has the same number whenever the file is imported.
 */
export function makeRowFitter(
  fields: readonly string[],
  known: KnownFields,
  recordType: RecordType,
  separator?: string,
) {
  const used = fields.flatMap((name, column) => (name ? column : []));
  const names = fields.filter(Boolean);
  if (recordType === 'lines' && !names.includes('LINE_NUMBER')) names.push('LINE_NUMBER');
  const placeAt = names.indexOf('LINE_NUMBER');
  const lastPlaces = new Map<string, number>();
  /** Whether the order of a row before cannot be read, so that no place is certain. */
  let isLost = false;
  const fit = (row: CsvRow): string[] | undefined => {
    const cells = used.map((column) => {
      const cell = row.cells[column] ?? '';
      const isNumber = separator === ';' && known.get(fields[column]!)?.type === 'number';
      return isNumber && DECIMAL_COMMA.test(cell) ? cell.replaceAll('.', '').replace(',', '.') : cell;
    });
    if (row.fault === undefined && !cells.some(hasText)) return undefined;
    if (recordType !== 'lines') return cells;
    const order = cells[names.indexOf('ORDER_NUMBER')] ?? '';
    isLost ||= row.fault !== undefined && order === '';
    const last = lastPlaces.get(order) ?? 0;
    const place = Number(cells[placeAt] || last + 1);
    lastPlaces.set(order, Math.max(last, place || 0));
    cells[placeAt] ||= isLost ? 'unknown' : String(place);
    return cells;
  };
  return { names, fit };
}
