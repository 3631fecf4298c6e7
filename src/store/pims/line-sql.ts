/**
 * The statements that save a line. Each of its serial numbers has a row in LINE_SERIALS, for queries to find it.
 */
import type { FieldDictionary } from '../../pims/rules/fields.ts';
import { splitList } from '../../pims/rules/lists.ts';
import { FILTER_VALUE_CHARACTERS_MAX } from '../../pims/rules/record-bounds.ts';
import { changedNames, isLonger, sortKeyOfLine, type Values } from '../../pims/rules/values.ts';
import { statement, type Bound, type Statement } from '../sql/writing.ts';
import { buildInsert, buildUpdate, listValues, newLockCode, type ScriptDialect } from './row-sql.ts';

/** Returns the serial numbers of a line that a filter can have as its value. */
const serialsOf = ({ SERIAL_NUMBERS = '' }: Values): ReadonlySet<string> =>
  new Set(splitList(SERIAL_NUMBERS).filter((serial) => !isLonger(serial, FILTER_VALUE_CHARACTERS_MAX)));

/** Builds the statement that inserts a line, without its serial numbers. */
export function buildLineInsert(
  dictionary: FieldDictionary,
  { table, lineColumns }: ScriptDialect,
): (line: Values) => Statement {
  const names = [...dictionary.keys()];
  const numberAt = names.indexOf('LINE_NUMBER');
  const others = Object.keys(lineColumns(dictionary, {}));
  const insertRow = buildInsert(table('ORDER_LINEITEMS'), ['SORT_KEY', ...names, ...others]);
  return (line) => {
    const values: Bound[] = listValues(names, line);
    values[numberAt] = Number(line['LINE_NUMBER']);
    return insertRow([sortKeyOfLine(line), ...values, ...Object.values(lineColumns(dictionary, line))]);
  };
}

export function buildLineSaves(dictionary: FieldDictionary, dialect: ScriptDialect) {
  const { table, lineColumns } = dialect;
  const [lines, serials] = [table('ORDER_LINEITEMS'), table('LINE_SERIALS')];
  const insertRow = buildLineInsert(dictionary, dialect);
  const insertSerial = buildInsert(serials, ['SERIAL', 'LINE_KEY'], ['SERIAL', 'LINE_KEY']);
  const remove = `DELETE FROM ${serials} WHERE "SERIAL" = ? AND "LINE_KEY" = ?`;
  const removeLine = `DELETE FROM ${lines} WHERE "SORT_KEY" = ?`;
  const saveSerials = (line: Values, before: Values, after: Values): Statement[] => {
    if ((before['SERIAL_NUMBERS'] ?? '') === (after['SERIAL_NUMBERS'] ?? '')) return [];
    const [old, now] = [serialsOf(before), serialsOf(after)];
    return [
      ...Array.from(old.difference(now), (serial) => statement(remove, serial, sortKeyOfLine(line))),
      ...Array.from(now.difference(old), (serial) => insertSerial([serial, sortKeyOfLine(line)])),
    ];
  };
  return {
    insertLine(line: Values): readonly Statement[] {
      line['LINE_REF_LOCK_CODE'] ||= newLockCode();
      return [insertRow(line), ...saveSerials(line, {}, line)];
    },
    updateLine(line: Values, change: Values): readonly Statement[] {
      const changed = changedNames(line, change);
      if (changed.length === 0) return [];
      const after = { ...line, ...change };
      const others = lineColumns(dictionary, after);
      const values = [...Object.values(others), ...listValues(changed, change), sortKeyOfLine(line)];
      const update = buildUpdate(lines, [...Object.keys(others), ...changed], ['SORT_KEY'], values);
      return [update, ...saveSerials(line, line, after)];
    },
    deleteLine: (line: Values): readonly Statement[] => [
      statement(removeLine, sortKeyOfLine(line)),
      ...saveSerials(line, line, {}),
    ],
  };
}
