/**
 * Keeps a storefront and Storeroom in step: orders in, stock out, status back. You can kill and restart the program at
 * any time: nothing is written twice or lost. Copy it and replace storefront.ts for your storefront.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { deriveFulfillment, Storeroom, StoreroomError } from '@storeroom/client';
import * as storefront from './storefront.ts';
import type { SoldOrder } from './storefront.ts';

const BASE = process.env['BASE'] ?? 'http://127.0.0.1:8080/tenant/api/pims/v1';
const KEYS = JSON.parse(readFileSync(process.env['KEYS_FILE'] ?? 'keys.json', 'utf8')) as {
  teamID: string;
  apiID: string;
  apiSecret: string;
};
const ROUND_MS = Number(process.env['ROUND_SECONDS'] ?? 60) * 1000;
const PAUSE_MS = 3_600_000;
/** Shorter than the 24 hours for which Storeroom keeps an Idempotency-Key. */
const KEY_KEPT_MS = 20 * 3_600_000;
/** A change can become visible a little after its MODIFIED_DATE. */
const OVERLAP_MS = 60_000;

const storeroom = new Storeroom({ baseUrl: BASE, ...KEYS, tries: 4, timeoutMs: 30_000 });

class HalfAnOrder extends Error {}

/** The newest MODIFIED_DATE read so far. The first round reads all parts. */
let stockSeen = '';

for (;;) {
  let pauseMs = ROUND_MS;
  try {
    await bringOrdersIn();
    await sendStockOut();
    await bringStatusBack();
  } catch (error) {
    if (!(error instanceof StoreroomError)) throw error;
    console.error(error.message);
    // The next round does the rest, after an hour if the monthly quota is used up. Other errors need a person.
    if (error.code === 'QUOTA_EXCEEDED') pauseMs = PAUSE_MS;
    else if (!error.repeatable) process.exit(1);
  }
  await wait(pauseMs);
}

async function bringOrdersIn(): Promise<void> {
  for (const order of storefront.newOrders())
    try {
      storefront.markTaken(order.number, (await findOldOrder(order)) ?? (await createOrder(order)));
    } catch (error) {
      if (!(error instanceof HalfAnOrder) && !isWrong(error)) throw error;
      storefront.setAside(order.number, error.message);
    }
}

/** Returns whether Storeroom refused the order itself, so that the program can continue with the others. */
function isWrong(error: unknown): error is StoreroomError {
  if (!(error instanceof StoreroomError) || error.repeatable) return false;
  return error.code !== 'QUOTA_EXCEEDED' && error.status !== 401 && error.status !== 403;
}

/** Creates an order with its lines. A key made from its number lets the next run continue where this one ended. */
async function createOrder({ number, name, shipping, lines }: SoldOrder): Promise<string> {
  const { orderNumber } = await storeroom.orders.createWithLines(
    { REFERENCE_NUMBER: number, ORDER_TYPE: 'sales_order', SNAME: name, FREIGHT: shipping },
    lines.map(({ part, quantity, price }) => ({ PART_CODE: part, QUANTITY: quantity, UNIT_PRICE: price })),
    { idempotencyKey: encodeURIComponent(number) },
  );
  return orderNumber;
}

/** Returns the number of an order that an earlier run may have sent under a key that has expired. */
async function findOldOrder({ number, soldAt, lines }: SoldOrder): Promise<string | undefined> {
  if (Date.now() - Date.parse(soldAt) < KEY_KEPT_MS) return undefined;
  const found = await storeroom.orders.byStorefrontReference(number);
  const orders = found.orders.toSorted((a, b) => Number(a.pims_order_number) - Number(b.pims_order_number));
  if (orders.length === 0) return undefined;
  const count = orders.flatMap(({ items }) => items).length;
  if (count < lines.length) throw new HalfAnOrder(`HALF_AN_ORDER: ${count} of ${lines.length} lines are there.`);
  return orders[0]!.pims_order_number!;
}

async function sendStockOut(): Promise<void> {
  const since = stockSeen && new Date(Date.parse(stockSeen) - OVERLAP_MS).toISOString();
  const parts = storeroom.inventory.query(since === '' ? [] : [{ field: 'MODIFIED_DATE', op: 'ge', value: since }], {
    fields: ['PART_CODE', 'QTY_AVAILABLE', 'MODIFIED_DATE'],
  });
  let newest = stockSeen;
  for await (const { records } of parts.pages()) {
    storefront.publishStock(Object.fromEntries(records.map((part) => [part.PART_CODE, part.QTY_AVAILABLE])));
    for (const { MODIFIED_DATE } of records) if (MODIFIED_DATE > newest) newest = MODIFIED_DATE;
  }
  stockSeen = newest;
}

async function bringStatusBack(): Promise<void> {
  for (const lookup of await storeroom.orders.byStorefrontReference(storefront.openNumbers())) {
    const { state, shipped, ordered, trackingNumbers } = deriveFulfillment(lookup);
    storefront.publishStatus(lookup.storefront_order_number, { state, shipped, ordered, tracking: trackingNumbers });
  }
}
