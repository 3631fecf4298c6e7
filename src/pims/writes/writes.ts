/**
 * Begin here: the writes. Each has the same steps: key, fields, load, rule, save. A write is a script that the store
 * runs in one transaction, and a refusal undoes the transaction. order-writes.ts has the writes of an existing order.
 */
import { orThrow, Refusal, refuseField, startOf } from '../../errors.ts';
import {
  RECORD_TYPES,
  refuseCustomField,
  type CustomField,
  type Dictionaries,
  type KeyedType,
} from '../rules/fields.ts';
import { FIRST_STAGES, type Stage } from '../rules/stages.ts';
import { moveStock, sellSerials } from './ledger.ts';
import type { Json } from '../rules/json.ts';
import {
  requestLoad,
  loadValue,
  requestSave,
  type Expected,
  type Idempotency,
  type Load,
  type NumberedType,
  type Script,
} from './script.ts';
import { addLine, changeLine, checkLineCount, lineNotFound, refuseStatus } from '../rules/order.ts';
import { KEY_CHARACTERS_MAX, LINES_MAX } from '../rules/record-bounds.ts';
import { markTotals, moveTotals } from '../rules/totals.ts';
import {
  changedNames,
  checkText,
  complete,
  parseValues,
  refuseMissingKey,
  type RawValue,
  type Values,
} from '../rules/values.ts';

export type Body = Readonly<Record<string, RawValue>>;

export interface WriteOptions {
  /** Time of the write in UTC and ISO 8601, for CREATE_DATE and MODIFIED_DATE. */
  readonly now: string;
  /** Whether codes must exist in their tables, a setting of the tenant. */
  readonly strict: boolean;
  /** Who writes: an email address, the name of a pair of keys, or `command line`. */
  readonly by?: string | undefined;
  readonly idempotency?: Idempotency | undefined;
  /** Tags of which the record must have one to be written. Undefined allows any. */
  readonly expected?: Expected | undefined;
  /** Called with the result once it is on disk. */
  readonly report?: ((written: Written) => void) | undefined;
}

/** Context of a write. `defaultStage` is the first stage of an order without an ORDER_TYPE. */
export type WriteContext = WriteOptions & { readonly defaultStage: Stage };

/** Result of a write. `data` is JSON, such as `"10248"` or a line object. */
export interface Written {
  readonly data: Json;
  readonly replayed: boolean;
  /** True if the write found nothing to change, such as the cancellation of a cancelled order. */
  readonly isUnchanged?: true;
}

/** Maximum digits of a caller's code that the counter skips. The counter never reaches longer codes. */
const COUNTED_DIGITS_MAX = 15;

/** Creates an order in the stage of its ORDER_TYPE, or in the tenant's default stage, and returns its number. */
function* createOrder({ orders }: Dictionaries, body: Body, context: WriteContext): Script<Json> {
  const values = parseValues(orders, 'orders', body);
  const stage = values['ORDER_TYPE'] || context.defaultStage;
  if (!FIRST_STAGES.some((first) => first === stage)) {
    const message = `ORDER_TYPE of a new order must be one of ${FIRST_STAGES.join(', ')}, not '${startOf(stage)}'.`;
    throw refuseField('INVALID_VALUE', 'ORDER_TYPE', message);
  }
  orThrow(refuseStatus(values));
  if (context.strict) yield* checkKnown(values, 'CUSTOMER_CODE', 'LOCATION_CODE');
  const orderNumber = yield* nextNumber('orders');
  const own = { ORDER_TYPE: stage, ORDER_NUMBER: orderNumber, ...markTotals(values) };
  yield requestSave('insert', 'orders', { ...values, ...own, ...createdAt(context.now) });
  return JSON.stringify(orderNumber);
}

/**
 * Creates a customer and returns its CUSTOMER_CODE, which is the code that the caller sent, or else the next number.
 * Throws CODE_TAKEN if another customer has the code. The counter skips codes that callers chose.
 */
function* createCustomer({ customers }: Dictionaries, body: Body, { now }: WriteOptions): Script<Json> {
  const values = parseValues(customers, 'customers', body);
  const own = values['CUSTOMER_CODE'];
  if (own) checkNewKey('customers', own, yield* loadValue('isThere', 'customers', own));
  if (own && isCounted(own)) yield requestSave('raiseCounter', 'customers', BigInt(own));
  const code = own || (yield* nextNumber('customers'));
  yield requestSave('insert', 'customers', { ...values, CUSTOMER_CODE: code, ...createdAt(now) });
  return JSON.stringify(code);
}

function* updateCustomer({ customers }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key: code, fields } = splitKey(body, 'CUSTOMER_CODE');
  const change = parseValues(customers, 'customers', fields);
  const customer = yield* loadTarget('customers', code, options);
  yield* saveChange('customers', customer, change, options);
  return JSON.stringify(code);
}

