/**
 * Imports rows with the keys and dates in the file, one script for each batch. A script loads for all rows at once,
 * checks each row as if the rows before it were saved, and saves all at once. Counters continue after the numbers in
 * the file, and the lines of sales orders commit stock. Source: decision 0011.
 */
import { orThrow, Refusal, refuseCommand, refuseField, startOf } from '../errors.ts';
import { RECORD_TYPES, type KeyedType, type RecordType } from './rules/fields.ts';
import { CANCELLED_MARK, saysCancelled, STAGES, VOID_STATUS } from './rules/stages.ts';
import { refuseQuantity } from './rules/invoice.ts';
import { checkLineCount, importLine, type KnownPart } from './rules/order.ts';
import { LINES_MAX } from './rules/record-bounds.ts';
import { recordChanges } from './writes/changed-records.ts';
import {
  requestLoad,
  loadValue,
  loadWith,
  requestSave,
  type LineName,
  type NumberedType,
  type Script,
} from './writes/script.ts';
import { applyAction, stockMovements } from './rules/stock.ts';
import { moveTotals, TOTALS_MARK } from './rules/totals.ts';
import type { Values } from './rules/values.ts';
import { addUnits, countParts, ledgerRow, moveSerials, moveStocks } from './writes/ledger.ts';
import { checkNewKey, isCounted, recordNotFound, saveChange } from './writes/writes.ts';

export interface ImportRow {
  readonly lineNumber: number;
  readonly values: Values;
}

export interface RowOptions {
  /** Time that fills a missing CREATE_DATE or MODIFIED_DATE. */
  readonly now: string;
  /** Whether rows change existing customers and parts, instead of being rejected. */
  readonly updates?: boolean;
  /** Who imports, for the history and the ledger. */
  readonly by?: string | undefined;
}

export interface ImportResult {
  imported: number;
  updated: number;
  rejected: { lineNumber: number; reason: Error }[];
}

export type ImportBatches = AsyncIterable<readonly ImportRow[]>;
export type ImportResults = AsyncIterable<ImportResult>;

/** Imports a batch. Throws COMMAND_REFUSED if it would update orders or lines. */
export function* importBatch(
  recordType: RecordType,
  rows: readonly ImportRow[],
  options: RowOptions,
): Script<ImportResult> {
  if (options.updates && (recordType === 'orders' || recordType === 'lines'))
    throw refuseCommand('Only customers and inventory can be updated by an import.');
  const batch = makeBatch(options.now);
  const script =
    recordType === 'lines' ? importLines(batch, rows, options.now) : importKeyed(batch, recordType, rows, options);
  yield* recordChanges(script, 'import', { ...options, by: options.by ?? 'import' });
  return batch.result;
}

type ImportBatch = ReturnType<typeof makeBatch>;

/** Keeps the records and refusals of a batch. */
function makeBatch(now: string) {
  const result: ImportResult = { imported: 0, updated: 0, rejected: [] };
  const records: Values[] = [];
  return {
    result,
    /** Records to save at the end. */
    records,
    addRecord(record: Values) {
      record['CREATE_DATE'] ??= now;
      record['MODIFIED_DATE'] ??= now;
      records.push(record);
      result.imported++;
    },
    reject(lineNumber: number, reason: unknown) {
      if (!(reason instanceof Refusal)) throw reason;
      result.rejected.push({ lineNumber, reason });
    },
  };
}

/** Imports orders, customers or parts. Orders and customers without a number get the next one; parts need a code. */
function* importKeyed(
  batch: ImportBatch,
  recordType: KeyedType,
  rows: readonly ImportRow[],
  options: RowOptions,
): Script<void> {
  const { now, by = 'import' } = options;
  const { key } = RECORD_TYPES[recordType];
  const own = rows.flatMap(({ values }) => values[key] || []);
  const taken = new Set(yield* loadValue('areThere', recordType, own));
  /** Records that rows may change, as the rows before left them. */
  const saved = new Map<string, Values | undefined>(options.updates ? [...taken].map((code) => [code, undefined]) : []);
  const ahead = [...saved.keys()].map((code) => requestLoad('record', recordType, code));
  const numbered = recordType === 'inventory' ? undefined : recordType;
  const numbers = numbered && (yield* countOn(numbered, taken, rows.length - own.length));
  function* insertNew(): Script<void> {
    const records = batch.records.splice(0);
    if (!numbered) yield* countParts(records, { now, by, KIND: 'imported' });
    yield requestSave('insertAll', recordType, records);
    if (options.updates) for (const record of records) saved.set(record[key]!, record);
  }
  for (const { lineNumber, values } of rows)
    try {
      let code = values[key];
      if (options.updates && code && taken.has(code)) {
        // A row before has created this record, so the rows before are saved as if a batch ended there.
        if (!saved.has(code)) yield* insertNew();
        const record = saved.get(code) ?? (yield* loadWith(ahead.splice(0), 'record', recordType, code))!;
        saved.set(code, yield* updateRecord(recordType, record, values, options));
        batch.result.updated++;
        continue;
      }
      if (code) checkNewKey(recordType, code, taken.has(code));
      else if (!numbers || options.updates) throw refuseField('MISSING_FIELD', key, `${key} is required.`);
      if (recordType === 'orders') checkStage(values);
      if (code && isCounted(code)) numbers?.raise(Number(code));
      code ||= yield* numbers!.takeNumber();
      taken.add(code);
      batch.addRecord(values[key] ? values : { ...values, [key]: code });
    } catch (refusal) {
      batch.reject(lineNumber, refusal);
    }
  if (numbered && numbers!.last() > 0) yield requestSave('raiseCounter', numbered, BigInt(numbers!.last()));
  yield* insertNew();
}

