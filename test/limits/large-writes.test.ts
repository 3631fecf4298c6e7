/**
 * Tests that others are served while a tenant writes much, that no one sees half of a large write, and that a stop or a
 * kill in the middle leaves all of it or nothing.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { readMetrics, sumOf } from '../kit/metrics.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const LINES_MAX = 10_000;
/** Parts of the order, each on one line. A page has half of them. */
const PARTS = LINES_MAX;
const PAGE = PARTS / 2;
/** Calls that are answered in turn during a large write, on average. Without slices, at most the first two are. */
const ANSWERED_LEAST = 4;

const service = await ownService();
const [busy, other, quiet] = [
  await Shop.open(service, 'busy'),
  await Shop.open(service, 'other'),
  await Shop.open(service, 'quiet'),
];
const part = (index: number): string => `PART-${index}`;
/** Makes an order that commits a unit of each part, each on a line. */
async function makeOrder(shop: Shop, parts: number): Promise<string> {
  await shop.load(
    'inventory',
    times(parts, (index) => ({ PART_CODE: part(index), QTY_ONHAND: '100' })),
  );
  const ORDER_NUMBER = await shop.newOrder({ ORDER_TYPE: 'sales_order' });
  await shop.load(
    'lines',
    times(parts, (index) => ({ ORDER_NUMBER, PART_CODE: part(index), QUANTITY: '1' })),
  );
  return ORDER_NUMBER;
}
const ORDER_NUMBER = await makeOrder(busy, PARTS);
const ORDER_OF_OTHER = await makeOrder(other, PARTS / 10);
const own = await quiet.newOrder();

/** Makes the large write: with 'Y', the order commits no units, with 'N', one of each part. */
const dropShip = (value: 'Y' | 'N', shop = busy, order = ORDER_NUMBER): Promise<Values> =>
  succeed(shop.updateOrder({ ORDER_NUMBER: order, DROP_SHIP: value }));
/** Returns the different committed quantities of a page of parts: one, unless half of a write is seen. */
async function committed(shop = busy): Promise<string[]> {
  const found = await succeed<Values[]>(
    shop.queryInventoryItems([], { maxReturn: String(PAGE), fields: 'PART_CODE,QTY_COMMITTED' }),
  );
  assert.equal(found.length, PAGE);
  return [...new Set(found.map(({ QTY_COMMITTED }) => QTY_COMMITTED!))];
}

const countInFlight = async (): Promise<number> =>
  sumOf((await readMetrics(service)).samples, 'storeroom_requests_in_flight')!;

/** Asks again and again while the write runs, and returns the responses that arrived before the response of the write. */
async function askDuring<T>(write: Promise<unknown>, ask: () => Promise<T>): Promise<T[]> {
  let isOver = false;
  void write.finally(() => (isOver = true));
  const answers: T[] = [];
  for (;;) {
    const answer = await ask();
    if (isOver) return answers;
    answers.push(answer);
  }
}

test('calls of another tenant succeed while an order of 10,000 lines changes', async () => {
  const values = ['Y', 'N', 'Y', 'N'] as const;
  let answered = 0;
  for (const value of values) answered += (await askDuring(dropShip(value), () => quiet.order(own))).length;
  assert.ok(answered >= ANSWERED_LEAST * values.length, `${answered} answered`);
});

test('reads of the same tenant succeed meanwhile, and show the write whole or not at all', async () => {
  assert.deepEqual(await committed(), ['1']);
  const write = dropShip('Y');
  const filters = [{ field: 'ORDER_NUMBER', value: ORDER_NUMBER }];
  const orders = askDuring(write, async () => {
    const [order] = await succeed<Values[]>(busy.queryOrders(filters, { fields: 'DROP_SHIP' }));
    return order!['DROP_SHIP'];
  });
  const units = askDuring(write, async () => {
    const found = await Promise.all([0, PARTS - 1].map((index) => succeed(busy.getInventoryItem(part(index)))));
    return found.map(({ QTY_COMMITTED }) => QTY_COMMITTED);
  });
  const pages = await askDuring(write, committed);
  const seen = await orders;
  assert.ok(seen.length > 0, 'a read is answered before the write');
  // The last reads may show the whole, because its own response is still on its way.
  assert.match(seen.join(''), /^N+Y*$/);
  for (const quantities of pages) assert.equal(new Set(quantities).size, 1);
  const mixed = (await units).filter((quantities) => new Set(quantities).size > 1);
  assert.ok(mixed.length <= 1, 'only the two calls beside the commit differ');
  assert.deepEqual(await committed(), ['0']);
  await dropShip('N');
});

test('two tenants with large writes take turns: a shorter write that is sent later ends first', async () => {
  const ends: string[] = [];
  const note = async (what: string, write: Promise<unknown>): Promise<void> => {
    await write;
    ends.push(what);
  };
  const long = note('long', dropShip('Y'));
  await quiet.order(own);
  await Promise.all([
    note('short', dropShip('Y', other, ORDER_OF_OTHER)),
    note('small', succeed(quiet.updateOrder({ ORDER_NUMBER: own, NOTES: 'small' }))),
    long,
  ]);
  assert.equal(ends.at(-1), 'long');
  await dropShip('N');
  await dropShip('N', other, ORDER_OF_OTHER);
});

test('writes of a tenant run in their order, large and small', async () => {
  let answered = 0;
  const large = (value: 'Y' | 'N'): Promise<Values> => dropShip(value, other, ORDER_OF_OTHER);
  const small = (NOTES: string): Promise<Values> => succeed(other.updateOrder({ ORDER_NUMBER: ORDER_OF_OTHER, NOTES }));
  const answers: Promise<Values>[] = [];
  for (const [index, write] of [
    () => large('Y'),
    () => small('second'),
    () => large('N'),
    () => small('fourth'),
  ].entries()) {
    answers.push(write().finally(() => answered++));
    // The next one is sent after the one before it has arrived.
    await until(async () => answered + (await countInFlight()) > index);
  }
  const states = (await Promise.all(answers)).map(({ NOTES, DROP_SHIP }) => `${NOTES} ${DROP_SHIP}`);
  assert.deepEqual(states, [' Y', 'second Y', 'second N', 'fourth N']);
});

suite('in the middle of a large write', () => {
  for (const signal of ['SIGKILL', 'SIGTERM'] as const)
    test(`${signal} leaves all of it or nothing, and all if it was acknowledged`, async () => {
      assert.deepEqual(await committed(), ['1']);
      const answering = dropShip('Y').then(
        () => true,
        () => false,
      );
      for (let asked = 0; asked < ANSWERED_LEAST / 2; asked++) await quiet.order(own);
      await service.stop(signal);
      const isAcknowledged = await answering;
      await service.restart();
      const isWritten = (await busy.order(ORDER_NUMBER))['DROP_SHIP'] === 'Y';
      assert.deepEqual(await committed(), [isWritten ? '0' : '1']);
      if (isAcknowledged) assert.ok(isWritten);
      // A service that stops in order finishes the writes that it has accepted.
      if (signal === 'SIGTERM') assert.ok(isAcknowledged);
      if (isWritten) await dropShip('N');
    });
});
