/**
 * An order with 99 lines, as many as a batch of 100 steps has room for: one batch against 100 calls, one caller, in turns:
 * `npm run bench:batch -- sqlite|postgres`. Bar: 10 times as fast on SQLite, 15 times on PostgreSQL.
 */
import { Agent, request } from 'node:http';
import { PostgresServer } from '../test/kit/postgres.ts';
import { Shop } from '../test/kit/records.ts';
import { Service, type Keys } from '../test/kit/service.ts';
import { BASE_PATH } from '../src/http/operations/operation.ts';

const BARS = { sqlite: 10, postgres: 15 };
const LINES = 99;
const PARTS = 40;
const ROUNDS = 15;

const name = process.argv[2] === 'postgres' ? 'postgres' : 'sqlite';
const server = name === 'postgres' ? await PostgresServer.start() : undefined;
const service = await Service.start(server ? { databaseUrl: await server.newDatabase() } : {});
const shop = await Shop.open(service, 'team');
const { keys } = shop;
await shop.load(
  'inventory',
  Array.from({ length: PARTS }, (_, index) => ({ PART_CODE: `PART-${index}`, QTY_ONHAND: '1000000' })),
);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

function call({ teamID, apiID, apiSecret }: Keys, method: string, path: string, body: unknown): Promise<unknown> {
  const authorization = `Basic ${Buffer.from(`${apiID}:${apiSecret}`).toString('base64')}`;
  const text = JSON.stringify(body);
  const headers = { authorization, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const url = `${service.origin}${BASE_PATH}${path}?teamID=${teamID}`;
    const sent = request(url, { agent, method, headers }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
      response.on('end', () =>
        response.statusCode === 200
          ? resolve((JSON.parse(answer) as { data: unknown }).data)
          : reject(new Error(answer.slice(0, 300))),
      );
    });
    sent.on('error', reject).end(text);
  });
}

const order = { CUSTOMER_CODE: 'VINET', ORDER_TYPE: 'sales_order', BNAME: 'Vins et alcools Chevalier', BCITY: 'Reims' };
const lines = Array.from({ length: LINES }, (_, index) => ({
  PART_CODE: `PART-${index % PARTS}`,
  QUANTITY: String((index % 5) + 1),
  UNIT_PRICE: '14.5',
}));

async function singly(): Promise<void> {
  const ORDER_NUMBER = await call(keys, 'PUT', '/orders/create', order);
  for (const line of lines) await call(keys, 'PUT', '/orders/line_item', { ORDER_NUMBER, ...line });
}

async function batched(): Promise<void> {
  const step = (line: object): object => ({ operation: 'addLineItem', body: { ORDER_NUMBER: '$0.data', ...line } });
  const steps = [{ operation: 'createOrder', body: order }, ...lines.map(step)];
  await call(keys, 'POST', '/batch', steps);
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const begunAt = performance.now();
  await work();
  return performance.now() - begunAt;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

for (let warm = 0; warm < 3; warm++) await singly().then(batched);
const rounds = [];
for (let round = 0; round < ROUNDS; round++)
  rounds.push({ single: await timeOf(singly), batch: await timeOf(batched) });
const ratio = median(rounds.map(({ single, batch }) => single / batch));
const [single, batch] = [median(rounds.map((one) => one.single)), median(rounds.map((one) => one.batch))];
console.log(`${name}: 100 calls ${single.toFixed(1)} ms, batch ${batch.toFixed(1)} ms, ratio ${ratio.toFixed(1)}`);
if (ratio < BARS[name]) process.exitCode = 1;
agent.destroy();
await service.stop();
await server?.remove();
