/**
 * Writes to one tenant's inventory system, each method a writing that a store runs inside a transaction: gives out numbers, applies the rules of pims/
 * to the records as they stand, moves stock. Every refusal is decided before the first statement that writes, so what is refused has written nothing.
 * Decides nothing the rules decide. Source: decisions "Records".
 */
import { Refusal, type Outcome } from '../../errors.ts';
import { addDecimals, subtractDecimals } from '../../pims/decimal.ts';
import { approveOrder, invoiceOrder, type OrderTransition, type StockMovement } from '../../pims/lifecycle.ts';
import { addLine, changeLine, type KnownPart } from '../../pims/line-item.ts';
import { listValues } from '../../pims/operations.ts';
import { refuseLongKey, sortKey, type Values } from '../../pims/values.ts';
import { RECORD_TYPES, refuseCustomField, type CustomField } from '../../pims/fields.ts';
import type { Idempotency, KeyedType, WriteOptions, Written } from '../../pims/port.ts';
import { newLockCode } from './lock-code.ts';
import type { WriteSql } from './write-sql.ts';
import { row, rows, run, type Statement, type Writing } from '../writing.ts';

/** Counters follow numbers given from outside up to here; longer ones never meet a counter. */
const COUNTED_DIGITS_MAX = 15;

export class PimsWriter {
  readonly #sql: () => WriteSql;

  /** Takes what gives the SQL for the dictionaries as they stand. */
  constructor(sql: () => WriteSql) {
    this.#sql = sql;
  }

  get sql(): WriteSql {
    return this.#sql();
  }

  /** Does the work once for an idempotency key: its answer is kept in this transaction and given again to whoever repeats the key. */
  *once(idempotency: Idempotency | undefined, now: string, work: Writing<Outcome<string>>): Writing<Outcome<Written>> {
    if (!idempotency) return answer(yield* work);
    const { operation, key, bodyHash, keptMs } = idempotency;
    const kept = yield* row<[string, string]>(this.sql.answer, operation, key);
    if (kept) return kept[0] === bodyHash ? { data: kept[1], replayed: true } : new Refusal('IDEMPOTENCY_KEY_REUSED');
    const outcome = answer(yield* work);
    if (outcome instanceof Refusal) return outcome;
    yield* run(this.sql.dropOldAnswers, new Date(Date.parse(now) - keptMs).toISOString());
    yield* run(this.sql.keepAnswer, operation, key, bodyHash, outcome.data, now);
    return outcome;
  }

  *createRecord(
    recordType: 'orders' | 'customers',
    values: Values,
    { now, strict }: WriteOptions,
  ): Writing<Outcome<string>> {
    const { key } = RECORD_TYPES[recordType];
    const own = values[key];
    const refused = own ? yield* this.refuseKey(recordType, own) : undefined;
    if (refused) return refused;
    const unknown = strict
      ? yield* this.#findUnknown(values, recordType === 'orders' ? ['CUSTOMER_CODE', 'LOCATION_CODE'] : [])
      : undefined;
    if (unknown) return unknown;
    const code = own || (yield* this.nextNumber(recordType));
    if (own) yield* this.raiseCounter(recordType, own);
    yield* this.insert(recordType, { ...values, [key]: code, CREATE_DATE: now, MODIFIED_DATE: now });
    return JSON.stringify(code);
  }

  *updateCustomer(customerCode: string, change: Values, { now }: WriteOptions): Writing<Outcome<string>> {
    const customer = yield* this.#record('customers', customerCode);
    if (!customer)
      return new Refusal('CUSTOMER_NOT_FOUND', `There is no customer '${customerCode.slice(0, 64)}'.`, {
        field: 'CUSTOMER_CODE',
      });
    yield* this.#update('customers', customer, { ...change, MODIFIED_DATE: now });
    return JSON.stringify(customerCode);
  }

