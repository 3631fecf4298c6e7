/** The statements with which a script saves. Each record has a separate statement, even if many are saved together. */
import { ofKeyedTypes, RECORD_TYPES, type Dictionaries } from '../../pims/rules/fields.ts';
import type { LedgerRow, Saves, SavesOfMany } from '../../pims/writes/script.ts';
import { sortKey, type Values } from '../../pims/rules/values.ts';
import { statement, type Bound, type Statement } from '../writing.ts';
import type { ScriptDialect } from './dialect.ts';
import { buildInsert, buildUpdate, listNames, listValues } from './row-sql.ts';
import { newLockCode, newVersion } from './random-text.ts';
import { VERSION } from './version.ts';

export type SaveSql<Of = Saves & SavesOfMany> = {
  readonly [Name in keyof Of]: Of[Name] extends (...args: infer Args) => void
    ? (...args: Args) => Iterable<Statement>
    : never;
};

const LINE_KEY = ['ORDER_NUMBER', 'LINE_NUMBER'];
const ANSWER = ['OPERATION', 'IDEMPOTENCY_KEY', 'BODY_HASH', 'ANSWER', 'CREATED_AT'];
/** The columns of a movement besides NUMBER. */
export const LEDGER_ROW = [
  'PART_CODE',
  'AT',
  'KIND',
  'QUANTITY',
  'AFTER',
  'REASON',
  'DONE_BY',
  'ORDER_NUMBER',
  'SERIALS',
] as const;
const STOCK = ['QTY_ONHAND', 'QTY_COMMITTED', 'QTY_AVAILABLE', 'MODIFIED_DATE'];
/**
 * The number of expired responses to delete whenever one is kept, so that they never pile up and no write waits long.
 */
const EXPIRED_PER_WRITE = 20;
const CHANGES_PER_DELETION = 1000;

