/**
 * The writes, each from top to bottom: key, fields, load, rule, save; those of an order that is there are in
 * order-writes.ts. Each is a script that the store runs inside one transaction. A refusal undoes all of it. Source:
 * specification section 4, decision 0027.
 */
import { orThrow, Refusal, refuseField } from '../../errors.ts';
import { askExpected, checkExpected } from './expected.ts';
import { RECORD_TYPES, refuseCustomField } from '../rules/fields.ts';
import type { CustomField, Dictionaries, FieldDictionary, KeyedType } from '../rules/fields.ts';
import { FIRST_STAGES, type Stage } from '../rules/stages.ts';
import { ask, load, loadWith, save } from './script.ts';
import type { Expected, Idempotency, Json, Load, NumberedType, Script } from './script.ts';
import { applyMovement, type StockMovement } from '../rules/stock.ts';
import { refuseStatus } from '../rules/order-change.ts';
import { addLine, changeLine, checkLineCount, lineNotFound } from '../rules/line-item.ts';
import { LINES_MAX } from '../rules/record-bounds.ts';
import { areTotalsBehind, markTotals, moveTotals, sumUp } from '../rules/totals.ts';
import {
  checkText,
  parseValues,
  refuseLongKey,
  refuseMissingKey,
  type RawValue,
  type Values,
} from '../rules/values.ts';

/** The fields of a request body. */
export type Body = Readonly<Record<string, RawValue>>;

export interface WriteOptions {
  /** Time of the write, UTC ISO 8601: becomes CREATE_DATE and MODIFIED_DATE. */
  readonly now: string;
  /** Whether codes must exist in their tables (tenant setting). */
  readonly strict: boolean;
  readonly idempotency?: Idempotency | undefined;
  /** The states in which the record may be written to; without it, any. */
  readonly expected?: Expected | undefined;
}

/** What a write needs beside its body. `defaultStage`: where an order begins that sends no ORDER_TYPE. */
export type WriteContext = WriteOptions & { readonly defaultStage: Stage };

/** What a write answers: the data as JSON, e.g. `"10248"` or a line object. */
export interface Written {
  readonly data: Json;
  readonly replayed: boolean;
}

/** Counters follow numbers given from outside up to here; longer ones never meet a counter. */
const COUNTED_DIGITS_MAX = 15;
const MOVED_SINGLY_MOST = 100;

/** Data is the new order number. The order begins as the stage it sends in ORDER_TYPE, or the tenant's default. */
export function* createOrder({ orders }: Dictionaries, body: Body, context: WriteContext): Script<Json> {
  const values = parseValues(orders, 'orders', body);
  const stage = values['ORDER_TYPE'] || context.defaultStage;
  if (!FIRST_STAGES.some((first) => first === stage)) {
    const message = `ORDER_TYPE of a new order must be ${FIRST_STAGES.join(', ')}, not '${stage.slice(0, 64)}'.`;
    throw refuseField('INVALID_VALUE', 'ORDER_TYPE', message);
  }
  const refusal = refuseStatus(values);
  if (refusal) throw refusal;
  if (context.strict) yield* checkKnown(values, 'CUSTOMER_CODE', 'LOCATION_CODE');
  const orderNumber = yield* nextNumber('orders');
  const own = { ORDER_TYPE: stage, ORDER_NUMBER: orderNumber, ...markTotals(values) };
  const order = { ...values, ...own, ...createdAt(context.now) };
  yield save('insert', 'orders', order);
  return JSON.stringify(orderNumber);
}

/** Data is the CUSTOMER_CODE: the caller's own if it is free, else one PIMS assigns. */
export function* createCustomer({ customers }: Dictionaries, body: Body, { now }: WriteOptions): Script<Json> {
  const values = parseValues(customers, 'customers', body);
  const own = values['CUSTOMER_CODE'];
  if (own) yield* checkFree('customers', own);
  const code = yield* takeKey('customers', own);
  yield save('insert', 'customers', { ...values, CUSTOMER_CODE: code, ...createdAt(now) });
  return JSON.stringify(code);
}

/** Data is the CUSTOMER_CODE. */
export function* updateCustomer({ customers }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key: code, fields } = splitKey(body, 'CUSTOMER_CODE');
  const change = parseValues(customers, 'customers', fields);
  const customer = yield* loadWith(askExpected('customers', code, options), 'record', 'customers', code);
  if (!customer)
    throw refuseField('CUSTOMER_NOT_FOUND', 'CUSTOMER_CODE', `There is no customer '${code.slice(0, 64)}'.`);
  yield* checkExpected('customers', code, options);
  yield save('update', 'customers', customer, { ...change, MODIFIED_DATE: options.now });
  return JSON.stringify(code);
}

