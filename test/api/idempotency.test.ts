/** Tests Idempotency-Key: a repeated write gets its first answer, and a refused write leaves its key free. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times, valuesOf } from '../kit/lists.ts';
import { stockShop, type GoodCall } from '../kit/operations.ts';
import { expectRefusal } from '../kit/records.ts';
import { type Answer, type Keys, sharedService } from '../kit/service.ts';
import { trials } from '../kit/trials.ts';

const service = await sharedService();
const shop = await stockShop(service, 'shop');
const writes = shop.calls.filter(({ kind }) => kind === 'write');
assert.equal(writes.length, 7);

const STORMS = trials('STORMS', { quick: 8, all: 50 });
let used = 0;
const newKey = (): string => `key-${++used}`;
const write = (
  { method, path, fields }: GoodCall,
  key: string,
  body: unknown = fields,
  keys: Keys = shop.keys,
): Promise<Answer> => service.call(keys, method, path, { body, headers: { 'idempotency-key': key } });
const isReplayed = ({ headers }: Answer): boolean => headers.get('idempotent-replayed') === 'true';

// Holds S11.1.
test('a repeated write gets the same bytes, marked as replayed, and writes nothing again', async () => {
  for (const call of writes) {
    const key = newKey();
    const first = await write(call, key);
    assert.deepEqual([first.status, first.headers.has('idempotent-replayed')], [200, false], call.operation);
    const records = await shop.shop.everything();
    for (const repeated of [await write(call, key), await write(call, key)]) {
      assert.deepEqual([repeated.status, repeated.text, isReplayed(repeated)], [200, first.text, true], call.operation);
      assert.notEqual(repeated.headers.get('x-request-id'), first.headers.get('x-request-id'));
    }
    assert.equal(await shop.shop.everything(), records, call.operation);
  }
});

test('a write without a key is done each time it is sent', async () => {
  const call = shop.call('createOrder');
  const create = async (): Promise<unknown> =>
    (await service.call(shop.keys, call.method, call.path, { body: call.fields })).body.data;
  const numbers = await Promise.all(times(3, create));
  assert.equal(new Set(numbers).size, 3);
});

// Holds S11.2.
test('the same fields in another order, with other spaces or with other credentials are the same request', async () => {
  const key = newKey();
  const call = shop.call('createOrder');
  const first = await write(call, key, '{"NOTES":"a","BNAME":"b","DROP_SHIP":true}');
  const { apiID, apiSecret } = shop.keys;
  const repeats = [
    '{"DROP_SHIP":true,"BNAME":"b","NOTES":"a"}',
    '{\n "BNAME" : "\\u0062", "NOTES":"a",\t"DROP_SHIP":true }',
    { BNAME: 'b', DROP_SHIP: true, NOTES: 'a', apiID, apiSecret, teamID: 'shop' },
  ];
  for (const body of repeats) {
    const repeated = await write(call, key, body);
    assert.deepEqual([repeated.text, isReplayed(repeated)], [first.text, true], JSON.stringify(body));
  }
});

/** Returns bodies of a call with its last field changed and, if it has others, without that field. */
function changedBodies({ fields = {} }: GoodCall): Record<string, unknown>[] {
  const [name, value] = Object.entries(fields).at(-1)!;
  const { [name]: _last, ...others } = fields;
  const changed = { ...fields, [name]: `${value as string}1` };
  return Object.keys(others).length === 0 ? [changed] : [changed, others];
}

// Holds S11.2.
test('422 IDEMPOTENCY_KEY_REUSED when a key is used again with another body, and nothing is written', async () => {
  for (const call of writes) {
    const key = newKey();
    const first = await write(call, key);
    const records = await shop.shop.everything();
    for (const body of changedBodies(call)) expectRefusal(await write(call, key, body), 422, 'IDEMPOTENCY_KEY_REUSED');
    assert.equal(await shop.shop.everything(), records, call.operation);
    const repeated = await write(call, key);
    assert.deepEqual([repeated.text, isReplayed(repeated)], [first.text, true], 'the first answer is still kept');
  }
});

