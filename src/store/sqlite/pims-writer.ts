/**
 * Writes to one tenant's inventory system, each method inside a transaction its caller holds open: gives out numbers, applies the rules of pims/ to
 * the records as they stand, moves stock, keeps the trigram index in step. Decides nothing the rules decide. Source: decisions "Records".
 */
import { Refusal, type Outcome } from '../../errors.ts';
import { addDecimals, subtractDecimals } from '../../pims/decimal.ts';
import { approveOrder, invoiceOrder, type InvoiceRequest, type StockMovement } from '../../pims/lifecycle.ts';
import { addLine, changeLine, type KnownPart } from '../../pims/line-item.ts';
import { listValues } from '../../pims/engine.ts';
import { RECORD_TYPES, sortKey, type Values } from '../../pims/record.ts';
import type { Idempotency, KeyedType, WriteOptions, Written } from '../../pims/store.ts';
import { newLockCode } from '../lock-code.ts';
import type { Database } from './database.ts';
import { searchText, type PimsSql } from './pims-sql.ts';

/** Counters follow numbers given from outside up to here; longer ones never meet a counter. */
const COUNTED_DIGITS_MAX = 15;
const EXPIRED_PER_WRITE = 20;
const SET_STOCK = 'UPDATE INVENTORY SET QTY_ONHAND = ?, QTY_COMMITTED = ?, QTY_AVAILABLE = ?, MODIFIED_DATE = ? WHERE SORT_KEY = ?';

export class PimsWriter {
  readonly #db: Database;
  readonly #sql: () => PimsSql;

  constructor(db: Database, sql: () => PimsSql) {
    this.#db = db;
    this.#sql = sql;
  }

