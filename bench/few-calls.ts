/**
 * `npm run bench:few-calls` compares one large call with many small ones for the same work, by one caller, one call
 * after the other. The two ways take turns, on records that neither has read before. Exits with 1 if a bar is missed.
 */
import { times } from '../test/kit/lists.ts';
import { temporaryFolder } from '../test/kit/service.ts';
import { countOf } from './load/paging.ts';
import { takeTurns } from './load/rounds.ts';
import { readOptions } from './options.ts';
import { lineRecord, LINES_EACH, orderNumber, orderRecord, writeRecords } from './records/records.ts';
import { seed } from './records/seed.ts';
import { checkLeast, describeMachine, formatRatio, median, printRow, ratioOf, reportBars } from './report/report.ts';
import { callOf, type LoadRequest } from './sides/calls.ts';
import { openPlaces, type StoreName } from './sides/places.ts';
import { startService, THIS_CHECKOUT } from './sides/servers.ts';

const ORDERS_A_PAGE = 500;
const NUMBERS_A_LOOKUP = 100;
/** The lines of an order made by one batch, which may have 100 steps. */
const LINES_A_BATCH = 99;
const PARTS = 40;
/** Each way first runs uncounted for this time: code is compiled, threads and connections start. */
const WARM_UP_MS = 3000;

interface Answer {
  readonly bytes: Buffer;
  readonly headers: Headers;
}
/** Sends a call and returns the answer, which must contain a key this many times. */
type Send = (asked: LoadRequest, key: string, expected: number) => Promise<Answer>;
type Call = ReturnType<typeof callOf>;

/** Two ways to do the same work. Both get the number of the round; round 0 warms up and is repeated. */
interface Comparison {
  readonly name: string;
  /** Minimum factor by which the one call has to be faster. */
  readonly bars: Readonly<Record<StoreName, number>>;
  readonly inOne: (round: number) => Promise<unknown>;
  readonly inMany: (round: number) => Promise<unknown>;
}

const SUCCESS = '"status":"success"';
const NEW_ORDER = { CUSTOMER_CODE: 'VINET', ORDER_TYPE: 'sales_order', BNAME: 'Vins et alcools', BCITY: 'Reims' };
const storefrontNumber = (i: number): string => `#S${i}`;
const partCode = (i: number): string => `PART-${i % PARTS}`;
/** Returns the numbers of the items of a round, if each round has `count` items. */
const itemsOf = (round: number, count: number): number[] => times(count, (index) => round * count + index);

function listComparisons(send: Send, call: Call): Comparison[] {
  let cursor: string | undefined;
  const newLines = times(LINES_A_BATCH, (i) => ({ PART_CODE: partCode(i), QUANTITY: '2', UNIT_PRICE: '14.5' }));
  return [
    {
      name: `${ORDERS_A_PAGE} orders with lines`,
      bars: { sqlite: 50, postgres: 50 },
      inOne: async (round) => {
        if (round === 0) cursor = undefined;
        const page = { include: 'lines', maxReturn: String(ORDERS_A_PAGE), ...(cursor !== undefined && { cursor }) };
        const asked = call('POST', '/orders/query', page, []);
        cursor = (await send(asked, '"ORDER_LINEITEMS":', ORDERS_A_PAGE * LINES_EACH)).headers.get('x-next-cursor')!;
      },
      inMany: async (round) => {
        for (const i of itemsOf(round, ORDERS_A_PAGE))
          await send(call('GET', '/orders/single', { orderNum: orderNumber(i) }), '"ORDER_LINEITEMS":', LINES_EACH);
      },
    },
    {
      name: `${NUMBERS_A_LOOKUP} storefront numbers`,
      bars: { sqlite: 10, postgres: 10 },
      inOne: async (round) => {
        const numbers = itemsOf(round, NUMBERS_A_LOOKUP).map(storefrontNumber);
        await send(call('POST', '/orders/by_storefront_reference', {}, numbers), '"order_type":', numbers.length);
      },
      inMany: async (round) => {
        for (const i of itemsOf(round, NUMBERS_A_LOOKUP)) {
          const query = { storefront_order_number: storefrontNumber(i) };
          await send(call('GET', '/orders/by_storefront_reference', query), '"order_type":', 1);
        }
      },
    },
    {
      name: `an order with ${LINES_A_BATCH} new lines`,
      bars: { sqlite: 10, postgres: 15 },
      inOne: async () => {
        const add = (line: object) => ({ operation: 'addLineItem', body: { ORDER_NUMBER: '$0.data', ...line } });
        const steps = [{ operation: 'createOrder', body: NEW_ORDER }, ...newLines.map(add)];
        await send(call('POST', '/batch', {}, steps), SUCCESS, steps.length + 1);
      },
      inMany: async () => {
        const { bytes } = await send(call('PUT', '/orders/create', {}, NEW_ORDER), SUCCESS, 1);
        const { data: ORDER_NUMBER } = JSON.parse(bytes.toString()) as { data: string };
        for (const line of newLines)
          await send(call('PUT', '/orders/line_item', {}, { ORDER_NUMBER, ...line }), SUCCESS, 1);
      },
    },
  ];
}

