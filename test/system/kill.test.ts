/**
 * Kills the service with SIGKILL under mixed load, again and again on one store: nothing acknowledged is lost or
 * changed, no number is given twice, and every answered call is counted; sales of a till, repeated with their keys,
 * happen once. STOREROOM_TEST_KILLS sets how often. Power loss is tested in test/faults; the time of a start is
 * measured in bench/.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { range, times, valuesOf } from '../kit/lists.ts';
import { isFromSources } from '../kit/program.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { ownService, STORE, temporaryFolder, type Keys } from '../kit/service.ts';
import { HttpClient, NoAnswer } from '../kit/http-client.ts';
import { trials } from '../kit/trials.ts';
import { until } from '../kit/wait.ts';
import { MixedLoad } from './mixed-load.ts';

const KILLS = trials('KILLS', { quick: 2, all: 10 });
const CONNECTIONS = trials('CONNECTIONS', { quick: 16, all: 64 });
/** Maximum acknowledged writes before a kill. */
const WRITES_MAX = 300;

const service = await ownService();
const client = await HttpClient.open(service, CONNECTIONS);

test(`${KILLS} kills lose no acknowledged write`, async (context) => {
  const load = await MixedLoad.open(client, service);
  for (let kill = 0; kill < KILLS; kill++) {
    const wanted = load.acknowledged + 1 + Math.floor(Math.random() * WRITES_MAX);
    let killed: Promise<number | null> | undefined;
    await load.run(CONNECTIONS, () => {
      if (load.acknowledged >= wanted) killed ??= service.stop('SIGKILL');
      return service.hasExited;
    });
    assert.equal(await killed, null, 'the service ended before it was killed');
    await service.restart();
    await load.repeatUnanswered();
  }
  await load.check(service);
  context.diagnostic(`${load.acknowledged} acknowledged writes; answers ${JSON.stringify([...load.statuses])}`);
  const others = new Set(load.statuses.keys()).difference(new Set([200, 400]));
  assert.deepEqual(others, new Set(), 'no other answers to good credentials');
});

/** Maximum acknowledged sales before a kill. */
const SALES_MAX = 60;
const STOCK = 100_000;

/** Returns the steps of a sale of two and three units, of which the invoice leaves one open. */
function saleOf(sale: number): { operation: string; body: object }[] {
  const order = { ORDER_NUMBER: '$0.data' };
  const addLine = (QUANTITY: string) => ({ operation: 'addLineItem', body: { ...order, PART_CODE: 'P', QUANTITY } });
  const invoiceLine = (step: number, QUANTITY: string) => ({
    LINE_REF_LOCK_CODE: `$${step}.data.LINE_REF_LOCK_CODE`,
    QUANTITY,
  });
  return [
    { operation: 'createOrder', body: { REFERENCE_NUMBER: `#${sale}` } },
    addLine('2'),
    addLine('3'),
    { operation: 'approveOrder', body: order },
    { operation: 'invoiceOrder', body: { ...order, lines: [invoiceLine(1, '1'), invoiceLine(2, '3')] } },
  ];
}

/** Checks that each sale is there once, whole, and under the number of its answer, and has moved the stock once. */
async function checkSales(shop: Shop, numbers: ReadonlyMap<number, string>): Promise<void> {
  const count = numbers.size;
  const { records: orders } = await shop.run<{ records: Values[] }>('export', 'till', 'orders');
  const { records: lines } = await shop.run<{ records: Values[] }>('export', 'till', 'lines');
  const linesOf = Map.groupBy(lines, (line) => line['ORDER_NUMBER']);
  const shown = orders.map(({ REFERENCE_NUMBER, ORDER_TYPE, ORDER_NUMBER }) => {
    const quantities = valuesOf(linesOf.get(ORDER_NUMBER) ?? [], 'QUANTITY');
    return `${REFERENCE_NUMBER} ${ORDER_TYPE} ${quantities.join(' and ')}`;
  });
  const expected = range(count).flatMap((sale) => [`#${sale} invoice 1 and 3`, `#${sale} sales_order 1`]);
  assert.deepEqual(shown.toSorted(), expected.toSorted(), 'each sale is there once, with all its steps');
  const invoices = orders.filter(({ ORDER_TYPE }) => ORDER_TYPE === 'invoice');
  const found = invoices.map((order) => [Number(order['REFERENCE_NUMBER']!.slice(1)), order['ORDER_NUMBER']!] as const);
  assert.deepEqual(new Map(found), numbers, 'under the number of its answer');
  const { QTY_ONHAND, QTY_COMMITTED } = await succeed(shop.getInventoryItem('P'));
  assert.deepEqual([QTY_ONHAND, QTY_COMMITTED], [String(STOCK - 4 * count), String(count)]);
  assert.equal((await shop.run<{ count: number }>('check')).count, 0);
}

