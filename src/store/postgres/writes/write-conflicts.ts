/**
 * Decides which loads a save changes, and how. After a save, each known value of a load is what the database would
 * return: a property in test/store/postgres-writes.test.ts checks this.
 */
import { RECORD_TYPES, type Dictionaries, type KeyedType } from '../../../pims/rules/fields.ts';
import type { LineUnits, Load, Save } from '../../../pims/writes/script.ts';
import { CANCELLED_MARK } from '../../../pims/rules/stages.ts';
import { TOTALS_MARK } from '../../../pims/rules/totals.ts';
import { sortKey, type Values } from '../../../pims/rules/values.ts';
import { complete } from '../../../pims/writes/writes.ts';
import { STAGE_FIELDS } from '../../pims/script-sql.ts';

/**
 * Values known from one source, by the name and arguments of the load. A source is a record, the lines of an order, a
 * kept answer, or all locations. Most loads depend on one source.
 */
export type Loaded = Map<string, Known>;
export interface Known {
  readonly load: Load;
  readonly value: unknown;
}

const LOCATIONS = 'locations';
/** The columns of an order that are not fields. */
const MARKS = [CANCELLED_MARK, TOTALS_MARK];
const recordOf = (recordType: KeyedType, key: string): string => `${recordType} ${sortKey(key)}`;
const linesOf = (orderNumber: string): string => `lines ${orderNumber}`;
const answerOf = (operation: string, key: string): string => `answer ${operation} ${key}`;

/** Returns the source of a load, or null if it has more than one. */
export function sourceOf(load: Load): string | null {
  switch (load.name) {
    case 'record':
    case 'isThere':
    case 'tag': {
      const [recordType, key] = load.args;
      return recordOf(recordType, key);
    }
    case 'part':
    case 'stock':
      return recordOf('inventory', load.args[0]);
    case 'orderStage':
      return recordOf('orders', load.args[0]);
    case 'isLocationThere':
      return LOCATIONS;
    case 'keptAnswer':
      return answerOf(...load.args);
    case 'orderOfMovedLine':
    case 'areThere':
    case 'ordersOfLines':
    case 'areLinesThere':
    case 'parts':
    case 'stocks':
    case 'commitments':
    case 'serials':
    case 'serialsInStock':
    case 'counter':
    case 'nextNumber':
      return null;
    case 'line':
    case 'lines':
    case 'unitsOfLines':
    case 'lastLineNumber':
    case 'lineCount':
      return linesOf(load.args[0]);
    default:
      return load satisfies never;
  }
}

/** Returns the sources that a save changes, or null if they are not known. */
export function changedBy(save: Save): readonly string[] | null {
  switch (save.name) {
    case 'insert':
    case 'update': {
      const [recordType, record] = save.args;
      const key = record[RECORD_TYPES[recordType].key]!;
      const sources = [recordOf(recordType, key)];
      const isNew = save.name === 'insert';
      if (isNew && recordType === 'orders') sources.push(linesOf(key));
      if (recordType === 'inventory' && (isNew || save.args[2]['LOCATION_CODE'] !== undefined)) sources.push(LOCATIONS);
      return sources;
    }
    case 'insertLine':
    case 'updateLine':
    case 'deleteLine':
      return [linesOf(save.args[0]['ORDER_NUMBER']!)];
    // No load that is known by its source depends on them.
    case 'keepBackorder':
    case 'recordMovements':
    case 'openLedger':
    case 'saveSerials':
    case 'deleteSerials':
    case 'recordChanges':
      return [];
    case 'keepAnswer':
      return [answerOf(save.args[0].operation, save.args[0].key)];
    case 'insertAll':
    case 'insertLines':
    case 'updateStocks':
    case 'raiseCounter':
    case 'addField':
    case 'deleteChanges':
      return null;
    default:
      return save satisfies never;
  }
}

/** Returns a key that identifies a load within its source. */
export const loadName = ({ name, args }: Load): string => [name, ...args].join(' ');

/** Returns what is known of a load after a save that changes its source, or undefined if only the database knows it. */
export function changeKnown(
  load: Load,
  known: Known | undefined,
  save: Save,
  dictionaries: Dictionaries,
): Known | undefined {
  if (save.name === 'insert') return knowNew(load, save.args, dictionaries);
  if (!known) return undefined;
  const { value } = known;
  const become = (changed: unknown): Known => ({ load, value: changed });
  switch (save.name) {
    case 'update':
      if (load.name === 'isThere') return known;
      return isRecord(value) ? become(changeValues(value, save.args[2])) : undefined;
    case 'insertLine': {
      const [line] = save.args;
      if (load.name === 'lastLineNumber') return become(Math.max(value as number, Number(line['LINE_NUMBER'])));
      if (load.name === 'line') return isNamed(line, load.args[1]) ? become(complete(dictionaries.lines, line)) : known;
      if (load.name === 'lines') return become([...(value as Values[]), complete(dictionaries.lines, line)]);
      return load.name === 'unitsOfLines' ? become([...(value as LineUnits[]), ...unitsOf(line)]) : undefined;
    }
    case 'updateLine': {
      const [line, change] = save.args;
      if (load.name === 'lastLineNumber' || load.name === 'lineCount') return known;
      if (load.name !== 'line') return undefined;
      return isRecord(value) && isNamed(line, load.args[1]) ? become({ ...value, ...change }) : known;
    }
    default:
      return undefined;
  }
}

/** Returns what is known of a new record, and of the lines of a new order. */
function knowNew(
  load: Load,
  [recordType, record]: readonly [KeyedType, Values],
  dictionaries: Dictionaries,
): Known | undefined {
  switch (load.name) {
    case 'isThere':
      return { load, value: true };
    case 'record':
    case 'orderStage': {
      const value = complete(dictionaries[recordType], record);
      if (recordType === 'orders') for (const mark of MARKS) value[mark] = record[mark] ?? '';
      if (load.name === 'record') return { load, value };
      return { load, value: Object.fromEntries(STAGE_FIELDS.map((name) => [name, value[name]!])) };
    }
    case 'line':
      return { load, value: undefined };
    case 'lastLineNumber':
    case 'lineCount':
      return { load, value: 0 };
    case 'lines':
    case 'unitsOfLines':
      return { load, value: [] };
    default:
      return undefined;
  }
}

const isRecord = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const unitsOf = ({ PART_CODE = '', QUANTITY = '', CARE_PLAN }: Values): LineUnits[] =>
  CARE_PLAN === 'Y' ? [] : [[PART_CODE, QUANTITY, 1]];
const isNamed = (line: Values, lockCode: string): boolean => line['LINE_REF_LOCK_CODE'] === lockCode;

function changeValues(values: Values, change: Values): Values {
  const changed = { ...values };
  for (const name in values) if (change[name] !== undefined) changed[name] = change[name];
  return changed;
}
