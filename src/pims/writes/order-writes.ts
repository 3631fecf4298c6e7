/** The writes that change, cancel, approve, invoice, return or void an order, each with the same steps as writes.ts. */
import { orThrow } from '../../errors.ts';
import type { Dictionaries, FieldDictionary } from '../rules/fields.ts';
import { invoiceOrder as invoice, parseLines, type NamedLines } from '../rules/invoice.ts';
import {
  approveOrder as approve,
  cancelled,
  changeOrder,
  lineNotFound,
  voided,
  type OrderStep,
} from '../rules/order.ts';
import { returnOrder as returnUnits } from '../rules/return.ts';
import { isCancelled } from '../rules/stages.ts';
import type { Json } from '../rules/json.ts';
import { requestLoad, loadValue, requestSave, type Save, type Script } from './script.ts';
import { commitUnits, holdsStock, stockMovements } from '../rules/stock.ts';
import { complete, parseDate, parseReason, parseValues, type Values } from '../rules/values.ts';
import {
  checkKnown,
  checkNotReturned,
  createdAt,
  loadTarget,
  nextNumber,
  splitKey,
  type Body,
  type WriteOptions,
} from './writes.ts';
import { keepSold, moveStock, returnSerials, sellSerials, takeBackSerials } from './ledger.ts';

/** The fields of an order that an invoice may set, and those that a return may. */
const INVOICE_FIELDS = ['TRACKING_NUMBERS', 'SHIP_VIA'];
const RETURN_FIELDS = ['REFERENCE_NUMBER', 'NOTES'];

/** Parses the fields of a body besides its key. Throws FIELD_NOT_ALLOWED for one that is not in `allowed`. */
const parseOnly = (orders: FieldDictionary, fields: Body, allowed: readonly string[] = []): Values =>
  parseValues(
    orders,
    'orders',
    fields,
    Object.keys(fields).filter((name) => !allowed.includes(name)),
  );

/** Changes fields of an order and returns it. Refuses ORDER_TYPE, because stages change in the back office. */
function* updateOrder({ orders }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key: orderNumber, fields } = splitKey(body, 'ORDER_NUMBER');
  const change = parseValues(orders, 'orders', fields, ['ORDER_TYPE']);
  const ahead = change['DROP_SHIP'] === undefined ? [] : [requestLoad('unitsOfLines', orderNumber)];
  const order = yield* loadTarget('orders', orderNumber, options, ahead);
  const changed = orThrow(changeOrder(orders, order, change));
  if (options.strict) yield* checkKnown(change, 'CUSTOMER_CODE', 'LOCATION_CODE');
  return yield* saveOrder(orders, order, changed, options.now);
}

/** Cancels an order and returns it. An order that is already cancelled stays unchanged. */
function* cancelOrder({ orders }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key: orderNumber, fields } = splitKey(body, 'ORDER_NUMBER');
  parseOnly(orders, fields);
  const order = yield* loadTarget('orders', orderNumber, options, [requestLoad('unitsOfLines', orderNumber)]);
  return yield* saveOrder(orders, order, isCancelled(order) ? order : orThrow(cancelled(order)), options.now);
}

/** Saves the changed fields, and moves stock if the order starts or stops holding it. The order itself is no change. */
function* saveOrder(dictionary: FieldDictionary, order: Values, after: Values, now: string): Script<Json> {
  if (after === order) return JSON.stringify(complete(dictionary.keys(), order));
  const changed = { ...after, MODIFIED_DATE: now };
  const isHeld = holdsStock(changed);
  const units = holdsStock(order) === isHeld ? [] : yield* loadValue('unitsOfLines', order['ORDER_NUMBER']!);
  yield requestSave('update', 'orders', order, changed);
  yield* moveStock(commitUnits(units, isHeld), { now });
  return JSON.stringify(complete(dictionary.keys(), changed));
}

/** Turns a worksheet or a quote into a sales order, and returns its stage. */
function* approveOrder({ orders }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key: orderNumber, fields } = splitKey(body, 'ORDER_NUMBER');
  parseOnly(orders, fields);
  const order = yield* loadTarget('orders', orderNumber, options, [requestLoad('lines', orderNumber)]);
  return yield* advanceOrder(order, orThrow(approve(order, yield* loadValue('lines', orderNumber))), options);
}

/** Invoices an order, or the units of the lines that `lines` names, and returns its stage and its backorder. */
function* invoiceOrder({ orders }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key: orderNumber, fields: sent } = splitKey(body, 'ORDER_NUMBER');
  const { lines: raw, ...others } = sent;
  const named = raw === undefined ? undefined : parseLines(raw);
  const fields = parseOnly(orders, others, INVOICE_FIELDS);
  const order = yield* loadTarget('orders', orderNumber, options, [requestLoad('lines', orderNumber)]);
  const lines = yield* loadValue('lines', orderNumber);
  yield* checkNamed(orderNumber, named, lines);
  const step = orThrow(invoice(order, lines, { lines: named, fields }));
  yield* sellSerials(step.order, step.lines);
  return yield* advanceOrder(order, step, options, lines);
}

