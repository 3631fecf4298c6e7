/**
 * Which saves change which loads, and how. The invariant, which test/store/postgres-writes.test.ts checks: after a
 * save, the value of a load is either FORGOTTEN or the one that the database would return.
 */
import { RECORD_TYPES, type Dictionaries, type KeyedType } from '../../../pims/rules/fields.ts';
import type { LineUnits, Load, Save } from '../../../pims/writes/script.ts';
import { CANCELLED_MARK } from '../../../pims/rules/stages.ts';
import { TOTALS_MARK } from '../../../pims/rules/totals.ts';
import { sortKey, type Values } from '../../../pims/rules/values.ts';
import { complete } from '../../../pims/writes/writes.ts';

/**
 * The values loaded from one source, by the name and arguments of the load. A source is a record, the lines of an
 * order, all locations, or the orders that partial invoices left. A load depends on one source; a save affects some.
 */
export type Loaded = Map<string, LoadedValue>;
export interface LoadedValue {
  readonly load: Load;
  readonly value: unknown;
}

const LOCATIONS = 'locations';
/** The columns of an order that are not fields. */
const MARKS = [CANCELLED_MARK, TOTALS_MARK];
const BACKORDERS = 'backorders';
const recordOf = (recordType: KeyedType, key: string): string => `${recordType} ${sortKey(key)}`;
const linesOf = (orderNumber: string): string => `lines ${orderNumber}`;
const answerOf = (operation: string, key: string): string => `answer ${operation} ${key}`;

/** Returns the source of a load, or undefined if it has more than one. */
export function sourceOf(load: Load): string | undefined {
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
    case 'orderOfMovedLine':
      return BACKORDERS;
    case 'keptAnswer':
      return answerOf(...load.args);
    case 'areThere':
    case 'ordersOfLines':
    case 'areLinesThere':
    case 'parts':
    case 'stocks':
    case 'commitments':
    case 'counter':
    case 'nextNumber':
      return undefined;
    default:
      return linesOf(load.args[0]);
  }
}

/** Returns the sources that a save affects, or undefined if they are not known. */
export function affectedBy(save: Save): readonly string[] | undefined {
  switch (save.name) {
    case 'insert':
    case 'update': {
      const [recordType, record] = save.args;
      const source = recordOf(recordType, record[RECORD_TYPES[recordType].key]!);
      const isMoved = save.name === 'insert' || save.args[2]['LOCATION_CODE'] !== undefined;
      return recordType === 'inventory' && isMoved ? [source, LOCATIONS] : [source];
    }
    case 'insertLine':
    case 'updateLine':
      return [linesOf(save.args[0]['ORDER_NUMBER']!)];
    case 'deleteLines':
      return [linesOf(save.args[0])];
    case 'keepBackorder':
      return [BACKORDERS];
    case 'keepAnswer':
      return [answerOf(save.args[0].operation, save.args[0].key)];
    default:
      return undefined;
  }
}

/** Returns a key that identifies a load within its source. */
export const loadName = ({ name, args }: Load): string => [name, ...args].join(' ');

/** Replaces a value that has to be loaded again. */
export const FORGOTTEN = Symbol('forgotten');

/** Returns the value of a load after a save that affects its source, or FORGOTTEN. */
export function changeLoaded({ load, value }: LoadedValue, save: Save, dictionaries: Dictionaries): unknown {
  switch (save.name) {
    case 'insert': {
      const [recordType, record] = save.args;
      if (load.name === 'isThere') return true;
      if (load.name !== 'record' && load.name !== 'orderStage') return FORGOTTEN;
      const whole = complete(dictionaries[recordType], record);
      if (recordType === 'orders') for (const mark of MARKS) whole[mark] = record[mark] ?? '';
      return whole;
    }
    case 'update':
      if (load.name === 'isThere') return value;
      return isRecord(value) ? changeValues(value, save.args[2]) : FORGOTTEN;
    case 'insertLine': {
      const [line] = save.args;
      if (load.name === 'lastLineNumber') return Math.max(value as number, Number(line['LINE_NUMBER']));
      if (load.name === 'line') return isNamed(line, load.args[1]) ? complete(dictionaries.lines, line) : value;
      if (load.name === 'lines') return [...(value as Values[]), complete(dictionaries.lines, line)];
      return load.name === 'unitsOfLines' ? [...(value as LineUnits[]), ...unitsOf(line)] : FORGOTTEN;
    }
    case 'updateLine': {
      const [line, change] = save.args;
      if (load.name === 'lastLineNumber' || load.name === 'lineCount') return value;
      if (load.name !== 'line') return FORGOTTEN;
      return isRecord(value) && isNamed(line, load.args[1]) ? { ...value, ...change } : value;
    }
    default:
      return FORGOTTEN;
  }
}

/** Applies a save to everything that was loaded from a source. */
export function changeAll(loaded: Loaded, save: Save, dictionaries: Dictionaries): void {
  for (const [name, known] of loaded) {
    const value = changeLoaded(known, save, dictionaries);
    if (value === FORGOTTEN) loaded.delete(name);
    else loaded.set(name, { load: known.load, value });
  }
}

/** Returns the value of a load from an empty source, or undefined if it is not known. */
export function loadNothing({ name }: Load): { value: unknown } | undefined {
  if (name === 'isThere') return { value: false };
  if (name === 'record' || name === 'orderStage' || name === 'line') return { value: undefined };
  if (name === 'lastLineNumber' || name === 'lineCount') return { value: 0 };
  return name === 'lines' || name === 'unitsOfLines' ? { value: [] } : undefined;
}

/** Returns the empty source of a new record, which is the lines of a new order. */
export const sourceOfNew = (save: Save): string | undefined =>
  save.name === 'insert' && save.args[0] === 'orders' ? linesOf(save.args[1]['ORDER_NUMBER']!) : undefined;

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
