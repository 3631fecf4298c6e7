/** The writes that change, cancel, approve, invoice or void an order. Each has the same steps as in writes.ts. */
import { orThrow } from '../../errors.ts';
import type { Dictionaries, FieldDictionary } from '../rules/fields.ts';
import { approveOrder, cancelled, changeOrder, invoiceOrder, voided, type OrderTransition } from '../rules/order.ts';
import { isCancelled } from '../rules/stages.ts';
import type { Json } from '../rules/json.ts';
import { requestLoad, loadValue, requestSave, type Save, type Script } from './script.ts';
import { commitUnits, holdsStock, stockMovements } from '../rules/stock.ts';
import { checkText, complete, parseValues, type Values } from '../rules/values.ts';
import { checkKnown, createdAt, loadTarget, nextNumber, splitKey, type Body, type WriteOptions } from './writes.ts';
import { moveStock, returnSerials, sellSerials } from './ledger.ts';

/** Changes fields of an order and returns it. Refuses ORDER_TYPE, because stages change in the back office. */
export function* updateOrder({ orders }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key: orderNumber, fields } = splitKey(body, 'ORDER_NUMBER');
  const change = parseValues(orders, 'orders', fields, ['ORDER_TYPE']);
  const ahead = change['DROP_SHIP'] === undefined ? [] : [requestLoad('unitsOfLines', orderNumber)];
  const order = yield* loadTarget('orders', orderNumber, options, ahead);
  const changed = orThrow(changeOrder(orders, order, change));
  if (options.strict) yield* checkKnown(change, 'CUSTOMER_CODE', 'LOCATION_CODE');
  return yield* saveOrder(orders, order, changed, options.now);
}

/** Cancels an order and returns it. An order that is already cancelled stays unchanged. */
export function* cancelOrder({ orders }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key: orderNumber, fields } = splitKey(body, 'ORDER_NUMBER');
  parseValues(orders, 'orders', fields, Object.keys(fields));
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

/** Moves an order to its next stage and returns its ORDER_NUMBER and `backorder`, which is null if nothing is left. */
export function* advanceOrder(orderNumber: string, transition: OrderTransition, options: WriteOptions): Script<Json> {
  const { now } = options;
  checkText('ORDER_NUMBER', orderNumber);
  if ('invoice' in transition) {
    for (const serial of [...transition.invoice.serials.values()].flat()) checkText('SERIAL_NUMBERS', serial);
    for (const number of transition.invoice.tracking) checkText('TRACKING_NUMBERS', number);
  }
  const order = yield* loadTarget('orders', orderNumber, options, [requestLoad('lines', orderNumber)]);
  const lines = yield* loadValue('lines', orderNumber);
  const step = orThrow(
    'approve' in transition ? approveOrder(order, lines) : invoiceOrder(order, lines, transition.invoice),
  );
  if ('invoice' in transition) yield* sellSerials(step.order, step.lines);
  yield requestSave('update', 'orders', order, { ...step.order, MODIFIED_DATE: now });
  const after = new Map(step.lines.map((line) => [line['LINE_NUMBER'], line]));
  const updates: Save[] = [];
  for (const line of lines) {
    const kept = after.get(line['LINE_NUMBER']);
    if (kept) updates.push(requestSave('updateLine', line, { ...kept, MODIFIED_DATE: now }));
    else yield requestSave('deleteLine', line);
  }
  // A store can join adjacent updates.
  yield* updates;
  let backorder: string | null = null;
  if (step.backorder) {
    backorder = yield* nextNumber('orders');
    yield requestSave('insert', 'orders', { ...step.backorder.order, ORDER_NUMBER: backorder, ...createdAt(now) });
    for (const line of step.backorder.lines)
      yield requestSave('insertLine', { ...line, ORDER_NUMBER: backorder, MODIFIED_DATE: now });
    yield requestSave('keepBackorder', orderNumber, backorder);
  }
  yield* moveStock(step.stock, { now, by: options.by, ORDER_NUMBER: orderNumber });
  return JSON.stringify({ ORDER_NUMBER: orderNumber, backorder });
}

/** Voids an invoice: its units and serial numbers are in stock again. A void invoice stays unchanged. */
export function* voidInvoice(orderNumber: string, reason: string, options: WriteOptions): Script<Json> {
  const { now, by } = options;
  checkText('ORDER_NUMBER', orderNumber);
  const order = yield* loadTarget('orders', orderNumber, options, [requestLoad('lines', orderNumber)]);
  if (isCancelled(order) && order['ORDER_TYPE'] === 'invoice') return JSON.stringify({ ORDER_NUMBER: orderNumber });
  const changed = orThrow(voided(order));
  const lines = yield* loadValue('lines', orderNumber);
  yield requestSave('update', 'orders', order, { ...changed, MODIFIED_DATE: now });
  yield* returnSerials(orderNumber, lines);
  yield* moveStock(stockMovements([order, lines], [changed, lines]), {
    now,
    by,
    REASON: reason,
    ORDER_NUMBER: orderNumber,
  });
  return JSON.stringify({ ORDER_NUMBER: orderNumber });
}
