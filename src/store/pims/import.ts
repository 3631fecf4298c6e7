/**
 * Writes imported rows into one tenant's inventory system as they are given, a writing for each batch that a store runs inside a transaction: checks
 * keys and references, lets counters follow, commits the stock of sales orders, and computes QTY_COMMITTED and QTY_AVAILABLE. A row that is rejected
 * has written nothing. Never reads a file. Source: decision 0011.
 */
import { Refusal } from '../../errors.ts';
import { addDecimals, subtractDecimals } from '../../pims/decimal.ts';
import { checkSerials, moveStock } from '../../pims/lifecycle.ts';
import { within } from '../../pims/decimal.ts';
import { STAGES } from '../../pims/stages.ts';
import { fillFromPart, type KnownPart } from '../../pims/line-item.ts';
import { sortKey, type Values } from '../../pims/values.ts';
import { RECORD_TYPES, type RecordType } from '../../pims/fields.ts';
import type { ImportResult, ImportRow } from '../../pims/port.ts';
import type { PimsWriter } from './writer.ts';
import { row, rows, type Writing } from '../writing.ts';

/** What is remembered of the order that the last row belonged to; files mostly keep the lines of an order together. */
interface LastOrder {
  /** As much of it as stock depends on. */
  readonly order: Values;
  lastLineNumber: number;
}

export class PimsImport {
  readonly #writer: PimsWriter;
  readonly #now: string;
  #lastOrder: LastOrder | undefined;
  #parts = new Map<string, KnownPart>();
  #commitments: Map<string, string> | undefined;
  /** What the lines of the batch commit, part by part; written once at its end. */
  #committed = new Map<string, string>();

  constructor(writer: PimsWriter, now: string) {
    this.#writer = writer;
    this.#now = now;
  }

  /** Writes one batch. What is remembered of orders, parts and commitments holds for this transaction only. */
  *writeBatch(recordType: RecordType, batch: readonly ImportRow[]): Writing<ImportResult> {
    this.#lastOrder = undefined;
    this.#parts = new Map();
    this.#commitments = undefined;
    this.#committed = new Map();
    const result: ImportResult = { imported: 0, rejected: [] };
    for (const { lineNumber, values } of batch) {
      values['CREATE_DATE'] ??= this.#now;
      values['MODIFIED_DATE'] ??= this.#now;
      const reason =
        recordType === 'lines' ? yield* this.#writeLine(values) : yield* this.#writeRecord(recordType, values);
      if (reason) result.rejected.push({ lineNumber, reason });
      else result.imported++;
    }
    yield* this.#writer.moveStock([...this.#committed].map(([PART_CODE, committed]) => ({ PART_CODE, committed, onHand: '0' })), this.#now); // prettier-ignore
    return result;
  }

