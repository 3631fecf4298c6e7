/**
 * A script carries a write to a store. It is a generator that yields requests to load and to save, and the store runs
 * it in one transaction. Requests are data, so a script never holds a connection (decision 0027).
 * kinds-of-loads.ts and kinds-of-saves.ts say what each kind does.
 */
import type { CustomField, Dictionaries, KeyedType } from '../rules/fields.ts';
import type { LineUnits } from '../rules/stock.ts';
import type { Values } from '../rules/values.ts';
import type { Json } from '../rules/json.ts';

/** Record types whose numbers PIMS assigns. */
export type NumberedType = 'orders' | 'customers';
/** Idempotency key of a write. Repeating the write with the same key returns the first result and writes nothing. */
export interface Idempotency {
  readonly key: string;
  readonly operation: string;
  /** SHA-256 of the request in hexadecimal. The same key with another hash is refused. */
  readonly bodyHash: string;
  /** Minimum time for which the result is kept. */
  readonly keptMs: number;
}

/** Tags of which the record must have one (see the port), or `*` for any. */
export type Expected = '*' | readonly string[];

/** Requests to load, by name, with their arguments and results. Each costs one statement. */
export interface Loads extends LoadsOfMany {
  /** Returns the fields of the record, and for an order also its marks. */
  record(recordType: KeyedType, key: string): Values | undefined;
  isThere(recordType: KeyedType, key: string): boolean;
  /** Returns the tag of the record as a single read would return it now (see the port). */
  tag(recordType: KeyedType, key: string): string | undefined;
  /** Returns whether any part is at the location. */
  isLocationThere(code: string): boolean;
  /** Returns ORDER_NUMBER, ORDER_TYPE, RETURN_OF, DROP_SHIP, MODIFIED_DATE, CANCELLED_MARK and TOTALS_FIELDS. */
  orderStage(orderNumber: string): Values | undefined;
  /** Returns PART_DESCRIPTION, UNIT_PRICE, SERIALIZED and CARE_PLAN. */
  part(partCode: string): Values | undefined;
  /** Returns QTY_ONHAND, QTY_COMMITTED and SERIALIZED. */
  stock(partCode: string): Values | undefined;
  line(orderNumber: string, lockCode: string): Values | undefined;
  /** Returns the number of the order to which a partial invoice of the given order moved this line. */
  orderOfMovedLine(orderNumber: string, lockCode: string): string | undefined;
  /**
   * Returns LINE_NUMBER, QUANTITY and SERIAL_NUMBERS of the lines of the order's returns that are not void, each with
   * ORDER_NUMBER, SUBTOTAL, TAX_TOTAL and ORDER_TOTAL of its return.
   */
  returnedLines(orderNumber: string): Values[];
  /** Returns the lines sorted by LINE_NUMBER. */
  lines(orderNumber: string): Values[];
  /** Returns the units that the lines commit while the order holds stock. */
  unitsOfLines(orderNumber: string): LineUnits[];
  /** Returns the highest LINE_NUMBER, or 0 if the order has no lines. */
  lastLineNumber(orderNumber: string): number;
  /** Returns the number of lines, counted up to LINES_MAX. */
  lineCount(orderNumber: string): number;
  /** Returns the next number and increments the counter, so that no number is assigned twice. */
  nextNumber(recordType: NumberedType): string;
  /** Returns at most this many of the serial numbers in stock, sorted. */
  serialsInStock(partCode: string, most: number): readonly KeptSerial[];
  keptAnswer(operation: string, key: string): { readonly bodyHash: string; readonly data: Json } | undefined;
}

/**
 * A record that an operation or a command changed, who did it, and the changed fields of a record that existed before.
 * A change to a line counts as a change to its order.
 */
export type ChangedRecord = readonly [
  type: KeyedType,
  key: string,
  change: 'created' | 'updated',
  operation: string,
  by: string,
  changes: FieldChange[],
];
/** A changed field. `line` is the LINE_NUMBER of a new, changed or removed line. Long values are cut. */
export type FieldChange = [field: string, before: string, after: string, line?: string];

/**
 * A serial number of a part, and the invoice that sold its unit, or the return that did not put it back in stock, or ''
 * while the unit is in stock.
 */
export type KeptSerial = readonly [partCode: string, serial: string, orderNumber: string];

/** A row of the ledger without its number: a movement of QTY_ONHAND, and QTY_ONHAND after it. */
export interface LedgerRow {
  readonly PART_CODE: string;
  readonly AT: string;
  readonly KIND: MovementKind;
  readonly QUANTITY: string;
  readonly AFTER: string;
  readonly REASON: string;
  /** Email address, name of a pair of keys, `command line`, or `import` for an import by command. */
  readonly DONE_BY: string;
  readonly ORDER_NUMBER: string;
  readonly SERIALS: string;
}
export const MOVEMENT_KINDS = ['received', 'counted', 'adjusted', 'sold', 'returned', 'imported'] as const;
type MovementKind = (typeof MOVEMENT_KINDS)[number];