// Holds S10.5, S10.8, S10.9, S11.1.
test(`a till's sale in one batch, killed ${KILLS} times and repeated with its key, happens once`, async (context) => {
  const shop = await Shop.open(service, 'till');
  await shop.load('inventory', [{ PART_CODE: 'P', QTY_ONHAND: String(STOCK) }]);
  const till = await shop.run<Keys & Values>('keys', 'create', 'till', '--name', 'till', '--scope', 'office');
  const numbers = new Map<number, string>();
  const unanswered: number[] = [];
  /** Before a kill, answers are ignored, because few kills come between a commit and its answer. */
  let isCut = false;
  let [begun, answered, cut, lost, replayed] = [0, 0, 0, 0, 0];
  const sell = async (sale: number): Promise<void> => {
    const headers = { 'idempotency-key': `sale-${sale}` };
    const answer = await client
      .call(till, 'POST', '/batch', { body: saleOf(sale), headers })
      .catch((fault: unknown) => {
        if (!(fault instanceof NoAnswer)) throw fault;
        if (fault.wasSent) lost++;
      });
    if (answer) {
      answered++;
      assert.equal(answer.status, 200, answer.text);
      if (answer.headers.has('idempotent-replayed')) replayed++;
    }
    if (answer && !isCut) return void numbers.set(sale, answer.body.data[0].data as string);
    if (answer) cut++;
    unanswered.push(sale);
  };
  for (let kill = 0; kill < KILLS; kill++) {
    const wanted = numbers.size + 1 + Math.floor(Math.random() * SALES_MAX);
    const cutBefore = cut + Math.floor(Math.random() * CONNECTIONS);
    let killed: Promise<number | null> | undefined;
    const work = async (): Promise<void> => {
      while (!service.hasExited) {
        await sell(unanswered.shift() ?? ++begun);
        isCut ||= numbers.size >= wanted;
        if (cut > cutBefore) killed ??= service.stop('SIGKILL');
      }
    };
    await Promise.all(times(CONNECTIONS, work));
    assert.equal(await killed, null, 'the service ended before it was killed');
    await service.restart();
    isCut = false;
  }
  await Promise.all(unanswered.splice(0).map(sell));
  assert.equal(numbers.size, begun, 'every sale is answered in the end');
  context.diagnostic(`${begun} sales, ${lost} batches without and ${cut} with a late answer, ${replayed} replayed`);

  await checkSales(shop, numbers);
  const { byOperation } = await shop.run<{ byOperation: { operation: string; calls: number }[] }>('usage', 'till');
  const counted = Object.fromEntries(byOperation.map(({ operation, calls }) => [operation, calls]));
  const batches = counted['createOrder']!;
  assert.ok(answered <= batches && batches <= answered + lost, `${batches} of ${answered} + ${lost} batches counted`);
  const { addLineItem, approveOrder, invoiceOrder } = counted;
  assert.deepEqual([addLineItem, approveOrder, invoiceOrder], [2 * batches, batches, batches]);
});

// The compile cache is the same with every store.
if (STORE === 'sqlite')
  test('the compile cache of a killed service is there for the next start', async () => {
    // The compiled program is one file, and the modules of Node are not in this cache.
    const least = isFromSources ? 100 : 1;
    const cache = temporaryFolder();
    const killed = await ownService({ asShipped: true, env: { NODE_COMPILE_CACHE: cache } });
    // The service writes the cache once it is ready, and does not report that.
    await until(() => readdirSync(cache, { recursive: true }).length >= least);
    assert.equal(await killed.stop('SIGKILL'), null);
  });