  *#writeRecord(recordType: Exclude<RecordType, 'lines'>, values: Values): Writing<Refusal | undefined> {
    const { key } = RECORD_TYPES[recordType];
    const own = values[key];
    const refused = own ? yield* this.#writer.refuseKey(recordType, own) : undefined;
    if (refused) return refused;
    if (recordType === 'inventory') {
      if (!own) return new Refusal('MISSING_FIELD', 'PART_CODE is missing.', { field: 'PART_CODE' });
      yield* this.#writer.insert('inventory', {
        ...values,
        ...(yield* this.#countStock(own, values['QTY_ONHAND'] ?? '')),
      });
      return undefined;
    }
    if (recordType === 'orders') {
      values['ORDER_TYPE'] ||= 'worksheet';
      if (!STAGES.some((stage) => stage === values['ORDER_TYPE']))
        return new Refusal('INVALID_VALUE', `ORDER_TYPE is ${STAGES.join(', ')}, not '${values['ORDER_TYPE']}'.`, {
          field: 'ORDER_TYPE',
        });
    }
    if (own) yield* this.#writer.raiseCounter(recordType, own);
    yield* this.#writer.insert(recordType, { ...values, [key]: own || (yield* this.#writer.nextNumber(recordType)) });
    return undefined;
  }

  /** Every row passes here: what is remembered is looked up without a generator in between. */
  *#writeLine(values: Values): Writing<Refusal | undefined> {
    const { sql } = this.#writer;
    const orderNumber = values['ORDER_NUMBER'] ?? '';
    const found =
      this.#lastOrder?.order['ORDER_NUMBER'] === orderNumber ? this.#lastOrder : yield* this.#findOrder(orderNumber);
    if (!found) return new Refusal('ORDER_NOT_FOUND', `There is no order '${orderNumber}'.`, { field: 'ORDER_NUMBER' });
    const code =
      values['DESCRIPTION'] !== undefined && values['CARE_PLAN'] !== undefined ? '' : (values['PART_CODE'] ?? '');
    if (code && !this.#parts.has(code)) this.#parts.set(code, yield* this.#writer.part(code));
    const line = fillFromPart(values, this.#parts.get(code));
    line['QUANTITY'] ||= '0';
    line['NUMBER_SHIPPED'] ||= '0';
    if (
      line['NUMBER_SHIPPED'] !== '0' &&
      line['NUMBER_SHIPPED'] !== line['QUANTITY'] &&
      !within(line['NUMBER_SHIPPED'], line['QUANTITY'])
    )
      return new Refusal(
        'QUANTITY_NOT_ALLOWED',
        `NUMBER_SHIPPED must lie between 0 and QUANTITY (${line['QUANTITY']}), not ${line['NUMBER_SHIPPED']}.`,
        {
          field: 'NUMBER_SHIPPED',
        },
      );
    const serials = line['SERIAL_NUMBERS'] ? checkSerials(line) : undefined;
    if (serials) return serials;
    const lockCode = values['LINE_REF_LOCK_CODE'];
    if (lockCode && (yield* row(sql.isLockCodeThere, orderNumber, lockCode)))
      return new Refusal('CODE_TAKEN', 'The order has a line with this LINE_REF_LOCK_CODE already.', {
        field: 'LINE_REF_LOCK_CODE',
      });
    const given = line['LINE_NUMBER'] ?? '';
    if (!/^([1-9]\d{0,8})?$/.test(given))
      return new Refusal('INVALID_VALUE', `LINE_NUMBER is a whole number from 1, not '${given}'.`, {
        field: 'LINE_NUMBER',
      });
    const lineNumber = given === '' ? found.lastLineNumber + 1 : Number(given);
    if (lineNumber <= found.lastLineNumber && (yield* row(sql.isLineThere, orderNumber, lineNumber)))
      return new Refusal('CODE_TAKEN', `Order ${orderNumber} has a line ${given} already.`, { field: 'LINE_NUMBER' });
    yield this.#writer.newLine(line, lineNumber).statement;
    found.lastLineNumber = Math.max(found.lastLineNumber, lineNumber);
    // What was invoiced before the import is in the stock that is imported; what is still to be shipped has to be committed.
    if (found.order['ORDER_TYPE'] === 'sales_order')
      for (const { PART_CODE, committed } of moveStock([found.order, []], [found.order, [line]]))
        this.#committed.set(PART_CODE, addDecimals(this.#committed.get(PART_CODE) ?? '0', committed));
    return undefined;
  }

  *#findOrder(orderNumber: string): Writing<LastOrder | undefined> {
    const stage = yield* row<[string, string]>(this.#writer.sql.stageOfOrder, sortKey(orderNumber));
    const order = stage && { ORDER_NUMBER: orderNumber, ORDER_TYPE: stage[0], DROP_SHIP: stage[1] };
    this.#lastOrder = order && { order, lastLineNumber: yield* this.#writer.lastLineNumber(orderNumber) };
    return this.#lastOrder;
  }

  /** QTY_COMMITTED and QTY_AVAILABLE follow from the sales orders that are there already, whatever the file says. */
  *#countStock(code: string, onHand: string): Writing<Values> {
    this.#commitments ??= yield* this.#loadCommitments();
    const QTY_COMMITTED = this.#commitments.get(code) ?? '0';
    const QTY_ONHAND = onHand || '0';
    return { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE: subtractDecimals(QTY_ONHAND, QTY_COMMITTED) };
  }

  *#loadCommitments(): Writing<Map<string, string>> {
    const sums = new Map<string, string>();
    for (const [code, quantity] of yield* rows<[string, string]>(this.#writer.sql.commitments))
      sums.set(code, addDecimals(sums.get(code) ?? '0', quantity));
    return sums;
  }
}