/** Adds a line to an order and returns it with LINE_NUMBER, NUMBER_SHIPPED 0 and LINE_REF_LOCK_CODE. */
function* addLineItem({ lines }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { now, strict } = options;
  const { key: orderNumber, fields } = splitKey(body, 'ORDER_NUMBER');
  const values = parseValues(lines, 'lines', fields, ['NUMBER_SHIPPED']);
  const ahead = [requestLoad('lastLineNumber', orderNumber), ...askPart(values, strict)];
  const order = yield* loadTarget('orders', orderNumber, options, ahead, requestLoad('orderStage', orderNumber));
  if (strict) yield* checkKnown(values, 'PART_CODE');
  const { line, stock } = orThrow(addLine(order, values, yield* loadPart(values)));
  const last = yield* loadValue('lastLineNumber', orderNumber);
  // Line numbers are unique and start at 1. A lower last number means fewer lines, so most writes need no count.
  if (last >= LINES_MAX) checkLineCount(orderNumber, yield* loadValue('lineCount', orderNumber));
  const totals = moveTotals(order, undefined, line);
  const LINE_NUMBER = String(last + 1);
  const added = complete(lines.keys(), { ...line, ORDER_NUMBER: orderNumber, LINE_NUMBER, ...createdAt(now) });
  yield requestSave('insertLine', added);
  yield* moveStock(stock, options);
  yield requestSave('update', 'orders', order, { ...totals, MODIFIED_DATE: now });
  return JSON.stringify(added);
}

function* updateLineItem({ lines }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { now, strict } = options;
  const { key: orderNumber, fields: named } = splitKey(body, 'ORDER_NUMBER');
  const { key: lockCode, fields } = splitKey(named, 'LINE_REF_LOCK_CODE');
  const change = parseValues(lines, 'lines', fields);
  const ahead = [requestLoad('line', orderNumber, lockCode), ...askPart(change, strict)];
  const order = yield* loadTarget('orders', orderNumber, options, ahead, requestLoad('orderStage', orderNumber));
  const line = yield* loadValue('line', orderNumber, lockCode);
  if (!line) throw lineNotFound(orderNumber, lockCode, yield* loadValue('orderOfMovedLine', orderNumber, lockCode));
  if (strict) yield* checkKnown(change, 'PART_CODE');
  const part = yield* loadPart(change['QUANTITY']?.startsWith('-') ? { ...line, ...change } : change);
  const step = orThrow(changeLine(lines, [order, line], change, part));
  if (changedNames(line, step.line).length === 0) return JSON.stringify(line);
  const changed = { ...step.line, MODIFIED_DATE: now };
  const totals = moveTotals(order, line, changed);
  if (order['ORDER_TYPE'] === 'invoice' && step.line['SERIAL_NUMBERS'] !== line['SERIAL_NUMBERS']) {
    yield* checkNotReturned(orderNumber, 'SERIAL_NUMBERS', line);
    yield* sellSerials(order, [changed], [line]);
  }
  yield requestSave('updateLine', line, changed);
  yield* moveStock(step.stock, options);
  yield requestSave('update', 'orders', order, { ...totals, MODIFIED_DATE: now });
  return JSON.stringify(changed);
}

/** Throws ORDER_CLOSED if an invoice, or this line of it, has a return that is not void. */
export function* checkNotReturned(orderNumber: string, field: string, line?: Values): Script<void> {
  const returned = yield* loadValue('returnedLines', orderNumber);
  const one = returned.find(({ LINE_NUMBER }) => !line || LINE_NUMBER === line['LINE_NUMBER']);
  if (!one) return;
  const suggestion = one['ORDER_NUMBER']!;
  const message = `Order ${orderNumber} has the return ${suggestion}. Void that first.`;
  throw new Refusal('ORDER_CLOSED', message, { field, suggestion });
}

export function* addField(dictionaries: Dictionaries, field: CustomField): Script<Json> {
  // A repeated key must be found before the rule, which refuses a field that exists.
  yield* loadValue('isThere', 'orders', '');
  orThrow(refuseCustomField(dictionaries[field.recordType], field.name));
  yield requestSave('addField', field);
  return 'null';
}

/**
 * Runs a write once for an idempotency key: keeps its result in the same transaction, and returns it when the key is
 * repeated. The write parses first, so a refused body never touches the key. Throws IDEMPOTENCY_KEY_REUSED if the key
 * was used with another body.
 */
export function* runOnce(write: Script<Json>, { idempotency, now }: WriteOptions): Script<Written> {
  let step = write.next();
  const kept = idempotency && (yield* loadValue('keptAnswer', idempotency.operation, idempotency.key));
  if (kept && kept.bodyHash !== idempotency.bodyHash) throw new Refusal('IDEMPOTENCY_KEY_REUSED');
  if (kept) return { data: kept.data, replayed: true };
  let hasSaved = false;
  while (!step.done) {
    hasSaved ||= step.value.kind === 'save';
    step = write.next(yield step.value);
  }
  if (idempotency) yield requestSave('keepAnswer', idempotency, step.value, now);
  return { data: step.value, replayed: false, ...(!hasSaved && { isUnchanged: true }) };
}