  *addLine(orderNumber: string, values: Values, { now, strict }: WriteOptions): Writing<Outcome<string>> {
    const order = yield* this.#record('orders', orderNumber);
    if (!order) return orderNotFound(orderNumber);
    const unknown = strict ? yield* this.#findUnknown(values, ['PART_CODE']) : undefined;
    if (unknown) return unknown;
    const step = addLine(order, values, yield* this.part(values['PART_CODE']));
    if (step instanceof Refusal) return step;
    const lineNumber = (yield* this.lastLineNumber(orderNumber)) + 1;
    const line = yield* this.#insertLine(
      { ...step.line, ORDER_NUMBER: orderNumber, CREATE_DATE: now, MODIFIED_DATE: now },
      lineNumber,
    );
    yield* this.moveStock(step.stock, now);
    yield* this.#touch(order, now);
    return JSON.stringify(line);
  }

  *updateLine(
    orderNumber: string,
    lockCode: string,
    change: Values,
    { now, strict }: WriteOptions,
  ): Writing<Outcome<string>> {
    const order = yield* this.#record('orders', orderNumber);
    if (!order) return orderNotFound(orderNumber);
    const found = yield* row<[string]>(this.sql.line, orderNumber, lockCode);
    if (!found)
      return new Refusal(
        'LINE_NOT_FOUND',
        `Order ${orderNumber} has no line with the LINE_REF_LOCK_CODE '${lockCode.slice(0, 64)}'.`,
        {
          field: 'LINE_REF_LOCK_CODE',
        },
      );
    const line = JSON.parse(found[0]) as Values;
    const unknown = strict ? yield* this.#findUnknown(change, ['PART_CODE']) : undefined;
    if (unknown) return unknown;
    const step = changeLine(order, line, change, yield* this.part(change['PART_CODE']));
    if (step instanceof Refusal) return step;
    const changed = { ...step.line, MODIFIED_DATE: now };
    const names = Object.keys(changed).filter((name) => changed[name as keyof typeof changed] !== line[name]);
    if (names.length > 0)
      yield* run(this.sql.updateLine(names), ...listValues(names, changed), orderNumber, Number(line['LINE_NUMBER']));
    yield* this.moveStock(step.stock, now);
    yield* this.#touch(order, now);
    return JSON.stringify(changed);
  }

  *advanceOrder(orderNumber: string, request: OrderTransition, { now }: WriteOptions): Writing<Outcome<string>> {
    const order = yield* this.#record('orders', orderNumber);
    if (!order) return orderNotFound(orderNumber);
    const lines = (yield* rows<[string]>(this.sql.lines, orderNumber)).map(([line]) => JSON.parse(line) as Values);
    const step = 'approve' in request ? approveOrder(order, lines) : invoiceOrder(order, lines, request.invoice);
    if (step instanceof Refusal) return step;
    yield* this.#update('orders', order, { ...step.order, MODIFIED_DATE: now });
    yield* run(this.sql.deleteLines, orderNumber);
    for (const line of step.lines)
      yield* this.#insertLine({ ...line, MODIFIED_DATE: now }, Number(line['LINE_NUMBER']));
    const backorder = step.backorder ? yield* this.nextNumber('orders') : null;
    if (step.backorder && backorder) {
      yield* this.insert('orders', {
        ...step.backorder.order,
        ORDER_NUMBER: backorder,
        CREATE_DATE: now,
        MODIFIED_DATE: now,
      });
      for (const line of step.backorder.lines)
        yield* this.#insertLine({ ...line, ORDER_NUMBER: backorder, MODIFIED_DATE: now }, Number(line['LINE_NUMBER']));
    }
    yield* this.moveStock(step.stock, now);
    return JSON.stringify({ ORDER_NUMBER: orderNumber, backorder });
  }

  *addField({ recordType, name, type }: CustomField): Writing<Outcome<void>> {
    const refusal = refuseCustomField(this.sql.dictionaries[recordType], name);
    if (refusal) return refusal;
    yield* run(this.sql.addColumn(recordType, name));
    yield* run(this.sql.addCustomField, recordType, name, type);
    for (const statement of this.sql.fieldsChanged) yield statement;
    return undefined;
  }

  /** Why a new record cannot have this key: it is too long, or another record has it. */
  *refuseKey(recordType: KeyedType, code: string): Writing<Refusal | undefined> {
    const { key } = RECORD_TYPES[recordType];
    const tooLong = refuseLongKey(key, code);
    if (tooLong) return tooLong;
    if (!(yield* this.#isThere(recordType, code))) return undefined;
    return new Refusal('CODE_TAKEN', `${key} '${code.slice(0, 64)}' is already in use.`, { field: key });
  }

  /** The next number of its kind, never given before, and passing over codes that callers chose themselves. */
  *nextNumber(recordType: 'orders' | 'customers'): Writing<string> {
    for (;;) {
      const [next] = (yield* row<[number | string]>(this.sql.nextNumber, recordType))!;
      if (!(yield* this.#isThere(recordType, String(next)))) return String(next);
    }
  }

  /** Lets the counter go on after a number that came from outside. */
  *raiseCounter(recordType: 'orders' | 'customers', code: string): Writing<void> {
    if (!/^[1-9]\d*$/.test(code) || code.length > COUNTED_DIGITS_MAX) return;
    const next = BigInt(code) + 1n;
    yield* run(this.sql.raiseCounter, next, recordType, next);
  }

  *insert(recordType: KeyedType, record: Values): Writing<void> {
    for (const statement of this.sql.insert[recordType](sortKey(record[RECORD_TYPES[recordType].key]!), record))
      yield statement;
  }

  /** What writes a new line, and its columns. */
  newLine(values: Values, lineNumber: number): { statement: Statement; columns: string[] } {
    const { dictionaries, insertLine } = this.sql;
    values['LINE_REF_LOCK_CODE'] ||= newLockCode();
    const columns = listValues([...dictionaries.lines.keys()], values);
    return {
      statement: { sql: insertLine, values: [columns[0]!, lineNumber, ...columns.slice(2)], reads: false },
      columns,
    };
  }

  *moveStock(movements: readonly StockMovement[], now: string): Writing<void> {
    for (const { PART_CODE, onHand, committed } of movements) {
      const key = sortKey(PART_CODE);
      const part = yield* row<[string, string]>(this.sql.stock, key);
      if (!part) continue;
      const nowOnHand = addDecimals(part[0], onHand);
      const nowCommitted = addDecimals(part[1], committed);
      yield* run(this.sql.setStock, nowOnHand, nowCommitted, subtractDecimals(nowOnHand, nowCommitted), now, key);
    }
  }

  *part(code: string | undefined): Writing<KnownPart> {
    if (!code) return undefined;
    const part = yield* row<[string, string]>(this.sql.part, sortKey(code));
    return part && { PART_DESCRIPTION: part[0], CARE_PLAN: part[1] };
  }

  *lastLineNumber(orderNumber: string): Writing<number> {
    const last = yield* row<[number | string | null]>(this.sql.lastLineNumber, orderNumber);
    return Number(last![0] ?? 0);
  }

  *#insertLine(values: Values, lineNumber: number): Writing<Values> {
    const { statement, columns } = this.newLine({ ...values, LINE_NUMBER: String(lineNumber) }, lineNumber);
    yield statement;
    return Object.fromEntries([...this.sql.dictionaries.lines.keys()].map((name, index) => [name, columns[index]!]));
  }

  /** Writes what differs from the record as it stands. */
  *#update(recordType: KeyedType, record: Values, change: Values): Writing<void> {
    const names = Object.keys(change).filter((name) => change[name] !== record[name]);
    if (names.length === 0) return;
    const key = sortKey(record[RECORD_TYPES[recordType].key]!);
    for (const statement of this.sql.update[recordType](key, names, { ...record, ...change })) yield statement;
  }

  *#touch(order: Values, now: string): Writing<void> {
    yield* this.#update('orders', order, { MODIFIED_DATE: now });
  }

  *#record(recordType: KeyedType, code: string): Writing<Values | undefined> {
    const found = yield* row<[string]>(this.sql.record[recordType], sortKey(code));
    return found && (JSON.parse(found[0]) as Values);
  }

  *#isThere(recordType: KeyedType, code: string): Writing<boolean> {
    return (yield* row(this.sql.isThere[recordType], sortKey(code))) !== undefined;
  }

  /** The first of these codes that is sent and not known, for a tenant that is strict. A location is known when a part lies there. */
  *#findUnknown(
    values: Values,
    names: readonly ('CUSTOMER_CODE' | 'PART_CODE' | 'LOCATION_CODE')[],
  ): Writing<Refusal | undefined> {
    const { isThere, isLocationThere } = this.sql;
    const known = { CUSTOMER_CODE: isThere.customers, PART_CODE: isThere.inventory, LOCATION_CODE: isLocationThere };
    for (const name of names) {
      const code = values[name];
      if (!code || (yield* row(known[name], name === 'LOCATION_CODE' ? code : sortKey(code)))) continue;
      return new Refusal('UNKNOWN_REFERENCE', `${name} '${code.slice(0, 64)}' is not known.`, { field: name });
    }
    return undefined;
  }
}

const orderNotFound = (orderNumber: string): Refusal =>
  new Refusal('ORDER_NOT_FOUND', `There is no order '${orderNumber.slice(0, 64)}'.`, { field: 'ORDER_NUMBER' });

function answer(outcome: Outcome<string>): Outcome<Written> {
  return outcome instanceof Refusal ? outcome : { data: outcome, replayed: false };
}