export function buildSaves(dictionaries: Dictionaries, dialect: ScriptDialect): SaveSql {
  const lines = dialect.table('ORDER_LINEITEMS');
  const [counters, answers] = [dialect.table('COUNTERS'), dialect.table('IDEMPOTENCY')];
  const insert = ofKeyedTypes((recordType) => {
    const insertRecord = dialect.insertRecord(recordType, dictionaries[recordType]);
    return (record: Values) => insertRecord(sortKey(record[RECORD_TYPES[recordType].key]!), record, newVersion());
  });
  const update = ofKeyedTypes((recordType) => dialect.updateRecord(recordType, dictionaries[recordType]));
  const lineNames = [...dictionaries.lines.keys()];
  const lineNumberAt = lineNames.indexOf('LINE_NUMBER');
  const insertRow = buildInsert(lines, lineNames, LINE_KEY);
  const insertLine = (line: Values) => {
    line['LINE_REF_LOCK_CODE'] ||= newLockCode();
    const values: Bound[] = listValues(lineNames, line);
    values[lineNumberAt] = Number(line['LINE_NUMBER']);
    return insertRow(values);
  };
  const keepBackorder = buildInsert(dialect.table('BACKORDERS'), ['ORDER_NUMBER', 'BACKORDER']);
  const keepAnswer = buildInsert(answers, ANSWER, ANSWER.slice(0, 2));
  const deleteOldAnswers = `DELETE FROM ${answers} WHERE ("OPERATION", "IDEMPOTENCY_KEY") IN
    (SELECT "OPERATION", "IDEMPOTENCY_KEY" FROM ${answers} WHERE "CREATED_AT" < ? LIMIT ${EXPIRED_PER_WRITE})`;
  const addCustomField = buildInsert(dialect.table('CUSTOM_FIELDS'), ['RECORD_TYPE', 'NAME', 'TYPE']);
  const changes = dialect.table('CHANGES');
  const recordChanges = `INSERT INTO ${changes}
    SELECT coalesce(max("SEQ"), 0) + ?, coalesce(max("SEQ"), 0), ?, ? FROM ${changes}`;
  const deleteChanges = `DELETE FROM ${changes} WHERE "AT" < ? AND "SEQ" < (SELECT max("SEQ") FROM ${changes})
    AND "SEQ" IN (SELECT "SEQ" FROM ${changes} ORDER BY "SEQ" LIMIT ${CHANGES_PER_DELETION})`;
  const moveVersions = `UPDATE ${dialect.table('ORDERS')} SET "${VERSION}" = ? WHERE "SORT_KEY" IN (${dialect.list})`;
  return {
    insert: (recordType, record) => insert[recordType](record),
    *insertAll(recordType, records) {
      for (const record of records) yield* insert[recordType](record);
    },
    update(recordType, record, change) {
      const key = sortKey(record[RECORD_TYPES[recordType].key]!);
      return update[recordType](key, changedNames(record, change), { ...record, ...change });
    },
    *updateStocks(parts) {
      for (const part of parts) yield* update.inventory(sortKey(part['PART_CODE']!), STOCK, part);
    },
    insertLine: (line) => [insertLine(line)],
    *insertLines(these) {
      for (const line of these) yield insertLine(line);
      const orders = new Set(these.map((line) => sortKey(line['ORDER_NUMBER']!)));
      if (orders.size > 0) yield statement(moveVersions, newVersion(), JSON.stringify([...orders]));
    },
    updateLine(line, change) {
      const names = changedNames(line, change);
      if (names.length === 0) return [];
      const values = [...listValues(names, change), line['ORDER_NUMBER']!, Number(line['LINE_NUMBER'])];
      return [buildUpdate(lines, names, LINE_KEY, values)];
    },
    deleteLines: (orderNumber) => [statement(`DELETE FROM ${lines} WHERE "ORDER_NUMBER" = ?`, orderNumber)],
    keepBackorder: (...numbers) => [keepBackorder(numbers)],
    raiseCounter: (recordType, number) => [
      statement(
        `UPDATE ${counters} SET "NEXT" = ? WHERE "NAME" = ? AND "NEXT" < ?`,
        number + 1n,
        recordType,
        number + 1n,
      ),
    ],
    keepAnswer: ({ operation, key, bodyHash, keptMs }, data, now) => [
      { ...statement(deleteOldAnswers, new Date(Date.parse(now) - keptMs).toISOString()), commutes: true },
      keepAnswer([operation, key, bodyHash, data, now]),
    ],
    addField: ({ recordType, name, type }) => [
      statement(
        `ALTER TABLE ${dialect.table(RECORD_TYPES[recordType].table)} ADD COLUMN "${name}" ${dialect.fieldType}`,
      ),
      addCustomField([recordType, name, type]),
      ...dialect.fieldsChanged,
    ],
    ...buildLedgerSaves(dialect),
    recordChanges: (changed, now) => [statement(recordChanges, changed.length, now, JSON.stringify(changed))],
    deleteChanges: (before) => [statement(deleteChanges, before)],
  };
}

function buildLedgerSaves({ table }: ScriptDialect): Pick<SaveSql, 'recordMovements' | 'openLedger' | 'saveSerials'> {
  const movements = table('MOVEMENTS');
  const places = LEDGER_ROW.map((_, at) => `?${at + 1}`).join(', ');
  const recordMovement = `INSERT INTO ${movements} (${listNames(LEDGER_ROW)}, "NUMBER")
    SELECT ${places}, coalesce(max("NUMBER"), 0) + 1 FROM ${movements} WHERE "PART_CODE" = ?1`;
  const openLedger = buildInsert(movements, [...LEDGER_ROW, 'NUMBER'], ['PART_CODE']);
  const rowOf = (row: LedgerRow) => LEDGER_ROW.map((name) => row[name]);
  const saveSerial = `INSERT INTO ${table('SERIALS')} ("PART_CODE", "SERIAL", "ORDER_NUMBER") VALUES (?, ?, ?)
    ON CONFLICT ("PART_CODE", "SERIAL") DO UPDATE SET "ORDER_NUMBER" = excluded."ORDER_NUMBER"`;
  return {
    recordMovements: (rows) => rows.map((row) => statement(recordMovement, ...rowOf(row))),
    openLedger: (rows) => rows.map((row) => openLedger([...rowOf(row), 1])),
    saveSerials: (serials) => serials.map((serial) => statement(saveSerial, ...serial)),
  };
}

const changedNames = (record: Values, change: Values) =>
  Object.keys(change).filter((name) => change[name] !== record[name]);
