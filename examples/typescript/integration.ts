/**
 * Keeps a storefront and Storeroom in step: orders in, stock out, status back. It may be killed and started again at any
 * time: nothing is doubled, nothing is lost. Copy it and write storefront.ts for your storefront.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { call, Problem } from './client.ts';
import * as storefront from './storefront.ts';
import type { SoldOrder, Status } from './storefront.ts';

const ROUND_MS = Number(process.env['ROUND_SECONDS'] ?? 60) * 1000;
const PAUSE_MS = 3_600_000;
const STEPS_MAX = 100;
const NUMBERS_MAX = 100;
/** Storeroom keeps an Idempotency-Key for 24 hours. */
const KEY_KEPT_MS = 20 * 3_600_000;
/** A change can become visible a little after its MODIFIED_DATE. */
const OVERLAP_MS = 60_000;

interface PimsOrder {
  readonly order_type: string;
  readonly pims_order_number: string;
  readonly tracking_numbers: readonly string[];
  readonly items: readonly { readonly quantity: number; readonly shipped: number }[];
  readonly cancelled?: true;
}
interface Lookup {
  readonly storefront_order_number: string;
  readonly orders: readonly PimsOrder[];
}
type Part = Record<'PART_CODE' | 'QTY_AVAILABLE' | 'MODIFIED_DATE', string>;

/** The newest MODIFIED_DATE seen. After a start all parts are read once. */
let stockSeen = '';

for (;;) {
  let pauseMs = ROUND_MS;
  try {
    await bringOrdersIn();
    await sendStockOut();
    await bringStatusBack();
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    console.error(problem.message);
    // What is left comes with the next round.
    if (problem.action === 'pause') pauseMs = PAUSE_MS;
    else if (problem.action !== 'repeat') process.exit(1);
  }
  await wait(pauseMs);
}

async function bringOrdersIn(): Promise<void> {
  for (const order of storefront.newOrders())
    try {
      storefront.markTaken(order.number, (await findOldOrder(order)) ?? (await createOrder(order)));
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.action !== 'set aside') throw problem;
      storefront.setAside(order.number, problem.message);
    }
}

/** The order and its first lines in one batch, all or nothing; further lines in others. Each batch has its own key. */
async function createOrder({ number, name, shipping, lines }: SoldOrder): Promise<string> {
  const order = { REFERENCE_NUMBER: number, ORDER_TYPE: 'sales_order', SNAME: name, FREIGHT: shipping };
  let steps = [{ operation: 'createOrder', body: literal(order) }];
  let orderNumber = '$0.data';
  for (const [at, { part, quantity, price }] of lines.entries()) {
    const line = literal({ PART_CODE: part, QUANTITY: quantity, UNIT_PRICE: price });
    steps.push({ operation: 'addLineItem', body: { ORDER_NUMBER: orderNumber, ...line } });
    if (steps.length < STEPS_MAX && at < lines.length - 1) continue;
    const created = await sendBatch(steps, `${encodeURIComponent(number)}/${at}`);
    if (orderNumber === '$0.data') orderNumber = created;
    steps = [];
  }
  return steps.length === 0 ? orderNumber : sendBatch(steps, encodeURIComponent(number));
}

/** What the first step answered. */
async function sendBatch(steps: object[], key: string): Promise<string> {
  const [{ data }] = await call<{ data: { data: string }[] }>('POST', '/batch', { body: steps, key });
  return data[0]!.data;
}

/** A `$` at the start of a text would refer to a step before. */
function literal(fields: Record<string, string>): Record<string, string> {
  const escape = (value: string): string => (value.startsWith('$') ? `$${value}` : value);
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, escape(value)]));
}

/** Of an order that a run may have sent when its key has been forgotten since: what Storeroom has of it. */
async function findOldOrder({ number, soldAt, lines }: SoldOrder): Promise<string | undefined> {
  if (Date.now() - Date.parse(soldAt) < KEY_KEPT_MS) return undefined;
  const [found] = await lookUp([number]);
  const orders = found!.orders.toSorted((a, b) => Number(a.pims_order_number) - Number(b.pims_order_number));
  if (orders.length === 0) return undefined;
  const count = orders.flatMap(({ items }) => items).length;
  if (count < lines.length)
    throw new Problem('set aside', 'HALF_AN_ORDER', `${count} of ${lines.length} lines are there.`);
  return orders[0]!.pims_order_number;
}

async function sendStockOut(): Promise<void> {
  const since = stockSeen && new Date(Date.parse(stockSeen) - OVERLAP_MS).toISOString();
  const filters = since === '' ? [] : [{ field: 'MODIFIED_DATE', op: 'ge', value: since }];
  const fields = 'PART_CODE,QTY_AVAILABLE,MODIFIED_DATE';
  let newest = stockSeen;
  let cursor: string | null = null;
  do {
    const query: Record<string, string> = { fields, ...(cursor !== null && { cursor }) };
    const [page, next]: [{ data: Part[] }, string | null] = await call('POST', '/inventory/query', {
      query,
      body: filters,
    });
    storefront.publishStock(Object.fromEntries(page.data.map((part) => [part.PART_CODE, part.QTY_AVAILABLE])));
    for (const { MODIFIED_DATE } of page.data) if (MODIFIED_DATE > newest) newest = MODIFIED_DATE;
    cursor = next;
  } while (cursor !== null);
  stockSeen = newest;
}

async function bringStatusBack(): Promise<void> {
  const numbers = storefront.openNumbers();
  for (let from = 0; from < numbers.length; from += NUMBERS_MAX)
    for (const { storefront_order_number: number, orders } of await lookUp(numbers.slice(from, from + NUMBERS_MAX)))
      storefront.publishStatus(number, statusOf(orders));
}

/** In halves where one answer does not hold them all. */
async function lookUp(numbers: readonly string[]): Promise<readonly Lookup[]> {
  try {
    return (await call<Lookup[]>('POST', '/orders/by_storefront_reference', { body: numbers }))[0];
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.code !== 'RESULT_TOO_LARGE' || numbers.length === 1) throw problem;
    const half = Math.ceil(numbers.length / 2);
    return [...(await lookUp(numbers.slice(0, half))), ...(await lookUp(numbers.slice(half)))];
  }
}

/** Adds up over all invoices and sales orders: a partial invoice makes two orders of one. */
function statusOf(orders: readonly PimsOrder[]): Status {
  const binding = orders.filter(
    ({ order_type, cancelled }) => !cancelled && /^(invoice|sales_order)$/.test(order_type),
  );
  const items = binding.flatMap((order) => order.items);
  const ordered = items.reduce((sum, { quantity }) => sum + quantity, 0);
  const shipped = items.reduce((sum, item) => sum + item.shipped, 0);
  const tracking = binding.flatMap(({ tracking_numbers }) => tracking_numbers);
  const isOver = binding.length > 0 && binding.every(({ order_type }) => order_type === 'invoice');
  const isCancelled = binding.length === 0 && orders.some(({ cancelled }) => cancelled);
  const state = isCancelled ? 'cancelled' : isOver ? 'shipped' : shipped > 0 ? 'shipped in part' : 'open';
  return { state, shipped, ordered, tracking };
}