/**
 * Saves a change with its MODIFIED_DATE if the record has other values. Otherwise nothing changes, not even the date.
 */
export function* saveChange(
  recordType: KeyedType,
  record: Values,
  change: Values,
  { now }: { now: string },
): Script<void> {
  if (changedNames(record, change).length > 0)
    yield requestSave('update', recordType, record, { ...change, MODIFIED_DATE: now });
}

/** Throws if a new record cannot have this key, because it is too long or another record has it. */
export function checkNewKey(recordType: KeyedType, code: string, isTaken: boolean): void {
  const { key } = RECORD_TYPES[recordType];
  checkText(key, code, KEY_CHARACTERS_MAX);
  if (isTaken) throw refuseField('CODE_TAKEN', key, `${key} '${startOf(code)}' is already in use.`);
}

/** Returns whether the counter skips a code that a caller chose. */
export const isCounted = (own: string): boolean => own.length <= COUNTED_DIGITS_MAX && /^[1-9]\d*$/.test(own);

/** Returns the next number that no record has. Callers may have chosen some numbers as codes. */
export function* nextNumber(recordType: NumberedType): Script<string> {
  for (;;) {
    const number = yield* loadValue('nextNumber', recordType);
    if (!(yield* loadValue('isThere', recordType, number))) return number;
  }
}

/** Throws UNKNOWN_REFERENCE for the first code that was sent and does not exist. Called for strict tenants only. */
export function* checkKnown(
  values: Values,
  ...names: ('CUSTOMER_CODE' | 'PART_CODE' | 'LOCATION_CODE')[]
): Script<void> {
  for (const name of names) {
    const code = values[name];
    if (!code) continue;
    const isKnown =
      name === 'LOCATION_CODE'
        ? yield* loadValue('isLocationThere', code)
        : yield* loadValue('isThere', name === 'PART_CODE' ? 'inventory' : 'customers', code);
    if (!isKnown) throw refuseField('UNKNOWN_REFERENCE', name, `${name} '${startOf(code)}' does not exist.`);
  }
}

const NOT_FOUND = { orders: 'ORDER_NOT_FOUND', customers: 'CUSTOMER_NOT_FOUND', inventory: 'PART_NOT_FOUND' } as const;

export function recordNotFound(recordType: KeyedType, code: string): Refusal {
  const { key, noun } = RECORD_TYPES[recordType];
  return refuseField(NOT_FOUND[recordType], key, `There is no ${noun} '${startOf(code)}'.`);
}

/**
 * Loads the record that a write changes, by `target`, and names the likely next loads. Throws if the record does not
 * exist, or RECORD_CHANGED or TAG_WEAKENED if it has none of the tags that the caller expects.
 */
export function* loadTarget(
  recordType: NumberedType,
  code: string,
  { expected }: WriteOptions,
  ahead: readonly Load[] = [],
  target = requestLoad('record', recordType, code),
): Script<Values> {
  const isChecked = typeof expected === 'object';
  const record = yield { ...target, ahead: isChecked ? [requestLoad('tag', recordType, code), ...ahead] : ahead };
  if (!record) throw recordNotFound(recordType, code);
  if (!isChecked) return record as Values;
  const tag = (yield* loadValue('tag', recordType, code))!;
  if (expected.includes(tag)) return record as Values;
  // A weak tag never equals a strong one, so only weak ones were sent.
  if (expected.length === 0) throw new Refusal('TAG_WEAKENED', undefined, { tag });
  const what = `The ${RECORD_TYPES[recordType].noun} '${startOf(code)}'`;
  const message = `${what} has changed since you read it. Read it again and retry with the new ETag.`;
  throw new Refusal('RECORD_CHANGED', message, { tag });
}

function* loadPart({ PART_CODE: code }: Values): Script<Values | undefined> {
  return code ? yield* loadValue('part', code) : undefined;
}

/** Lists the loads for the part of a line. `strict` also checks that the part exists. */
const askPart = ({ PART_CODE: code }: Values, strict: boolean): Load[] =>
  code
    ? [
        requestLoad('part', code),
        requestLoad('stock', code),
        ...(strict ? [requestLoad('isThere', 'inventory', code)] : []),
      ]
    : [];

export const createdAt = (now: string): Values => ({ CREATE_DATE: now, MODIFIED_DATE: now });

/** Splits a body into the field that identifies the record and the others. Throws MISSING_FIELD. */
export function splitKey(body: Body, name: string): { key: string; fields: Body } {
  const { [name]: raw, ...fields } = body;
  if (raw === undefined || raw === null || raw === '') throw refuseMissingKey(name);
  const key = String(raw);
  checkText(name, key);
  return { key, fields };
}

export const RECORD_WRITES = { createOrder, addLineItem, updateLineItem, createCustomer, updateCustomer };
