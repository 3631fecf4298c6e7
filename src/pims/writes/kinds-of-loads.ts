/**
 * Describes each kind of load by its source and its value after a save, so that a store with loaded values needs no
 * rule. A property in test/store/postgres-writes.test.ts compares each value with what the database returns.
 */
import type { Dictionaries, FieldDictionary, KeyedType } from '../rules/fields.ts';
import { CANCELLED_MARK } from '../rules/stages.ts';
import { UNSTOCKED_MARK } from '../rules/stock.ts';
import { TOTALS_FIELDS, TOTALS_MARK } from '../rules/totals.ts';
import { complete, sortKey, type Values } from '../rules/values.ts';
import type { Loads, Saves, Load, Save } from './script.ts';

/**
 * The sources of loads, each with the saves that change it: a record, the lines of an order, all locations, a kept
 * answer.
 */
export interface SavesOfSource {
  record: 'insert' | 'update';
  lines: 'insert' | 'insertLine' | 'updateLine' | 'deleteLine';
  locations: 'insert' | 'update';
  answer: 'keepAnswer';
}
/** The name of a source, such as `lines 10248`. */
export type Source<Kind extends keyof SavesOfSource = keyof SavesOfSource> = `${Kind} ${string}`;

export const LOCATIONS = 'locations of parts';
export const recordOf = (recordType: KeyedType, key: string) => `record ${recordType} ${sortKey(key)}` as const;
export const linesOf = (orderNumber: string) => `lines ${orderNumber}` as const;
export const answerOf = (operation: string, key: string) => `answer ${operation} ${key}` as const;

/**
 * A kind of load with one source. For each save to the source, it has a function that returns the value after it, or
 * null if only the database knows that value. Only `insert` needs no value from before.
 */
type KnownLoad<Args extends unknown[], T> = {
  [Kind in keyof SavesOfSource]: { source(...args: Args): Source<Kind> } & {
    readonly [Name in SavesOfSource[Kind]]:
      | ((
          before: Name extends 'insert' ? unknown : T,
          save: Parameters<Saves[Name]>,
          dictionaries: Dictionaries,
          args: Args,
        ) => T)
      | null;
  };
}[keyof SavesOfSource];

/** Lists the columns that `record` loads: the fields, and the marks of an order. */
export const listColumns = (recordType: KeyedType, dictionary: FieldDictionary) =>
  recordType === 'orders'
    ? [...dictionary.keys(), CANCELLED_MARK, TOTALS_MARK, UNSTOCKED_MARK]
    : [...dictionary.keys()];
/** The columns of an order on which its lines depend. */
export const ORDER_FIELDS = ['ORDER_NUMBER', 'ORDER_TYPE', 'RETURN_OF', 'DROP_SHIP', CANCELLED_MARK, ...TOTALS_FIELDS];
/** The columns that `orderStage` loads. */
export const STAGE_FIELDS = ['MODIFIED_DATE', ...ORDER_FIELDS];

const unchanged = <T>(before: T): T => before;
function withChange(before: Values | undefined, [, , change]: Parameters<Saves['update']>) {
  const changed = { ...before };
  for (const name in before) if (change[name] !== undefined) changed[name] = change[name];
  return before && changed;
}
const ofPart = {
  source: (partCode: string) => recordOf('inventory', partCode),
  insert: null,
  update: withChange,
};

/** The kinds of loads. A load with several sources is null: only the database knows its value. */
export const LOADS: {
  [Name in keyof Loads]: KnownLoad<Parameters<Loads[Name]>, ReturnType<Loads[Name]>> | null;
} = {
  record: {
    source: recordOf,
    insert: (_, [recordType, record], { [recordType]: dictionary }) =>
      complete(listColumns(recordType, dictionary), record),
    update: withChange,
  },
  isThere: { source: recordOf, insert: () => true, update: unchanged },
  tag: { source: recordOf, insert: null, update: null },
  isLocationThere: { source: () => LOCATIONS, insert: null, update: null },
  orderStage: {
    source: (orderNumber) => recordOf('orders', orderNumber),
    insert: (_, [, order]) => complete(STAGE_FIELDS, order),
    update: withChange,
  },
  part: ofPart,
  stock: ofPart,
  line: {
    source: linesOf,
    insert: () => undefined,
    insertLine: (before, [line], { lines }, [, lockCode]) =>
      line['LINE_REF_LOCK_CODE'] === lockCode ? complete(lines.keys(), line) : before,
    updateLine: (before, [line, change], _, [, lockCode]) =>
      before && line['LINE_REF_LOCK_CODE'] === lockCode ? { ...before, ...change } : before,
    deleteLine: null,
  },
  orderOfMovedLine: null,
  returnedLines: null,
  lines: {
    source: linesOf,
    insert: () => [],
    insertLine: (before, [line], { lines }) => [...before, complete(lines.keys(), line)],
    updateLine: null,
    deleteLine: null,
  },
  unitsOfLines: {
    source: linesOf,
    insert: () => [],
    insertLine: (before, [{ PART_CODE = '', QUANTITY = '', CARE_PLAN }]) =>
      CARE_PLAN === 'Y' ? before : [...before, [PART_CODE, QUANTITY, 1]],
    updateLine: null,
    deleteLine: null,
  },
  lastLineNumber: {
    source: linesOf,
    insert: () => 0,
    insertLine: (before, [line]) => Math.max(before, Number(line['LINE_NUMBER'])),
    updateLine: unchanged,
    deleteLine: null,
  },
  lineCount: { source: linesOf, insert: () => 0, insertLine: null, updateLine: unchanged, deleteLine: null },
  nextNumber: null,
  serialsInStock: null,
  keptAnswer: { source: answerOf, keepAnswer: null },
  areThere: null,
  ordersOfLines: null,
  areLinesThere: null,
  parts: null,
  stocks: null,
  commitments: null,
  serials: null,
  counter: null,
};

type AfterSave = (before: unknown, save: Save['args'], dictionaries: Dictionaries, args: Load['args']) => unknown;
type AnyLoad = { source(...args: unknown[]): Source } & Partial<Record<Save['name'], AfterSave | null>>;

/** Returns the source of a load, or undefined if it has more than one. */
export const sourceOf = ({ name, args }: Load) => (LOADS[name] as AnyLoad | null)?.source(...args);

/** A value that is known of a load. */
export interface Known {
  readonly load: Load;
  readonly value: unknown;
}

/** Returns what is known of a load after saves that change its source, or undefined if only the database knows it. */
export function changeKnown(
  load: Load,
  known: Known | undefined,
  saves: readonly Save[],
  dictionaries: Dictionaries,
): Known | undefined {
  const kind = LOADS[load.name] as AnyLoad | null;
  for (const { name, args } of saves) {
    const change = kind?.[name];
    known =
      change && (known ?? name === 'insert')
        ? { load, value: change(known?.value, args, dictionaries, load.args) }
        : undefined;
  }
  return known;
}