  /** Does the work once for an idempotency key: its answer is kept in this transaction and given again to whoever repeats the key. */
  once(idempotency: Idempotency | undefined, now: string, work: () => Outcome<string>): Outcome<Written> {
    if (!idempotency) return answer(work());
    const { operation, key, bodyHash, keptMs } = idempotency;
    const kept = this.#db.row<[string, string]>('SELECT BODY_HASH, ANSWER FROM IDEMPOTENCY WHERE OPERATION = ? AND IDEMPOTENCY_KEY = ?', operation, key);
    if (kept) return kept[0] === bodyHash ? { data: kept[1], replayed: true } : new Refusal('IDEMPOTENCY_KEY_REUSED');
    const outcome = answer(work());
    if (outcome instanceof Refusal) return outcome;
    const oldest = new Date(Date.parse(now) - keptMs).toISOString();
    this.#db.run(
      `DELETE FROM IDEMPOTENCY WHERE (OPERATION, IDEMPOTENCY_KEY) IN
        (SELECT OPERATION, IDEMPOTENCY_KEY FROM IDEMPOTENCY WHERE CREATED_AT < ? LIMIT ${EXPIRED_PER_WRITE})`,
      oldest,
    );
    this.#db.run('INSERT INTO IDEMPOTENCY VALUES (?, ?, ?, ?, ?)', operation, key, bodyHash, outcome.data, now);
    return outcome;
  }

  createRecord(recordType: 'orders' | 'customers', values: Values, { now, strict }: WriteOptions): Outcome<string> {
    const { key } = RECORD_TYPES[recordType];
    const own = values[key];
    if (own && this.#exists(recordType, own)) return new Refusal('CODE_TAKEN', `${key} '${own.slice(0, 64)}' is already in use.`, { field: key });
    const unknown = strict ? this.#findUnknown(values, recordType === 'orders' ? ['CUSTOMER_CODE', 'LOCATION_CODE'] : []) : undefined;
    if (unknown) return unknown;
    const code = own || this.giveNumber(recordType);
    if (own) this.raiseCounter(recordType, own);
    this.insert(recordType, { ...values, [key]: code, CREATE_DATE: now, MODIFIED_DATE: now });
    return JSON.stringify(code);
  }

  updateCustomer(customerCode: string, change: Values, { now }: WriteOptions): Outcome<string> {
    const customer = this.record('customers', customerCode);
    if (!customer) return new Refusal('CUSTOMER_NOT_FOUND', `There is no customer '${customerCode.slice(0, 64)}'.`, { field: 'CUSTOMER_CODE' });
    this.update('customers', customer, { ...change, MODIFIED_DATE: now });
    return JSON.stringify(customerCode);
  }

  addLine(orderNumber: string, values: Values, { now, strict }: WriteOptions): Outcome<string> {
    const order = this.record('orders', orderNumber);
    if (!order) return orderNotFound(orderNumber);
    const unknown = strict ? this.#findUnknown(values, ['PART_CODE']) : undefined;
    if (unknown) return unknown;
    const step = addLine(order, values, this.part(values['PART_CODE']));
    if (step instanceof Refusal) return step;
    const line = this.insertLine({ ...step.line, ORDER_NUMBER: orderNumber, CREATE_DATE: now, MODIFIED_DATE: now }, this.lastLineNumber(orderNumber) + 1);
    this.moveStock(step.stock, now);
    this.#touch(order, now);
    return JSON.stringify(line);
  }

  updateLine(orderNumber: string, lockCode: string, change: Values, { now, strict }: WriteOptions): Outcome<string> {
    const order = this.record('orders', orderNumber);
    if (!order) return orderNotFound(orderNumber);
    const row = this.#db.row<[string]>(this.#sql().line, orderNumber, lockCode);
    if (!row)
      return new Refusal('LINE_NOT_FOUND', `Order ${orderNumber} has no line with the LINE_REF_LOCK_CODE '${lockCode.slice(0, 64)}'.`, {
        field: 'LINE_REF_LOCK_CODE',
      });
    const line = JSON.parse(row[0]) as Values;
    const unknown = strict ? this.#findUnknown(change, ['PART_CODE']) : undefined;
    if (unknown) return unknown;
    const step = changeLine(order, line, change, this.part(change['PART_CODE']));
    if (step instanceof Refusal) return step;
    const changed = { ...step.line, MODIFIED_DATE: now };
    const names = Object.keys(changed).filter((name) => changed[name as keyof typeof changed] !== line[name]);
    if (names.length > 0) this.#db.run(this.#sql().updateLine(names), ...listValues(names, changed), orderNumber, Number(line['LINE_NUMBER']));
    this.moveStock(step.stock, now);
    this.#touch(order, now);
    return JSON.stringify(changed);
  }

  advanceOrder(orderNumber: string, request: { approve: true } | { invoice: InvoiceRequest }, { now }: WriteOptions): Outcome<string> {
    const order = this.record('orders', orderNumber);
    if (!order) return orderNotFound(orderNumber);
    const lines = this.lines(orderNumber);
    const step = 'approve' in request ? approveOrder(order, lines) : invoiceOrder(order, lines, request.invoice);
    if (step instanceof Refusal) return step;
    this.update('orders', order, { ...step.order, MODIFIED_DATE: now });
    this.#db.run('DELETE FROM ORDER_LINEITEMS WHERE ORDER_NUMBER = ?', orderNumber);
    for (const line of step.lines) this.insertLine({ ...line, MODIFIED_DATE: now }, Number(line['LINE_NUMBER']));
    const rest = step.rest ? this.giveNumber('orders') : null;
    if (step.rest && rest) {
      this.insert('orders', { ...step.rest.order, ORDER_NUMBER: rest, CREATE_DATE: now, MODIFIED_DATE: now });
      for (const line of step.rest.lines) this.insertLine({ ...line, ORDER_NUMBER: rest, MODIFIED_DATE: now }, Number(line['LINE_NUMBER']));
    }
    this.moveStock(step.stock, now);
    return JSON.stringify({ ORDER_NUMBER: orderNumber, rest });
  }

  /** The next number of its kind, never given before, and passing over codes that callers chose themselves. */
  giveNumber(recordType: 'orders' | 'customers'): string {
    for (;;) {
      const [next] = this.#db.row<[number]>('UPDATE COUNTERS SET NEXT = NEXT + 1 WHERE NAME = ? RETURNING NEXT - 1', recordType)!;
      if (!this.#exists(recordType, String(next))) return String(next);
    }
  }

  /** Lets the counter go on after a number that came from outside. */
  raiseCounter(recordType: 'orders' | 'customers', code: string): void {
    if (/^[1-9]\d*$/.test(code) && code.length <= COUNTED_DIGITS_MAX)
      this.#db.run('UPDATE COUNTERS SET NEXT = max(NEXT, ?) WHERE NAME = ?', BigInt(code) + 1n, recordType);
  }

  insert(recordType: KeyedType, values: Values): void {
    const sql = this.#sql();
    const dictionary = sql.dictionaries[recordType];
    const key = sortKey(values[RECORD_TYPES[recordType].key]!);
    const { lastInsertRowid } = this.#db.statement(sql.insert[recordType]).run(key, ...listValues([...dictionary.keys()], values));
    this.#db.run(`INSERT INTO ${RECORD_TYPES[recordType].table}_SEARCH (rowid, FOLDED) VALUES (?, ?)`, lastInsertRowid, searchText(dictionary, values));
  }

  insertLine(values: Values, lineNumber: number): Values {
    const line = { ...values, LINE_NUMBER: String(lineNumber) };
    const columns = this.writeLine(line, lineNumber);
    return Object.fromEntries([...this.#sql().dictionaries.lines.keys()].map((name, index) => [name, columns[index]!]));
  }

  /** Writes a line and gives its columns; an import has no use for more. */
  writeLine(values: Values, lineNumber: number): string[] {
    const sql = this.#sql();
    values['LINE_REF_LOCK_CODE'] ||= newLockCode();
    const columns = listValues([...sql.dictionaries.lines.keys()], values);
    this.#db.run(sql.insert.lines, columns[0]!, lineNumber, ...columns.slice(2));
    return columns;
  }

  /** Writes what differs from the record as it stands. */
  update(recordType: KeyedType, record: Values, change: Values): void {
    const names = Object.keys(change).filter((name) => change[name] !== record[name]);
    if (names.length === 0) return;
    const sql = this.#sql();
    const { key, table } = RECORD_TYPES[recordType];
    const dictionary = sql.dictionaries[recordType];
    this.#db.run(sql.update(recordType, names), ...listValues(names, change), sortKey(record[key]!));
    if (!names.some((name) => dictionary.get(name)?.searched)) return;
    const [id] = this.#db.row<[number]>(`SELECT ID FROM ${table} WHERE SORT_KEY = ?`, sortKey(record[key]!))!;
    this.#db.run(`DELETE FROM ${table}_SEARCH WHERE rowid = ?`, id);
    this.#db.run(`INSERT INTO ${table}_SEARCH (rowid, FOLDED) VALUES (?, ?)`, id, searchText(dictionary, { ...record, ...change }));
  }

  moveStock(movements: readonly StockMovement[], now: string): void {
    for (const { PART_CODE, onHand, committed } of movements) {
      const key = sortKey(PART_CODE);
      const part = this.#db.row<[string, string]>('SELECT QTY_ONHAND, QTY_COMMITTED FROM INVENTORY WHERE SORT_KEY = ?', key);
      if (!part) continue;
      const nowOnHand = addDecimals(part[0], onHand);
      const nowCommitted = addDecimals(part[1], committed);
      this.#db.run(SET_STOCK, nowOnHand, nowCommitted, subtractDecimals(nowOnHand, nowCommitted), now, key);
    }
  }

  record(recordType: KeyedType, code: string): Values | undefined {
    const row = this.#db.row<[string]>(this.#sql().record[recordType], sortKey(code));
    return row && (JSON.parse(row[0]) as Values);
  }

  part(code: string | undefined): KnownPart {
    if (!code) return undefined;
    const row = this.#db.row<[string, string]>('SELECT PART_DESCRIPTION, CARE_PLAN FROM INVENTORY WHERE SORT_KEY = ?', sortKey(code));
    return row && { PART_DESCRIPTION: row[0], CARE_PLAN: row[1] };
  }

  lines(orderNumber: string): Values[] {
    return this.#db.rows<[string]>(this.#sql().lines, orderNumber).map(([line]) => JSON.parse(line) as Values);
  }

  lastLineNumber(orderNumber: string): number {
    return this.#db.row<[number | null]>('SELECT max(LINE_NUMBER) FROM ORDER_LINEITEMS WHERE ORDER_NUMBER = ?', orderNumber)![0] ?? 0;
  }

  #exists(recordType: KeyedType, code: string): boolean {
    return this.#db.row(`SELECT 1 FROM ${RECORD_TYPES[recordType].table} WHERE SORT_KEY = ?`, sortKey(code)) !== undefined;
  }

  #touch(order: Values, now: string): void {
    this.update('orders', order, { MODIFIED_DATE: now });
  }

  /** The first of these codes that is sent and not known, for a tenant that is strict. A location is known when a part lies there. */
  #findUnknown(values: Values, names: readonly string[]): Refusal | undefined {
    const known: Record<string, (code: string) => boolean> = {
      CUSTOMER_CODE: (code) => this.#exists('customers', code),
      PART_CODE: (code) => this.#exists('inventory', code),
      LOCATION_CODE: (code) => this.#db.row('SELECT 1 FROM INVENTORY WHERE LOCATION_CODE = ?', code) !== undefined,
    };
    const name = names.find((candidate) => values[candidate] && !known[candidate]!(values[candidate]));
    return name === undefined ? undefined : new Refusal('UNKNOWN_REFERENCE', `${name} '${values[name]!.slice(0, 64)}' is not known.`, { field: name });
  }
}

const orderNotFound = (orderNumber: string): Refusal =>
  new Refusal('ORDER_NOT_FOUND', `There is no order '${orderNumber.slice(0, 64)}'.`, { field: 'ORDER_NUMBER' });

function answer(outcome: Outcome<string>): Outcome<Written> {
  return outcome instanceof Refusal ? outcome : { data: outcome, replayed: false };
}
