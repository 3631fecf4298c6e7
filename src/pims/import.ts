/**
 * Imports rows as they are given, one script for each batch. Counters follow the numbers in the file, and the lines
 * of sales orders commit stock. A rejected row has saved nothing. Source: decision 0011.
 */
import { orThrow, Refusal, refuseField } from '../errors.ts';
import { addDecimals } from './decimal.ts';
import { RECORD_TYPES, type RecordType } from './fields.ts';
import { STAGES } from './stages.ts';
import { checkLineCount, importLine, type KnownPart } from './line-item.ts';
import { LINES_MAX } from './limits.ts';
import { ask, load, save, type Load, type NumberedType, type Script } from './script.ts';
import { countStock, stockMovements } from './stock.ts';
import type { Values } from './values.ts';
import { checkFree, moveStock, orderNotFound, takeKey } from './writes.ts';

export interface ImportRow {
  readonly lineNumber: number;
  readonly values: Values;
}

export interface ImportResult {
  imported: number;
  rejected: { lineNumber: number; reason: Error }[];
}

export type ImportBatches = AsyncIterable<readonly ImportRow[]>;
/** One result for each batch. */
export type ImportResults = AsyncIterable<ImportResult>;

/** What a batch remembers of its transaction: loading it for every row would be most of the import's cost. */
class Batch {
  /** The order of the row before, as far as stock depends on it; files mostly keep the lines of an order together. */
  order: { readonly values: Values; lastLineNumber: number; lineCount: number | undefined } | undefined;
  readonly parts = new Map<string, KnownPart>();
  /** QTY_COMMITTED by part, as the sales orders have it. */
  commitments: Map<string, string> | undefined;
  /** What the lines of the batch commit, by part; saved at its end. */
  readonly committed = new Map<string, string>();
}

/** Imports a batch. Rows without CREATE_DATE or MODIFIED_DATE are given `now`. */
export function* importBatch(recordType: RecordType, rows: readonly ImportRow[], now: string): Script<ImportResult> {
  const batch = new Batch();
  const result: ImportResult = { imported: 0, rejected: [] };
  const [first, ...ahead] = askAhead(recordType, rows);
  if (ahead.length > 0) yield { ...first!, ahead };
  for (const { lineNumber, values } of rows) {
    values['CREATE_DATE'] ??= now;
    values['MODIFIED_DATE'] ??= now;
    try {
      if (recordType === 'lines') yield* insertLine(values, batch);
      else if (recordType === 'inventory') yield* insertPart(values, batch);
      else yield* insertNumbered(recordType, values);
      result.imported++;
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      result.rejected.push({ lineNumber, reason: refusal });
    }
  }
  const movements = [...batch.committed].map(([PART_CODE, committed]) => ({ PART_CODE, committed, onHand: '0' }));
  yield* moveStock(movements, now);
  return result;
}

/** What the rows of a batch ask for, in most files. */
function askAhead(recordType: RecordType, rows: readonly ImportRow[]): Load[] {
  if (recordType !== 'lines') {
    const { key } = RECORD_TYPES[recordType];
    return rows.flatMap(({ values }) => (values[key] ? [ask('isThere', recordType, values[key])] : []));
  }
  const orders = new Set(rows.map(({ values }) => values['ORDER_NUMBER'] ?? ''));
  const parts = new Set(rows.map(({ values }) => (isFilled(values) ? '' : (values['PART_CODE'] ?? ''))));
  parts.delete('');
  return [
    ...[...orders].flatMap((number) => [ask('orderStage', number), ask('lastLineNumber', number)]),
    ...[...parts].map((code) => ask('part', code)),
  ];
}

const isFilled = (line: Values): boolean => line['DESCRIPTION'] !== undefined && line['CARE_PLAN'] !== undefined;

function* insertNumbered(recordType: NumberedType, values: Values): Script<void> {
  const { key } = RECORD_TYPES[recordType];
  const own = values[key];
  if (own) yield* checkFree(recordType, own);
  if (recordType === 'orders') {
    const stage = (values['ORDER_TYPE'] ||= STAGES[0]);
    if (!STAGES.some((known) => known === stage))
      throw refuseField('INVALID_VALUE', 'ORDER_TYPE', `ORDER_TYPE is ${STAGES.join(', ')}, not '${stage}'.`);
  }
  yield save('insert', recordType, { ...values, [key]: yield* takeKey(recordType, own) });
}

function* insertPart(values: Values, batch: Batch): Script<void> {
  const code = values['PART_CODE'];
  if (!code) throw refuseField('MISSING_FIELD', 'PART_CODE', 'PART_CODE is missing.');
  yield* checkFree('inventory', code);
  batch.commitments ??= yield* loadCommitments();
  const stock = countStock(values['QTY_ONHAND'] || '0', batch.commitments.get(code) ?? '0');
  yield save('insert', 'inventory', { ...values, ...stock });
}

/** Every row of a file of lines passes here: what the batch remembers is looked up without a generator in between. */
function* insertLine(values: Values, batch: Batch): Script<void> {
  const orderNumber = values['ORDER_NUMBER'] ?? '';
  const order =
    batch.order?.values['ORDER_NUMBER'] === orderNumber ? batch.order : yield* loadOrder(orderNumber, batch);
  const code = isFilled(values) ? '' : (values['PART_CODE'] ?? '');
  if (code && !batch.parts.has(code)) batch.parts.set(code, yield* load('part', code));
  const line = orThrow(importLine(values, batch.parts.get(code)));
  const lockCode = line['LINE_REF_LOCK_CODE'];
  if (lockCode && (yield* load('line', orderNumber, lockCode)))
    throw refuseField('CODE_TAKEN', 'LINE_REF_LOCK_CODE', 'The order has a line with this LINE_REF_LOCK_CODE already.');
  const lineNumber = Number(line['LINE_NUMBER'] || order.lastLineNumber + 1);
  if (lineNumber <= order.lastLineNumber && (yield* load('isLineThere', orderNumber, lineNumber)))
    throw refuseField('CODE_TAKEN', 'LINE_NUMBER', `Order ${orderNumber} has a line ${lineNumber} already.`);
  // As in addLineItem, most orders are never counted.
  if (order.lastLineNumber >= LINES_MAX)
    checkLineCount(orderNumber, (order.lineCount ??= yield* load('lineCount', orderNumber)));
  line['LINE_NUMBER'] = String(lineNumber);
  yield save('insertLine', line);
  if (order.lineCount !== undefined) order.lineCount++;
  order.lastLineNumber = Math.max(order.lastLineNumber, lineNumber);
  // Imported stock is after what was invoiced; what is still to be shipped has to be committed.
  if (order.values['ORDER_TYPE'] === 'sales_order')
    for (const { PART_CODE, committed } of stockMovements([order.values, []], [order.values, [line]]))
      batch.committed.set(PART_CODE, addDecimals(batch.committed.get(PART_CODE) ?? '0', committed));
}

function* loadOrder(orderNumber: string, batch: Batch): Script<NonNullable<Batch['order']>> {
  const stage = yield* load('orderStage', orderNumber);
  if (!stage) throw orderNotFound(orderNumber);
  const values = { ...stage, ORDER_NUMBER: orderNumber };
  const lastLineNumber = yield* load('lastLineNumber', orderNumber);
  return (batch.order = { values, lastLineNumber, lineCount: undefined });
}

function* loadCommitments(): Script<Map<string, string>> {
  const sums = new Map<string, string>();
  for (const [code, quantity] of yield* load('commitments'))
    sums.set(code, addDecimals(sums.get(code) ?? '0', quantity));
  return sums;
}
