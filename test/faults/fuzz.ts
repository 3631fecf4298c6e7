/**
 * `npm run test:fuzz`: sends valid and changed calls made from openapi.json. No answer is a 5xx or violates the
 * contract, and memory stays level. STOREROOM_TEST_FUZZ_CALLS sets the number of calls, STOREROOM_TEST_FUZZ_SEED
 * repeats a run.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { memoryOf } from '../kit/attack.ts';
import { Contract, inlineRefs } from '../kit/contract.ts';
import { FIELDS, Shop } from '../kit/records.ts';
import { ownService } from '../kit/service.ts';
import { FuzzedCalls, type FuzzedCall, type RequestDocument } from './fuzz-calls.ts';
import { Chance } from './fuzz-values.ts';
import { RawConnection, type BytesAnswer } from '../kit/raw-connection.ts';

const CALLS = Number(process.env['STOREROOM_TEST_FUZZ_CALLS'] ?? 30_000);
const SEED = Number(process.env['STOREROOM_TEST_FUZZ_SEED'] ?? randomInt(2 ** 31));
const CONNECTIONS = 24;
/** Number of calls after which new values are made. */
const RENEWED = 20_000;
const SHOWN_BYTES = 1500;
/**
 * Number of measurements of memory in a run. Memory goes up and down by a sixth with each garbage collection, so the
 * median of the last quarter is compared with the median of the second quarter. The first is warm-up.
 */
const LOOKS = 40;
const RISE_MAX = 1.1;
/** Minimum calls of a run whose memory is compared. Shorter runs end before memory is level. */
const LEVEL_CALLS = 500_000;

const service = await ownService();
const shop = await Shop.open(service, 'fuzzed');
const PARTS_KEPT = ['P1', 'P2', 'P3'];
await shop.load(
  'inventory',
  PARTS_KEPT.map((PART_CODE) => ({ PART_CODE, PART_DESCRIPTION: 'A part', QTY_ONHAND: '9' })),
);
const document = inlineRefs((await (await fetch(`${service.origin}/openapi.json`)).json()) as RequestDocument);
const contract = await Contract.load(service.origin);

test(`${CALLS} calls from the contract, seed ${SEED}: no 5xx, no response outside it, level memory`, async (context) => {
  const calls = new FuzzedCalls(document, new Chance(SEED), shop.keys, [
    ...FIELDS.orders,
    ...FIELDS.customers,
    ...FIELDS.inventory,
  ]);
  for (const code of PARTS_KEPT) calls.values.learn('PART_CODE', code);
  const statuses = new Map<number, number>();
  const good = new Map<string, number>();
  const memory: number[] = [];
  let count = 0;
  let closed = 0;
  const work = async (): Promise<void> => {
    const connection = new RawConnection(service.origin);
    while (count < CALLS) {
      if (count % RENEWED === 0) calls.values.renew();
      if (count++ % Math.ceil(CALLS / LOOKS) === 0) memory.push(memoryOf(service.pid).now);
      const call = calls.next();
      const answer = await connection.send(call.bytes, call.method === 'HEAD');
      if (!answer) {
        assert.ok(call.isTooLarge, `no answer to ${show(call)}`);
        closed++;
        continue;
      }
      const body = check(call, answer);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status !== 200 || call.operation === undefined) continue;
      good.set(call.operation, (good.get(call.operation) ?? 0) + 1);
      learn(calls, call.operation, answer, body);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  memory.push(memoryOf(service.pid).now);
  const counts = `${JSON.stringify([...statuses])}; ${closed} closed`;
  context.diagnostic(`${counts}; memory ${memory.map(Math.round).join(' ')} MiB`);
  assert.deepEqual(
    calls.operations.filter((name) => !good.has(name)),
    [],
    'operations that never succeeded',
  );
  const [warm, end] = [medianOf(memory.slice(LOOKS / 4, LOOKS / 2)), medianOf(memory.slice((LOOKS / 4) * 3))];
  if (CALLS >= LEVEL_CALLS) assert.ok(end <= warm * RISE_MAX, `memory rose from ${warm} to ${end} MiB`);
});

const medianOf = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;

function check(call: FuzzedCall, answer: BytesAnswer): unknown {
  try {
    const body = answer.body.length === 0 ? undefined : (JSON.parse(answer.body.toString()) as unknown);
    assert.ok(answer.status < 500, `answered ${answer.status}`);
    const headers = { get: (name: string) => answer.headers.get(name) ?? null } as Headers;
    contract.check(call.method, call.path, { status: answer.status, headers, body });
    return body;
  } catch (fault) {
    const answered = `${answer.status} ${answer.body.toString().slice(0, SHOWN_BYTES)}`;
    throw new Error(`${(fault as Error).message}\n${show(call)}\n${answered}`, { cause: fault });
  }
}

const show = ({ bytes, changes }: FuzzedCall): string =>
  `[${changes.join(', ')}]\n${bytes.toString('latin1').slice(0, SHOWN_BYTES)}`;

type Values = Record<string, string>;

/** Keeps the numbers and codes of an answer, so that they are sent again. */
function learn({ values }: FuzzedCalls, operation: string, { headers }: BytesAnswer, body: unknown): void {
  const cursor = headers.get('x-next-cursor');
  if (cursor !== undefined) values.learn('cursor', cursor);
  const { data } = body as { data?: string | Values | Values[] };
  if (typeof data === 'string') values.learn(operation === 'createOrder' ? 'ORDER_NUMBER' : 'CUSTOMER_CODE', data);
  for (const record of typeof data === 'object' ? [data].flat() : [])
    for (const name of ['ORDER_NUMBER', 'CUSTOMER_CODE', 'PART_CODE', 'LINE_REF_LOCK_CODE', 'REFERENCE_NUMBER'])
      if (record?.[name]) values.learn(name, record[name]);
  for (const { ORDER_NUMBER, LINE_REF_LOCK_CODE } of typeof data === 'object' && !Array.isArray(data)
    ? [data ?? {}]
    : [])
    if (LINE_REF_LOCK_CODE) values.learn('line', { ORDER_NUMBER, LINE_REF_LOCK_CODE });
}