async function measure(store: StoreName, rounds: number): Promise<void> {
  const places = await openPlaces(store);
  const [place, folder, count] = [await places.make(), temporaryFolder(), (rounds + 2) * ORDERS_A_PAGE];
  const files = [
    writeRecords(folder, 'parts', 'inventory', PARTS, (i) => ({ PART_CODE: partCode(i), QTY_ONHAND: '1000000' })),
    writeRecords(folder, 'orders', 'orders', count, (i) => ({
      ...orderRecord(i, count),
      REFERENCE_NUMBER: storefrontNumber(i),
    })),
    writeRecords(folder, 'lines', 'lines', count * LINES_EACH, (k) =>
      lineRecord(Math.floor(k / LINES_EACH), k % LINES_EACH, count),
    ),
  ];
  const { keys } = await seed({ place, checkout: THIS_CHECKOUT }, files);
  const server = await startService(place);
  const send: Send = async (asked, key, expected) => {
    const { method, path, headers: sent, body } = asked;
    const init = { method, headers: { ...sent, 'accept-encoding': 'identity' }, ...(body !== undefined && { body }) };
    const answer = await fetch(server.origin + path, init);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const found = countOf(bytes, key);
    if (found !== expected) throw new Error(`${found} of ${expected} ${key}: ${bytes.toString().slice(0, 200)}`);
    return { bytes, headers: answer.headers };
  };
  try {
    for (const comparison of listComparisons(send, callOf(keys))) await compare(store, comparison, rounds);
  } finally {
    await server.stop();
    await places.close();
  }
}

async function compare(store: StoreName, { name, bars, inOne, inMany }: Comparison, rounds: number): Promise<void> {
  const ways = [inOne, inMany].map((run) => async (round: number) => {
    const begunAt = performance.now();
    await run(round);
    return { ms: performance.now() - begunAt };
  });
  for (const way of ways) for (const end = performance.now() + WARM_UP_MS; performance.now() < end;) await way(0);
  const [one, many] = (await takeTurns(rounds, ways)) as [{ ms: number }[], { ms: number }[]];
  const ratio = ratioOf(many, one, 'ms');
  const [oneMs, manyMs] = [one, many].map((list) => median(list.map(({ ms }) => ms)));
  printRow(`${store}: ${name}`, oneMs!, manyMs!, ...formatRatio(ratio));
  checkLeast(`${store}: ${name}, ratio`, ratio.median, bars[store]);
}

const { stores, rounds } = readOptions(['--rounds', '15', ...process.argv.slice(2)]);
console.log(describeMachine());
printRow('', 'one call, ms', 'many, ms', 'ratio', 'quartiles');
for (const store of stores) await measure(store, rounds);
reportBars();