// Holds S11.4.
test('a refused request is not kept: corrected, it runs under the same key', async () => {
  for (const call of writes) {
    const key = newKey();
    expectRefusal(await write(call, key, { ...call.fields, NO_SUCH: '1' }), 400, 'UNKNOWN_FIELD');
    expectRefusal(await write(call, key, []), 400, 'INVALID_BODY');
    const answer = await write(call, key, call.fields, { ...shop.keys, apiSecret: 'wrong' });
    expectRefusal(answer, 401, 'INVALID_CREDENTIALS');
    const done = await write(call, key);
    assert.deepEqual([done.status, done.headers.has('idempotent-replayed')], [200, false], call.operation);
  }
  const key = newKey();
  const adding = shop.call('addLineItem');
  expectRefusal(await write(adding, key, { ...adding.fields, ORDER_NUMBER: 'not yet' }), 400, 'ORDER_NOT_FOUND');
  assert.equal((await write(adding, key)).status, 200, 'nor is what PIMS refused');
});

test('400 INVALID_IDEMPOTENCY_KEY unless it is 1 to 255 printable ASCII characters; nothing is written', async () => {
  const records = await shop.shop.everything();
  for (const call of writes)
    for (const key of ['a b', ' ', 'a\tb', 'ä', 'x'.repeat(256), ''])
      expectRefusal(await write(call, key), 400, 'INVALID_IDEMPOTENCY_KEY', 'Idempotency-Key');
  assert.equal(await shop.shop.everything(), records);
  for (const key of ['x'.repeat(255), '!', '~', `"${crypto.randomUUID()}"`])
    assert.equal((await write(shop.call('createOrder'), key)).status, 200, key);
});

test('a key has no effect on a read', async () => {
  const headers = { 'idempotency-key': 'not a key' };
  for (const { method, path, query, filters } of shop.calls.filter(({ kind }) => kind !== 'write'))
    assert.equal((await service.call(shop.keys, method, path, { query, body: filters, headers })).status, 200, path);
});

// Holds S11.3.
test('64 clients with the same key at once create one order per key; the others get its response or 409', async () => {
  const keys = await service.makeTenant('storm');
  const call = shop.call('createOrder');
  const created: string[] = [];
  let waiting = 0;
  for (let round = 0; round < STORMS; round++) {
    const key = `storm-${round}`;
    const answers = await Promise.all(times(64, () => write(call, key, { NOTES: key }, keys)));
    const [first, ...more] = answers.filter((answer) => answer.status === 200 && !isReplayed(answer));
    assert.ok(first !== undefined && more.length === 0, `${key}: ${more.length + 1} were done`);
    created.push(first.body.data as string);
    for (const answer of answers) {
      if (answer.status === 200) assert.equal(answer.text, first.text);
      else {
        expectRefusal(answer, 409, 'IDEMPOTENCY_KEY_RUNNING');
        assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
        waiting++;
      }
    }
    assert.deepEqual([(await write(call, key, { NOTES: key }, keys)).text], [first.text]);
  }
  assert.ok(waiting > 0, 'no caller got 409 while the first one ran');
  const { body } = await service.call(keys, 'POST', '/orders/query', { body: [] });
  const orders = body.data as { ORDER_NUMBER: string; NOTES: string }[];
  assert.deepEqual(valuesOf(orders, 'ORDER_NUMBER'), created);
  assert.deepEqual(
    valuesOf(orders, 'NOTES'),
    created.map((_, round) => `storm-${round}`),
  );
});

// Holds S11.1.
test('kept responses survive a kill and a restart of the service', async () => {
  const kept: { call: GoodCall; key: string; first: Answer }[] = [];
  for (const call of writes) {
    const key = newKey();
    kept.push({ call, key, first: await write(call, key) });
  }
  const records = await shop.shop.everything();
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await service.stop(signal);
    await service.restart();
    for (const { call, key, first } of kept) {
      const repeated = await write(call, key);
      assert.deepEqual([repeated.text, isReplayed(repeated)], [first.text, true], `${call.operation} after ${signal}`);
      expectRefusal(await write(call, key, changedBodies(call)[0]), 422, 'IDEMPOTENCY_KEY_REUSED');
    }
  }
  assert.equal(await shop.shop.everything(), records);
});
