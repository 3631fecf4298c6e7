/**
 * What requests of scripts have to do with each other: a load depends on a source, a save affects sources. A source is
 * a record, the lines of an order, all locations, or which orders partial invoices left.
 */
import { RECORD_TYPES, type KeyedType } from '../../pims/fields.ts';
import type { Load, Save } from '../../pims/script.ts';
import { sortKey, type Values } from '../../pims/values.ts';

/** What was loaded from a source, by the name and arguments of the load. */
export type Loaded = Map<string, unknown>;

const LOCATIONS = 'locations';
const BACKORDERS = 'backorders';
const recordOf = (recordType: KeyedType, key: string): string => `${recordType} ${sortKey(key)}`;
const counterOf = (recordType: KeyedType): string => `counter ${recordType}`;
const linesOf = (orderNumber: string): string => `lines ${orderNumber}`;
const answerOf = (operation: string, key: string): string => `answer ${operation} ${key}`;

/** Undefined when it depends on more than one. */
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
    case 'nextNumber':
      return counterOf(load.args[0]);
    case 'areThere':
    case 'ordersOfLines':
    case 'areLinesThere':
    case 'parts':
    case 'stocks':
    case 'commitments':
    case 'counter':
      return undefined;
    default:
      return linesOf(load.args[0]);
  }
}

/** Undefined when it affects more than one can tell. */
export function affectedBy(save: Save): readonly string[] | undefined {
  switch (save.name) {
    case 'insert':
    case 'update': {
      const [recordType, record] = save.args;
      const source = recordOf(recordType, record[RECORD_TYPES[recordType].key]!);
      return recordType === 'inventory' ? [source, LOCATIONS] : [source];
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
    case 'raiseCounter':
      return [counterOf(save.args[0])];
    default:
      return undefined;
  }
}

/** Tells the loads of a source apart. */
export const loadName = ({ name, args }: Load): string => [name, ...args].join(' ');

/** Brings what was loaded from a source up to date with a save that affects it, or forgets it. */
export function changeLoaded(loaded: Loaded, save: Save): void {
  for (const [load, value] of loaded)
    if (save.name === 'update' && typeof value === 'object' && !Array.isArray(value))
      loaded.set(load, changeValues(value as Values, save.args[2]));
    else if (save.name === 'insertLine' && load.startsWith('lastLineNumber'))
      loaded.set(load, Math.max(value as number, Number(save.args[0]['LINE_NUMBER'])));
    else if (save.name !== 'update' || value !== true) loaded.delete(load);
}

function changeValues(values: Values, change: Values): Values {
  const changed = { ...values };
  for (const name in values) if (change[name] !== undefined) changed[name] = change[name];
  return changed;
}