/** Throws LINE_NOT_FOUND or LINE_MOVED for the first named line that the order does not have. */
function* checkNamed(orderNumber: string, named: NamedLines | undefined, lines: readonly Values[]): Script<void> {
  const codes = new Set(lines.map((line) => line['LINE_REF_LOCK_CODE']!));
  for (const code of named?.keys() ?? [])
    if (!codes.has(code))
      throw lineNotFound(orderNumber, code, yield* loadValue('orderOfMovedLine', orderNumber, code));
}

/** Returns units of an invoice, and returns the number of the new order, which has them with negative quantities. */
function* returnOrder({ orders }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { now, by } = options;
  const { key: invoiceNumber, fields: sent } = splitKey(body, 'ORDER_NUMBER');
  const { lines: raw, REASON, ...others } = sent;
  const named = parseLines(raw, ['RESTOCK']);
  const fields = parseOnly(orders, others, RETURN_FIELDS);
  const reason = parseReason(REASON);
  const invoiced = yield* loadTarget('orders', invoiceNumber, options, [requestLoad('lines', invoiceNumber)]);
  const lines = yield* loadValue('lines', invoiceNumber);
  yield* checkNamed(invoiceNumber, named, lines);
  const step = orThrow(returnUnits(invoiced, lines, yield* loadValue('returnedLines', invoiceNumber), named));
  const ORDER_NUMBER = yield* nextNumber('orders');
  const order: Values = {
    ...step.order,
    ...fields,
    ORDER_NUMBER,
    ORDER_DATE: parseDate(now.slice(0, 10))!,
    ...createdAt(now),
  };
  yield* takeBackSerials(order, step.lines);
  yield requestSave('insert', 'orders', order);
  for (const line of step.lines) yield requestSave('insertLine', { ...line, ORDER_NUMBER, ...createdAt(now) });
  yield* moveStock(stockMovements([{}, []], [order, step.lines]), { now, by, REASON: reason, ORDER_NUMBER });
  return JSON.stringify(ORDER_NUMBER);
}

/** Saves an order in its next stage with its lines, and its backorder if it has one. */
function* advanceOrder(order: Values, step: OrderStep, { now, by }: WriteOptions, before = step.lines): Script<Json> {
  const orderNumber = order['ORDER_NUMBER']!;
  yield requestSave('update', 'orders', order, { ...step.order, MODIFIED_DATE: now });
  const after = new Map(step.lines.map((line) => [line['LINE_NUMBER'], line]));
  const updates: Save[] = [];
  for (const line of before) {
    const kept = after.get(line['LINE_NUMBER']);
    if (kept) updates.push(requestSave('updateLine', line, { ...kept, MODIFIED_DATE: now }));
    else yield requestSave('deleteLine', line);
  }
  // A store can join adjacent updates.
  yield* updates;
  let backorder = '';
  if (step.backorder) {
    backorder = yield* nextNumber('orders');
    yield requestSave('insert', 'orders', { ...step.backorder.order, ORDER_NUMBER: backorder, ...createdAt(now) });
    for (const line of step.backorder.lines)
      yield requestSave('insertLine', { ...line, ORDER_NUMBER: backorder, MODIFIED_DATE: now });
  }
  yield* moveStock(step.stock, { now, by, ORDER_NUMBER: orderNumber });
  return stageOf(step.order, backorder);
}

/** Returns the result of a write that moves an order to another stage. */
const stageOf = ({ ORDER_NUMBER, ORDER_TYPE, ORDER_STATUS = '' }: Values, BACKORDER_NUMBER: string): Json =>
  JSON.stringify({ ORDER_NUMBER, ORDER_TYPE, ORDER_STATUS, BACKORDER_NUMBER });

/**
 * Voids an invoice: its units and serial numbers are in stock again. Those of a return are the invoice's again. A void
 * invoice stays unchanged. Throws ORDER_CLOSED for an invoice with a return that is not void.
 */
function* voidInvoice({ orders }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { now, by } = options;
  const { key: orderNumber, fields } = splitKey(body, 'ORDER_NUMBER');
  const { REASON, ...others } = fields;
  parseOnly(orders, others);
  const reason = parseReason(REASON);
  const order = yield* loadTarget('orders', orderNumber, options, [requestLoad('lines', orderNumber)]);
  if (isCancelled(order) && order['ORDER_TYPE'] === 'invoice') return stageOf(order, '');
  const changed = orThrow(voided(order));
  const lines = yield* loadValue('lines', orderNumber);
  if (!order['RETURN_OF']) yield* checkNotReturned(orderNumber, 'ORDER_NUMBER');
  yield* order['RETURN_OF'] ? keepSold(order, lines) : returnSerials(orderNumber, lines);
  yield requestSave('update', 'orders', order, { ...changed, MODIFIED_DATE: now });
  const cause = { now, by, REASON: reason, ORDER_NUMBER: orderNumber };
  yield* moveStock(stockMovements([order, lines], [changed, lines]), cause);
  return stageOf(changed, '');
}

export const ORDER_WRITES = { updateOrder, cancelOrder, approveOrder, invoiceOrder, voidInvoice, returnOrder };
