/**
 * How a write reaches a store: a script is a generator that yields requests, first what to load, then what to save.
 * The store runs it inside one transaction. Requests are data, so a script never holds a connection (decision 0027).
 */
import type { CustomField, Dictionaries, KeyedType } from '../rules/fields.ts';
import type { Values } from '../rules/values.ts';

/** The record types PIMS numbers. */
export type NumberedType = 'orders' | 'customers';
/** A record, or a list of records, as the JSON text that goes out. */
export type Json = string;
/** JSON as a text, or as UTF-8 where it may be large: bytes cost the event loop nothing. */
export type Rendered = Json | Uint8Array;

export const textOf = (json: Rendered): Json => (typeof json === 'string' ? json : Buffer.from(json).toString());

/** A list of these. Bytes stay bytes. */
export const joinList = (items: readonly Rendered[]): Rendered =>
  items.every((item) => typeof item === 'string')
    ? `[${items.join(',')}]`
    : Buffer.concat(['[', ...items.flatMap((item, at) => (at > 0 ? [',', item] : [item])), ']'].map(bytesOf));
const bytesOf = (json: Rendered): Uint8Array => (typeof json === 'string' ? Buffer.from(json) : json);

/** Repeating a write with the same key answers the same without writing again. */
export interface Idempotency {
  readonly key: string;
  readonly operation: string;
  /** SHA-256 of what was asked, hex: the same key with another hash is refused. */
  readonly bodyHash: string;
  /** The answer is kept at least this long. */
  readonly keptMs: number;
}

/** The tags of which a record has one now (see the port), or `*` for any. */
export type Expected = '*' | readonly string[];

/** What a script can load, by name: its arguments and its answer. Each costs one statement. */
export interface Loads {
  /** Of an order also whether it is cancelled. */
  record(recordType: KeyedType, key: string): Values | undefined;
  isThere(recordType: KeyedType, key: string): boolean;
  /** Stands for what a single read answers now; see the port. */
  tag(recordType: KeyedType, key: string): string | undefined;
  /** Whether a part lies at the location. */
  isLocationThere(code: string): boolean;
  /** ORDER_NUMBER, ORDER_TYPE, DROP_SHIP, MODIFIED_DATE and whether it is cancelled. */
  orderStage(orderNumber: string): Values | undefined;
  /** PART_DESCRIPTION, UNIT_PRICE and CARE_PLAN. */
  part(partCode: string): Values | undefined;
  /** QTY_ONHAND and QTY_COMMITTED. */
  stock(partCode: string): Values | undefined;
  line(orderNumber: string, lockCode: string): Values | undefined;
  /** The order that has this line now, where a partial invoice of the order named left it open. */
  orderOfMovedLine(orderNumber: string, lockCode: string): string | undefined;
  /** In the order of their numbers. */
  lines(orderNumber: string): Values[];
  /** What the lines of the order commit where it commits stock. */
  unitsOfLines(orderNumber: string): LineUnits[];
  /** 0 when the order has no lines. */
  lastLineNumber(orderNumber: string): number;
  /** How many lines the order has, counted up to LINES_MAX. */
  lineCount(orderNumber: string): number;
  /** Counts up, so that no number is given twice. */
  nextNumber(recordType: NumberedType): string;
  keptAnswer(operation: string, key: string): { readonly bodyHash: string; readonly data: Json } | undefined;
}

/** The QUANTITY of a part that so many lines of an order have. */
export type LineUnits = readonly [partCode: string, quantity: string, lines: number];

/** What a script can load of many records at once, each with one statement. */
export interface LoadsOfMany {
  /** Which of the keys there are. */
  areThere(recordType: KeyedType, keys: readonly string[]): readonly string[];
  /**
   * ORDER_NUMBER, ORDER_TYPE, DROP_SHIP, whether it is cancelled, and the last LINE_NUMBER, '0' when the order has no
   * lines.
   */
  ordersOfLines(orderNumbers: readonly string[]): readonly Values[];
  /** Which of these lines there are, by their place in the list: one with this number, or else with this lock code. */
  areLinesThere(lines: readonly LineName[]): readonly number[];
  /** PART_CODE, PART_DESCRIPTION and CARE_PLAN. */
  parts(partCodes: readonly string[]): readonly Values[];
  /** PART_CODE, QTY_ONHAND and QTY_COMMITTED. */
  stocks(partCodes: readonly string[]): readonly Values[];
  /** PART_CODE and QUANTITY of every line that commits stock of these parts. */
  commitments(partCodes: readonly string[]): readonly (readonly [partCode: string, quantity: string])[];
  /** What the counter gives next. It stays as it is. */
  counter(recordType: NumberedType): number;
}