/** Fields that a row does not set on an existing record. A row's QTY_ONHAND is entered as a count, for the ledger. */
const KEPT_FIELDS = new Set(['CREATE_DATE', 'MODIFIED_DATE', 'QTY_ONHAND', 'QTY_COMMITTED', 'QTY_AVAILABLE']);

function* updateRecord(
  recordType: KeyedType,
  record: Values,
  row: Values,
  { now, by = 'import' }: RowOptions,
): Script<Values> {
  const change: Values = Object.fromEntries(Object.entries(row).filter(([name]) => !KEPT_FIELDS.has(name)));
  const quantity = recordType === 'inventory' ? row['QTY_ONHAND'] : '';
  const isCount = quantity && quantity !== record['QTY_ONHAND'];
  const action = { kind: 'counted', quantity: quantity ?? '', serials: [], reason: '' } as const;
  const [counted, moved] = isCount ? orThrow(applyAction(record, action)) : [{}, '0'];
  const changed = { ...change, ...counted };
  const updated = { ...record, ...changed };
  yield* saveChange(recordType, record, changed, { now });
  if (!isCount) return updated;
  const SERIALS = (yield* moveSerials(record, action, moved)).join(',');
  yield requestSave('recordMovements', [ledgerRow(updated, moved, { now, by, KIND: 'counted', SERIALS })]);
  return updated;
}

function checkStage(order: Values): void {
  const stage = (order['ORDER_TYPE'] ||= STAGES[0]);
  if (!STAGES.some((known) => known === stage))
    throw refuseField('INVALID_VALUE', 'ORDER_TYPE', `ORDER_TYPE must be one of ${STAGES.join(', ')}, not '${stage}'.`);
  if (order['ORDER_STATUS'] === VOID_STATUS && stage !== 'invoice')
    throw refuseField('INVALID_VALUE', 'ORDER_STATUS', 'Only an invoice can be VOID. Use CANCELLED for other orders.');
  // An order that was cancelled when it was exported is imported as cancelled.
  if (saysCancelled(order)) order[CANCELLED_MARK] = 'Y';
}

/**
 * Creates a counter that assigns numbers to at most `left` rows of a batch. The stored counter is raised once, at the
 * end of the batch.
 */
function* countOn(recordType: NumberedType, taken: Set<string>, left: number) {
  let next = left === 0 ? 0 : yield* loadValue('counter', recordType);
  /** The number below which `taken` is complete. */
  let knownTo = 0;
  return {
    /** Returns the last number that was assigned or skipped. 0 or less means that the counter stays unchanged. */
    last: () => next - 1,
    /** Skips the numbers up to this one. */
    raise(number: number) {
      next = Math.max(next, number + 1);
    },
    /** Assigns the next number that no record has. */
    *takeNumber(): Script<string> {
      for (;;) {
        if (next >= knownTo) {
          const numbers = Array.from({ length: left }, (_, at) => String(next + at));
          for (const number of yield* loadValue('areThere', recordType, numbers)) taken.add(number);
          knownTo = next + left;
        }
        const number = String(next++);
        if (taken.has(number)) continue;
        left--;
        return number;
      }
    },
  };
}

/** The state of an order that the import of its lines needs. */
interface KnownOrder {
  readonly values: Values;
  /** Highest LINE_NUMBER of the saved lines. */
  readonly savedLast: number;
  /** Highest LINE_NUMBER including the lines of the batch. */
  last: number;
  readonly added: Values[];
  readonly numbers: Set<number>;
  readonly lockCodes: Set<string>;
  savedCount: number | undefined;
}