/** Requests to load many records at once, each with one statement. */
export interface LoadsOfMany {
  /** Returns the keys that exist. */
  areThere(recordType: KeyedType, keys: readonly string[]): readonly string[];
  /**
   * Returns ORDER_NUMBER, ORDER_TYPE, RETURN_OF, DROP_SHIP, CANCELLED_MARK, TOTALS_FIELDS and the highest LINE_NUMBER,
   * which is '0' if the order has no lines.
   */
  ordersOfLines(orderNumbers: readonly string[]): readonly Values[];
  /** Returns the indexes in `lines` of the lines that exist. */
  areLinesThere(lines: readonly LineName[]): readonly number[];
  /** Returns PART_CODE, PART_DESCRIPTION and CARE_PLAN. */
  parts(partCodes: readonly string[]): readonly Values[];
  /** Returns PART_CODE, QTY_ONHAND and QTY_COMMITTED. */
  stocks(partCodes: readonly string[]): readonly Values[];
  /** Returns PART_CODE and QUANTITY of every line that commits stock of these parts. */
  commitments(partCodes: readonly string[]): readonly (readonly [partCode: string, quantity: string])[];
  /** Returns which of these serial numbers are kept. Ignores the order numbers in the list. */
  serials(serials: readonly KeptSerial[]): readonly KeptSerial[];
  /** Returns the next number without incrementing the counter. */
  counter(recordType: NumberedType): number;
}

/** Name of a line: its order, then its LINE_NUMBER and '', or 0 and its LINE_REF_LOCK_CODE. */
export type LineName = readonly [orderNumber: string, lineNumber: number, lockCode: string];

/** Requests to save, by name. They are sent in order and have no result. */
export interface Saves {
  insert(recordType: KeyedType, record: Values): void;
  /** Saves the fields that differ from the current record. */
  update(recordType: KeyedType, record: Values, change: Values): void;
  /** Inserts a line, and assigns a LINE_REF_LOCK_CODE if it has none. */
  insertLine(line: Values): void;
  updateLine(line: Values, change: Values): void;
  deleteLine(line: Values): void;
  /** Makes the counter continue after this number, unless it is already higher. */
  raiseCounter(recordType: NumberedType, number: bigint): void;
  /** Keeps the result of a write, and deletes some results that were kept long enough. */
  keepAnswer(idempotency: Idempotency, data: Json, now: string): void;
  addField(field: CustomField): void;
  /** Adds movements to the ledger, each with the next number of its part. */
  recordMovements(rows: readonly LedgerRow[]): void;
  /** Adds the first movements of new parts to the ledger. */
  openLedger(rows: readonly LedgerRow[]): void;
  /** Keeps serial numbers with the invoices that sold their units. */
  saveSerials(serials: readonly KeptSerial[]): void;
  deleteSerials(serials: readonly KeptSerial[]): void;
  recordChanges(changed: readonly ChangedRecord[], now: string): void;
  /** Deletes some changes from before this time, but never the newest. */
  deleteChanges(before: string): void;
  insertAll(recordType: KeyedType, records: readonly Values[]): void;
  /** Inserts lines. Their orders get a new version too. */
  insertLines(lines: readonly Values[]): void;
  /** Updates parts, each from and to its PART_CODE, the three quantities and MODIFIED_DATE. */
  updateStocks(parts: readonly (readonly [before: Values, after: Values])[]): void;
}

type Request<Kind, Requests> = {
  [Name in keyof Requests]: {
    readonly kind: Kind;
    readonly name: Name;
    readonly args: Requests[Name] extends (...args: infer Args) => unknown ? Args : never;
  };
}[keyof Requests];
/** A request to load. `ahead` lists the likely next loads, which a remote store may run at the same time. */
export type Load = Request<'load', Loads> & { readonly ahead?: readonly Load[] };
export type Save = Request<'save', Saves>;

/** A write as a generator of requests. If it throws a Refusal, the store undoes everything that it has saved. */
export type Script<T> = Generator<Load | Save, T, unknown>;

/**
 * Makes a script from the dictionaries of a transaction. The script may start early, because it only parses before its
 * first request.
 */
export type Write<T> = (dictionaries: Dictionaries) => Script<T>;

/** Makes a request to load, such as `requestLoad('record', 'orders', '10248')`. */
export const requestLoad = <Name extends keyof Loads>(name: Name, ...args: Parameters<Loads[Name]>) =>
  ({ kind: 'load', name, args }) as Load;

/** Loads a value: `yield* loadValue('record', 'orders', '10248')` returns the order, or undefined. */
export function* loadValue<Name extends keyof Loads>(
  name: Name,
  ...args: Parameters<Loads[Name]>
): Script<ReturnType<Loads[Name]>> {
  return (yield requestLoad(name, ...args)) as ReturnType<Loads[Name]>;
}

/** Loads a value as `loadValue` does, and names the likely next loads. */
export function* loadWith<Name extends keyof Loads>(
  ahead: readonly Load[],
  name: Name,
  ...args: Parameters<Loads[Name]>
): Script<ReturnType<Loads[Name]>> {
  return (yield { ...requestLoad(name, ...args), ahead }) as ReturnType<Loads[Name]>;
}

/** Makes a request to save, such as `yield requestSave('deleteLine', line)`. */
export const requestSave = <Name extends keyof Saves>(name: Name, ...args: Parameters<Saves[Name]>) =>
  ({ kind: 'save', name, args }) as Save;

/** Runs a script and saves nothing. */
export function* withoutSaves<T>(script: Script<T>): Script<T> {
  let step = script.next();
  while (!step.done) step = script.next(step.value.kind === 'load' ? yield step.value : undefined);
  return step.value;
}
