/**
 * `npm run bench:few-calls`: much in one call beside the same in many, one caller, call after call. The two ways take
 * turns, on records that neither has read before. Ends with 1 when a bar was missed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../test/kit/service.ts';
import type { LoadRequest } from './load-generator.ts';
import { readOptions, type StoreName } from './options.ts';
import { countOf } from './paging.ts';
import { openPlaces } from './places.ts';
import { lineRecord, LINES_EACH, orderNumber, orderRecord, type RecordFile } from './records.ts';
import { checkBar, describeMachine, formatRatio, printRow, ratioOf, reportBars } from './report.ts';
import { seed } from './seed.ts';
import { startService, THIS_CHECKOUT } from './servers.ts';
import { callOf } from './side.ts';

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
type Send = (asked: LoadRequest) => Promise<Answer>;
type Call = ReturnType<typeof callOf>;

/** Two ways to do the same. Both get the number of the round; round 0 warms up and is repeated. */
interface Comparison {
  readonly name: string;
  /** How many times faster the one call has to be. */
  readonly bars: Readonly<Record<StoreName, number>>;
  readonly inOne: (round: number) => Promise<unknown>;
  readonly inMany: (round: number) => Promise<unknown>;
}

const NEW_ORDER = { CUSTOMER_CODE: 'VINET', ORDER_TYPE: 'sales_order', BNAME: 'Vins et alcools', BCITY: 'Reims' };
const storefrontNumber = (i: number): string => `#S${i}`;
const partCode = (i: number): string => `PART-${i % PARTS}`;
const range = (first: number, count: number): number[] => Array.from({ length: count }, (_, at) => first + at);

function listComparisons(send: Send, call: Call): Comparison[] {
  let cursor: string | undefined;
  const newLines = range(0, LINES_A_BATCH).map((i) => ({ PART_CODE: partCode(i), QUANTITY: '2', UNIT_PRICE: '14.5' }));
  const expect = ({ bytes }: Answer, key: string, count: number): void => {
    const found = countOf(bytes, key);
    if (found !== count) throw new Error(`${found} of ${count} ${key}: ${bytes.toString().slice(0, 200)}`);
  };
  return [
    {
      name: `${ORDERS_A_PAGE} orders with lines`,
      bars: { sqlite: 50, postgres: 50 },
      inOne: async (round) => {
        if (round === 0) cursor = undefined;
        const page = { include: 'lines', maxReturn: String(ORDERS_A_PAGE), ...(cursor !== undefined && { cursor }) };
        const answer = await send(call('POST', '/orders/query', page, []));
        cursor = answer.headers.get('x-next-cursor')!;
        expect(answer, '"ORDER_LINEITEMS":', ORDERS_A_PAGE * LINES_EACH);
      },
      inMany: async (round) => {
        for (const i of range(round * ORDERS_A_PAGE, ORDERS_A_PAGE))
          expect(
            await send(call('GET', '/orders/single', { orderNum: orderNumber(i) })),
            '"ORDER_LINEITEMS":',
            LINES_EACH,
          );
      },
    },
    {
      name: `${NUMBERS_A_LOOKUP} storefront numbers`,
      bars: { sqlite: 10, postgres: 10 },
      inOne: async (round) => {
        const numbers = range(round * NUMBERS_A_LOOKUP, NUMBERS_A_LOOKUP).map(storefrontNumber);
        expect(
          await send(call('POST', '/orders/by_storefront_reference', {}, numbers)),
          '"order_type":',
          numbers.length,
        );
      },
      inMany: async (round) => {
        for (const i of range(round * NUMBERS_A_LOOKUP, NUMBERS_A_LOOKUP)) {
          const query = { storefront_order_number: storefrontNumber(i) };
          expect(await send(call('GET', '/orders/by_storefront_reference', query)), '"order_type":', 1);
        }
      },
    },
    {
      name: `an order with ${LINES_A_BATCH} new lines`,
      bars: { sqlite: 10, postgres: 15 },
      inOne: async () => {
        const step = (line: object): object => ({
          operation: 'addLineItem',
          body: { ORDER_NUMBER: '$0.data', ...line },
        });
        const steps = [{ operation: 'createOrder', body: NEW_ORDER }, ...newLines.map(step)];
        expect(await send(call('POST', '/batch', {}, steps)), '"status":"success"', steps.length + 1);
      },
      inMany: async () => {
        const { bytes } = await send(call('PUT', '/orders/create', {}, NEW_ORDER));
        const { data: ORDER_NUMBER } = JSON.parse(bytes.toString()) as { data: string };
        for (const line of newLines)
          expect(await send(call('PUT', '/orders/line_item', {}, { ORDER_NUMBER, ...line })), '"status":"success"', 1);
      },
    },
  ];
}