function* importLines(batch: ImportBatch, rows: readonly ImportRow[], now: string): Script<void> {
  const orders = yield* loadOrders(rows);
  const parts = yield* loadParts(rows);
  yield* loadTakenLines(rows, orders);
  for (const { lineNumber, values } of rows)
    try {
      const orderNumber = values['ORDER_NUMBER'] ?? '';
      const order = orders.get(orderNumber);
      if (!order) throw recordNotFound('orders', orderNumber);
      const isReturn = !!order.values['RETURN_OF'];
      const part = isFilled(values) ? undefined : parts.get(values['PART_CODE'] ?? '');
      const line = orThrow(importLine(values, part, isReturn));
      if (isReturn && !line['QUANTITY']!.startsWith('-'))
        throw refuseQuantity(`Order ${orderNumber} is a return, so QUANTITY must be below 0, not ${line['QUANTITY']}.`);
      const number = placeLine(order, line);
      // If the last number is below LINES_MAX, so is the count, which most orders therefore do not need.
      if (order.last >= LINES_MAX) {
        order.savedCount ??= yield* loadValue('lineCount', orderNumber);
        checkLineCount(orderNumber, order.savedCount + order.added.length);
      }
      line['LINE_NUMBER'] = String(number);
      order.numbers.add(number);
      if (line['LINE_REF_LOCK_CODE']) order.lockCodes.add(line['LINE_REF_LOCK_CODE']);
      order.last = Math.max(order.last, number);
      order.added.push(line);
      batch.addRecord(line);
    } catch (refusal) {
      batch.reject(lineNumber, refusal);
    }
  yield requestSave('insertLines', batch.records);
  for (const { values, added } of orders.values()) {
    const totals = addTotals(values, added);
    if (totals) yield requestSave('update', 'orders', values, totals);
  }
  yield* commitStock(orders.values(), now);
}

/** Returns the totals of an order with these lines, or undefined if they stay unchanged. */
function addTotals(order: Values, added: readonly Values[]): Values | undefined {
  if (added.length === 0 || !order[TOTALS_MARK]) return undefined;
  return added.reduce((totals, line) => ({ ...totals, ...moveTotals({ ...order, ...totals }, undefined, line) }), {});
}

/** Returns the number of a new line. Throws CODE_TAKEN if a line of the order already has its number or lock code. */
function placeLine(order: KnownOrder, line: Values): number {
  const lockCode = line['LINE_REF_LOCK_CODE'];
  if (lockCode && order.lockCodes.has(lockCode))
    throw refuseField(
      'CODE_TAKEN',
      'LINE_REF_LOCK_CODE',
      `Order ${line['ORDER_NUMBER']} already has a line with the LINE_REF_LOCK_CODE '${startOf(lockCode)}'.`,
    );
  const number = Number(line['LINE_NUMBER'] || order.last + 1);
  if (!order.numbers.has(number)) return number;
  const message = `Order ${line['ORDER_NUMBER']} already has a line ${number}.`;
  throw refuseField('CODE_TAKEN', 'LINE_NUMBER', message);
}

function* loadOrders(rows: readonly ImportRow[]): Script<Map<string, KnownOrder>> {
  const numbers = new Set(rows.map(({ values }) => values['ORDER_NUMBER'] ?? ''));
  const orders = new Map<string, KnownOrder>();
  for (const values of yield* loadValue('ordersOfLines', [...numbers])) {
    const last = Number(values['LINE_NUMBER']);
    const none = { added: [], numbers: new Set<number>(), lockCodes: new Set<string>(), savedCount: undefined };
    orders.set(values['ORDER_NUMBER']!, { values, savedLast: last, last, ...none });
  }
  return orders;
}

const isFilled = (line: Values) => line['DESCRIPTION'] !== undefined && line['CARE_PLAN'] !== undefined;

function* loadParts(rows: readonly ImportRow[]): Script<Map<string, KnownPart>> {
  const codes = new Set(rows.map(({ values }) => (isFilled(values) ? '' : (values['PART_CODE'] ?? ''))));
  codes.delete('');
  if (codes.size === 0) return new Map();
  return new Map((yield* loadValue('parts', [...codes])).map((part) => [part['PART_CODE']!, part]));
}

/** Marks the numbers and lock codes of rows that saved lines already have. Most orders of rows have no saved lines. */
function* loadTakenLines(rows: readonly ImportRow[], orders: ReadonlyMap<string, KnownOrder>): Script<void> {
  const names: LineName[] = [];
  for (const { values } of rows) {
    const orderNumber = values['ORDER_NUMBER'] ?? '';
    const { savedLast = 0 } = orders.get(orderNumber) ?? {};
    const [number, lockCode] = [Number(values['LINE_NUMBER']), values['LINE_REF_LOCK_CODE']];
    if (Number.isInteger(number) && number > 0 && number <= savedLast) names.push([orderNumber, number, '']);
    if (lockCode && savedLast > 0) names.push([orderNumber, 0, lockCode]);
  }
  if (names.length === 0) return;
  for (const at of yield* loadValue('areLinesThere', names)) {
    const [orderNumber, number, lockCode] = names[at]!;
    const order = orders.get(orderNumber)!;
    if (number > 0) order.numbers.add(number);
    else order.lockCodes.add(lockCode);
  }
}

/** Commits the units of imported sales orders. Invoices move nothing: imported stock already lacks their units. */
function* commitStock(orders: Iterable<KnownOrder>, now: string): Script<void> {
  const committed = new Map<string, string>();
  for (const { values, added } of orders) {
    if (values['ORDER_TYPE'] !== 'sales_order') continue;
    for (const movement of stockMovements([values, []], [values, added]))
      addUnits(committed, movement.PART_CODE, movement.committed);
  }
  const movements = [...committed].map(([PART_CODE, units]) => ({ PART_CODE, committed: units, onHand: '0' }));
  if (movements.length > 0) yield* moveStocks(movements, { now });
}
