/**
 * Writes imported rows into one tenant's inventory system as they are given, inside transactions its caller holds: checks keys and references, lets
 * counters follow, commits the stock of sales orders, and computes QTY_COMMITTED and QTY_AVAILABLE. Never reads a file. Source: decision 0011.
 */
import { Refusal } from '../../errors.ts';
import { addDecimals, subtractDecimals } from '../../pims/decimal.ts';
import { checkSerials, moveStock, STAGES, within } from '../../pims/lifecycle.ts';
import { fillFromPart, type KnownPart } from '../../pims/line-item.ts';
import { RECORD_TYPES, sortKey, type RecordType, type Values } from '../../pims/record.ts';
import type { ImportResult, ImportRow } from '../../pims/store.ts';
import type { Database } from './database.ts';
import type { PimsWriter } from './pims-writer.ts';

/** What is remembered of the order that the last row belonged to; files mostly keep the lines of an order together. */
interface LastOrder {
  /** As much of it as stock depends on. */
  readonly order: Values;
  lastLineNumber: number;
}

export class PimsImport {
  readonly #db: Database;
  readonly #writer: PimsWriter;
  readonly #now: string;
  #lastOrder: LastOrder | undefined;
  #parts = new Map<string, KnownPart>();
  #commitments: Map<string, string> | undefined;
  /** What the lines of the batch commit, part by part; written once at its end. */
  #committed = new Map<string, string>();

  constructor(db: Database, writer: PimsWriter, now: string) {
    this.#db = db;
    this.#writer = writer;
    this.#now = now;
  }

  /** Writes one batch. What is remembered of orders, parts and commitments holds for this transaction only. */
  writeBatch(recordType: RecordType, rows: readonly ImportRow[]): ImportResult {
    this.#lastOrder = undefined;
    this.#parts = new Map();
    this.#commitments = undefined;
    this.#committed = new Map();
    const result: ImportResult = { imported: 0, rejected: [] };
    for (const { lineNumber, values } of rows) {
      values['CREATE_DATE'] ??= this.#now;
      values['MODIFIED_DATE'] ??= this.#now;
      const reason = recordType === 'lines' ? this.#writeLine(values) : this.#writeRecord(recordType, values);
      if (reason) result.rejected.push({ lineNumber, reason });
      else result.imported++;
    }
    this.#writer.moveStock([...this.#committed].map(([PART_CODE, committed]) => ({ PART_CODE, committed, onHand: '0' })), this.#now); // prettier-ignore
    return result;
  }

  #writeRecord(recordType: Exclude<RecordType, 'lines'>, values: Values): Refusal | undefined {
    const { key } = RECORD_TYPES[recordType];
    const own = values[key];
    if (own && this.#writer.record(recordType, own)) return new Refusal('CODE_TAKEN', `${key} '${own}' is already there.`, { field: key });
    if (recordType === 'inventory') {
      if (!own) return new Refusal('MISSING_FIELD', 'PART_CODE is missing.', { field: 'PART_CODE' });
      this.#writer.insert('inventory', { ...values, ...this.#countStock(own, values['QTY_ONHAND'] ?? '') });
      return undefined;
    }
    if (recordType === 'orders') {
      values['ORDER_TYPE'] ||= 'worksheet';
      if (!STAGES.some((stage) => stage === values['ORDER_TYPE']))
        return new Refusal('INVALID_VALUE', `ORDER_TYPE is ${STAGES.join(', ')}, not '${values['ORDER_TYPE']}'.`, { field: 'ORDER_TYPE' });
    }
    if (own) this.#writer.raiseCounter(recordType, own);
    this.#writer.insert(recordType, { ...values, [key]: own || this.#writer.giveNumber(recordType) });
    return undefined;
  }