/** Data is the new line with LINE_NUMBER, NUMBER_SHIPPED 0 and its LINE_REF_LOCK_CODE. */
export function* addLineItem({ lines }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { now, strict } = options;
  const { key: orderNumber, fields } = splitKey(body, 'ORDER_NUMBER');
  const values = parseValues(lines, 'lines', fields, ['NUMBER_SHIPPED']);
  const order = yield* loadStage(orderNumber, options, [
    ask('lastLineNumber', orderNumber),
    ...askPart(values, strict),
  ]);
  if (strict) yield* checkKnown(values, 'PART_CODE');
  const { line, stock } = orThrow(addLine(order, values, yield* loadPart(values)));
  const last = yield* load('lastLineNumber', orderNumber);
  // Lines have different numbers from 1, so only behind such a number can there be so many: most writes count nothing.
  if (last >= LINES_MAX) checkLineCount(orderNumber, yield* load('lineCount', orderNumber));
  const totals = yield* loadTotals(order, undefined, line);
  const LINE_NUMBER = String(last + 1);
  const added = complete(lines, { ...line, ORDER_NUMBER: orderNumber, LINE_NUMBER, ...createdAt(now) });
  yield save('insertLine', added);
  yield* moveStock(stock, now);
  yield save('update', 'orders', order, { ...totals, MODIFIED_DATE: now });
  return JSON.stringify(added);
}

/** Data is the line as it is now. */
export function* updateLineItem({ lines }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { now, strict } = options;
  const { key: orderNumber, fields: named } = splitKey(body, 'ORDER_NUMBER');
  const { key: lockCode, fields } = splitKey(named, 'LINE_REF_LOCK_CODE');
  const change = parseValues(lines, 'lines', fields);
  const order = yield* loadStage(orderNumber, options, [
    ask('line', orderNumber, lockCode),
    ...askPart(change, strict),
  ]);
  const line = yield* load('line', orderNumber, lockCode);
  if (!line) throw lineNotFound(orderNumber, lockCode, yield* load('orderOfMovedLine', orderNumber, lockCode));
  if (strict) yield* checkKnown(change, 'PART_CODE');
  const step = orThrow(changeLine(lines, [order, line], change, yield* loadPart(change)));
  const changed = { ...step.line, MODIFIED_DATE: now };
  const totals = yield* loadTotals(order, line, changed);
  yield save('updateLine', line, changed);
  yield* moveStock(step.stock, now);
  yield save('update', 'orders', order, { ...totals, MODIFIED_DATE: now });
  return JSON.stringify(changed);
}

export function* addField(dictionaries: Dictionaries, field: CustomField): Script<void> {
  const refusal = refuseCustomField(dictionaries[field.recordType], field.name);
  if (refusal) throw refusal;
  yield save('addField', field);
}

/**
 * Does a write once for an idempotency key: keeps its answer in the same transaction, and repeats it with the key.
 * The write parses first, so a refused body never touches the key. IDEMPOTENCY_KEY_REUSED for the key of another body.
 */
export function* once(write: Script<Json>, { idempotency, now }: WriteOptions): Script<Written> {
  if (!idempotency) return { data: yield* write, replayed: false };
  let step = write.next();
  const kept = yield* load('keptAnswer', idempotency.operation, idempotency.key);
  if (kept && kept.bodyHash !== idempotency.bodyHash) throw new Refusal('IDEMPOTENCY_KEY_REUSED');
  if (kept) return { data: kept.data, replayed: true };
  while (!step.done) step = write.next(yield step.value);
  yield save('keepAnswer', idempotency, step.value, now);
  return { data: step.value, replayed: false };
}

/** Throws when a new record cannot have this key: it is too long, or another record has it. */
function* checkFree(recordType: KeyedType, code: string): Script<void> {
  const { key } = RECORD_TYPES[recordType];
  const tooLong = refuseLongKey(key, code);
  if (tooLong) throw tooLong;
  if (yield* load('isThere', recordType, code)) throw codeTaken(key, code);
}

export const codeTaken = (key: string, code: string): Refusal =>
  refuseField('CODE_TAKEN', key, `${key} '${code.slice(0, 64)}' is already in use.`);

/** The key of a new record: the caller's own, which the counter then passes over, or the next number. */
export function* takeKey(recordType: NumberedType, own: string | undefined): Script<string> {
  if (!own) return yield* nextNumber(recordType);
  if (isCounted(own)) yield save('raiseCounter', recordType, BigInt(own));
  return own;
}