/** Writes orders with three lines, each under another storefront number, and the parts of new lines. */
function writeFiles(count: number): RecordFile[] {
  const folder = temporaryFolder();
  const orders = range(0, count).map((i) => ({ ...orderRecord(i, count), REFERENCE_NUMBER: storefrontNumber(i) }));
  const lines = range(0, count * LINES_EACH).map((k) => lineRecord(Math.floor(k / LINES_EACH), k % LINES_EACH, count));
  const inventory = range(0, PARTS).map((i) => ({ PART_CODE: partCode(i), QTY_ONHAND: '1000000' }));
  return Object.entries({ inventory, orders, lines }).map(([recordType, records]) => {
    const file = join(folder, `${recordType}.csv`);
    const rows = [Object.keys(records[0]!), ...records.map((record) => Object.values(record))];
    // No value has a comma or a quote in it.
    writeFileSync(file, rows.map((cells) => `${cells.join(',')}\n`).join(''));
    return { name: recordType, recordType: recordType as RecordFile['recordType'], file, count: records.length };
  });
}

/** One caller, who sends a call after the answer to the one before, and asks for no compression. */
const callerOf =
  (origin: string): Send =>
  async ({ method, path, headers: sent, body }) => {
    const headers = { ...sent, 'accept-encoding': 'identity' };
    const answer = await fetch(origin + path, { method, headers, ...(body !== undefined && { body }) });
    return { bytes: Buffer.from(await answer.arrayBuffer()), headers: answer.headers };
  };

async function measure(store: StoreName, rounds: number): Promise<void> {
  const places = await openPlaces(store);
  const place = await places.make();
  const { keys } = await seed({ place, checkout: THIS_CHECKOUT }, writeFiles((rounds + 2) * ORDERS_A_PAGE));
  const server = await startService(place);
  try {
    for (const comparison of listComparisons(callerOf(server.origin), callOf(keys)))
      await compare(store, comparison, rounds);
  } finally {
    await server.stop();
    await places.close();
  }
}

async function compare(store: StoreName, { name, bars, inOne, inMany }: Comparison, rounds: number): Promise<void> {
  const times = { inOne: [] as { ms: number }[], inMany: [] as { ms: number }[] };
  const ways = [
    ['inOne', inOne],
    ['inMany', inMany],
  ] as const;
  for (const [, run] of ways) for (const end = performance.now() + WARM_UP_MS; performance.now() < end;) await run(0);
  for (let round = 1; round <= rounds; round++)
    for (const [way, run] of round % 2 === 0 ? ways : ways.toReversed()) {
      const begunAt = performance.now();
      await run(round);
      times[way].push({ ms: performance.now() - begunAt });
    }
  const middle = (list: { ms: number }[]): number =>
    list.map(({ ms }) => ms).toSorted((a, b) => a - b)[list.length >> 1]!;
  const ratio = ratioOf(times.inMany, times.inOne, 'ms');
  printRow(`${store}: ${name}`, middle(times.inOne), middle(times.inMany), ...formatRatio(ratio));
  checkBar(`${store}: ${name}, ratio`, ratio.median, ratio.median >= bars[store], `${bars[store]} at least`);
}

const { stores, rounds } = readOptions(['--rounds', '15', ...process.argv.slice(2)]);
console.log(describeMachine());
printRow('', 'one call, ms', 'many, ms', 'ratio', 'quartiles');
for (const store of stores) await measure(store, rounds);
reportBars();