  #writeLine(values: Values): Refusal | undefined {
    const found = this.#findOrder(values['ORDER_NUMBER'] ?? '');
    if (!found) return new Refusal('ORDER_NOT_FOUND', `There is no order '${values['ORDER_NUMBER'] ?? ''}'.`, { field: 'ORDER_NUMBER' });
    const line = fillFromPart(values, this.#findPart(values));
    line['QUANTITY'] ||= '0';
    line['NUMBER_SHIPPED'] ||= '0';
    if (line['NUMBER_SHIPPED'] !== '0' && line['NUMBER_SHIPPED'] !== line['QUANTITY'] && !within(line['NUMBER_SHIPPED'], line['QUANTITY']))
      return new Refusal('QUANTITY_NOT_ALLOWED', `NUMBER_SHIPPED must lie between 0 and QUANTITY (${line['QUANTITY']}), not ${line['NUMBER_SHIPPED']}.`, {
        field: 'NUMBER_SHIPPED',
      });
    const serials = line['SERIAL_NUMBERS'] ? checkSerials(line) : undefined;
    if (serials) return serials;
    const lockCode = values['LINE_REF_LOCK_CODE'];
    if (lockCode && this.#db.row('SELECT 1 FROM ORDER_LINEITEMS WHERE ORDER_NUMBER = ? AND LINE_REF_LOCK_CODE = ?', values['ORDER_NUMBER']!, lockCode))
      return new Refusal('CODE_TAKEN', 'The order has a line with this LINE_REF_LOCK_CODE already.', { field: 'LINE_REF_LOCK_CODE' });
    const lineNumber = this.#chooseLineNumber(found, line['LINE_NUMBER'] ?? '');
    if (lineNumber instanceof Refusal) return lineNumber;
    this.#writer.writeLine(line, lineNumber);
    found.lastLineNumber = Math.max(found.lastLineNumber, lineNumber);
    // What was invoiced before the import is in the stock that is imported; what is still to be shipped has to be committed.
    if (found.order['ORDER_TYPE'] === 'sales_order')
      for (const { PART_CODE, committed } of moveStock([found.order, []], [found.order, [line]]))
        this.#committed.set(PART_CODE, addDecimals(this.#committed.get(PART_CODE) ?? '0', committed));
    return undefined;
  }

  #chooseLineNumber(found: LastOrder, given: string): number | Refusal {
    if (given === '') return found.lastLineNumber + 1;
    if (!/^[1-9]\d{0,8}$/.test(given)) return new Refusal('INVALID_VALUE', `LINE_NUMBER is a whole number from 1, not '${given}'.`, { field: 'LINE_NUMBER' });
    const lineNumber = Number(given);
    const { ORDER_NUMBER: orderNumber = '' } = found.order;
    const taken =
      lineNumber <= found.lastLineNumber && this.#db.row('SELECT 1 FROM ORDER_LINEITEMS WHERE ORDER_NUMBER = ? AND LINE_NUMBER = ?', orderNumber, lineNumber);
    return taken ? new Refusal('CODE_TAKEN', `Order ${orderNumber} has a line ${given} already.`, { field: 'LINE_NUMBER' }) : lineNumber;
  }

  #findOrder(orderNumber: string): LastOrder | undefined {
    if (this.#lastOrder?.order['ORDER_NUMBER'] === orderNumber) return this.#lastOrder;
    const row = this.#db.row<[string, string]>('SELECT ORDER_TYPE, DROP_SHIP FROM ORDERS WHERE SORT_KEY = ?', sortKey(orderNumber));
    const order = row && { ORDER_NUMBER: orderNumber, ORDER_TYPE: row[0], DROP_SHIP: row[1] };
    this.#lastOrder = order && { order, lastLineNumber: this.#writer.lastLineNumber(orderNumber) };
    return this.#lastOrder;
  }

  #findPart(values: Values): KnownPart {
    const code = values['PART_CODE'];
    if (!code || (values['DESCRIPTION'] !== undefined && values['CARE_PLAN'] !== undefined)) return undefined;
    if (!this.#parts.has(code)) this.#parts.set(code, this.#writer.part(code));
    return this.#parts.get(code);
  }

  /** QTY_COMMITTED and QTY_AVAILABLE follow from the sales orders that are there already, whatever the file says. */
  #countStock(code: string, onHand: string): Values {
    this.#commitments ??= this.#readCommitments();
    const QTY_COMMITTED = this.#commitments.get(code) ?? '0';
    const QTY_ONHAND = onHand || '0';
    return { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE: subtractDecimals(QTY_ONHAND, QTY_COMMITTED) };
  }

  #readCommitments(): Map<string, string> {
    const sums = new Map<string, string>();
    const rows = this.#db.rows<[string, string]>(
      `SELECT l.PART_CODE, l.QUANTITY FROM ORDERS o JOIN ORDER_LINEITEMS l ON l.ORDER_NUMBER = o.ORDER_NUMBER
        WHERE o.ORDER_TYPE = 'sales_order' AND o.DROP_SHIP <> 'Y' AND l.CARE_PLAN <> 'Y'`,
    );
    for (const [code, quantity] of rows) sums.set(code, addDecimals(sums.get(code) ?? '0', quantity));
    return sums;
  }
}