/** Whether the counter passes over a code of a caller's own. */
export const isCounted = (own: string): boolean => own.length <= COUNTED_DIGITS_MAX && /^[1-9]\d*$/.test(own);

/** The next number that no record has; callers may have chosen it as their own code. */
export function* nextNumber(recordType: NumberedType): Script<string> {
  for (;;) {
    const number = yield* load('nextNumber', recordType);
    if (!(yield* load('isThere', recordType, number))) return number;
  }
}

/** For a strict tenant: throws for the first of these codes that is sent and not known. */
export function* checkKnown(
  values: Values,
  ...names: ('CUSTOMER_CODE' | 'PART_CODE' | 'LOCATION_CODE')[]
): Script<void> {
  for (const name of names) {
    const code = values[name];
    if (!code) continue;
    const isKnown =
      name === 'LOCATION_CODE'
        ? yield* load('isLocationThere', code)
        : yield* load('isThere', name === 'PART_CODE' ? 'inventory' : 'customers', code);
    if (!isKnown) throw refuseField('UNKNOWN_REFERENCE', name, `${name} '${code.slice(0, 64)}' is not known.`);
  }
}

/** Of an order what its lines depend on: no more is loaded to write one. Throws when it is in no expected state. */
function* loadStage(orderNumber: string, options: WriteOptions, ahead: readonly Load[]): Script<Values> {
  const order = yield* loadWith([...askExpected('orders', orderNumber, options), ...ahead], 'orderStage', orderNumber);
  if (!order) throw orderNotFound(orderNumber);
  yield* checkExpected('orders', orderNumber, options);
  return order;
}

/** The totals that a line moves. Only where they are behind the lines is more loaded than the order. */
function* loadTotals(order: Values, before: Values | undefined, after: Values): Script<Values> {
  if (!areTotalsBehind(order)) return moveTotals(order, before, after);
  const caughtUp = sumUp(order, yield* load('lines', order['ORDER_NUMBER']!));
  return { ...caughtUp, ...moveTotals({ ...order, ...caughtUp }, before, after) };
}

export const orderNotFound = (orderNumber: string): Refusal =>
  refuseField('ORDER_NOT_FOUND', 'ORDER_NUMBER', `There is no order '${orderNumber.slice(0, 64)}'.`);

function* loadPart({ PART_CODE: code }: Values): Script<Values | undefined> {
  return code ? yield* load('part', code) : undefined;
}

/** `strict`: whether it has to be there. */
const askPart = ({ PART_CODE: code }: Values, strict: boolean): Load[] =>
  code ? [ask('part', code), ask('stock', code), ...(strict ? [ask('isThere', 'inventory', code)] : [])] : [];

/** Parts that are not in INVENTORY have no stock to move. Few are moved beside what other writes of the group do. */
export function* moveStock(movements: readonly StockMovement[], now: string): Script<void> {
  if (movements.length > MOVED_SINGLY_MOST) {
    yield* moveStocks(movements, now);
    return;
  }
  const ahead = movements.map(({ PART_CODE }) => ask('stock', PART_CODE));
  for (const movement of movements) {
    const stock = yield* loadWith(ahead.splice(0), 'stock', movement.PART_CODE);
    if (!stock) continue;
    const part = { ...stock, PART_CODE: movement.PART_CODE };
    yield save('update', 'inventory', part, { ...applyMovement(stock, movement), MODIFIED_DATE: now });
  }
}

/** The same of any number of parts, each with one movement, as one load and one save. */
export function* moveStocks(movements: readonly StockMovement[], now: string): Script<void> {
  const byPart = new Map(movements.map((movement) => [movement.PART_CODE, movement]));
  const parts: Values[] = [];
  for (const part of yield* load('stocks', [...byPart.keys()])) {
    const PART_CODE = part['PART_CODE']!;
    parts.push({ PART_CODE, ...applyMovement(part, byPart.get(PART_CODE)!), MODIFIED_DATE: now });
  }
  yield save('updateStocks', parts);
}

export const createdAt = (now: string): Values => ({ CREATE_DATE: now, MODIFIED_DATE: now });

/** Every field of the dictionary in its order, '' where there is no value. */
export const complete = (dictionary: FieldDictionary, values: Values): Values =>
  Object.fromEntries([...dictionary.keys()].map((name) => [name, values[name] ?? '']));

/** Takes the field that names the record out of the body. */
export function splitKey(body: Body, name: string): { key: string; fields: Body } {
  const { [name]: raw, ...fields } = body;
  if (raw === undefined || raw === null || raw === '') throw refuseMissingKey(name);
  const key = String(raw);
  checkText(name, key);
  return { key, fields };
}