/** Names a line by its LINE_NUMBER, or by its LINE_REF_LOCK_CODE. */
export type LineName = readonly [orderNumber: string, lineNumber: number, lockCode: string];

/** What a script can save, by name. Saves are sent in their order and answer nothing. */
export interface Saves {
  insert(recordType: KeyedType, record: Values): void;
  /** Saves what differs from the record as it stands. */
  update(recordType: KeyedType, record: Values, change: Values): void;
  /** Gives the line a LINE_REF_LOCK_CODE where it has none. */
  insertLine(line: Values): void;
  updateLine(line: Values, change: Values): void;
  deleteLines(orderNumber: string): void;
  /** Keeps which order a partial invoice left, so that its lines are found under their old order. */
  keepBackorder(orderNumber: string, backorder: string): void;
  /** Numbers go on after this one. */
  raiseCounter(recordType: NumberedType, number: bigint): void;
  /** Also deletes some answers that were kept long enough. */
  keepAnswer(idempotency: Idempotency, data: Json, now: string): void;
  addField(field: CustomField): void;
}

/** What a script can save of many records at once. */
export interface SavesOfMany {
  insertAll(recordType: KeyedType, records: readonly Values[]): void;
  /** The lines' orders change with them. */
  insertLines(lines: readonly Values[]): void;
  /** Each part has PART_CODE, the three quantities and MODIFIED_DATE. */
  updateStocks(parts: readonly Values[]): void;
}

type Request<Kind, Requests> = {
  [Name in keyof Requests]: {
    readonly kind: Kind;
    readonly name: Name;
    readonly args: Requests[Name] extends (...args: infer Args) => unknown ? Args : never;
  };
}[keyof Requests];
type AnyLoads = Loads & LoadsOfMany;
type AnySaves = Saves & SavesOfMany;
/** `ahead`: what is likely loaded next, which a store far away may load along with this. */
export type Load = Request<'load', AnyLoads> & { readonly ahead?: readonly Load[] };
export type Save = Request<'save', AnySaves>;

/** What throws a Refusal has written nothing: the store undoes what was saved before. */
export type Script<T> = Generator<Load | Save, T, unknown>;

/** Makes a script for the dictionaries of a transaction. Until its first request it only parses: it may start early. */
export type Write<T> = (dictionaries: Dictionaries) => Script<T>;

/** `ask('record', 'orders', '10248')` names the order. */
export const ask = <Name extends keyof AnyLoads>(name: Name, ...args: Parameters<AnyLoads[Name]>): Load =>
  ({ kind: 'load', name, args }) as Load;

/** `yield* load('record', 'orders', '10248')` gives the order, or undefined. */
export function* load<Name extends keyof AnyLoads>(
  name: Name,
  ...args: Parameters<AnyLoads[Name]>
): Script<ReturnType<AnyLoads[Name]>> {
  return (yield ask(name, ...args)) as ReturnType<AnyLoads[Name]>;
}

/** The same, and says what is likely loaded next. */
export function* loadWith<Name extends keyof AnyLoads>(
  ahead: readonly Load[],
  name: Name,
  ...args: Parameters<AnyLoads[Name]>
): Script<ReturnType<AnyLoads[Name]>> {
  return (yield { ...ask(name, ...args), ahead }) as ReturnType<AnyLoads[Name]>;
}

/** `yield save('deleteLines', '10248')`. */
export const save = <Name extends keyof AnySaves>(name: Name, ...args: Parameters<AnySaves[Name]>): Save =>
  ({ kind: 'save', name, args }) as Save;
