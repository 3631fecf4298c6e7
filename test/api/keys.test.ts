/**
 * Tests named pairs of keys at the command line and over HTTP: what each may call, that an ended pair stops working at
 * once, and that the usage shows the calls of each pair.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times, valuesOf } from '../kit/lists.ts';
import { sendBy, stockShop, waysOf } from '../kit/operations.ts';
import { expectRefusal } from '../kit/records.ts';
import { sharedService, type Answer, type Keys } from '../kit/service.ts';

type Created = Keys & { name: string; scope: string; endsAt: string | null };
interface Listed {
  teamID: string;
  keys: {
    apiID: string;
    name: string;
    scope: string;
    createdAt: string;
    endsAt: string | null;
    lastUsedAt: string | null;
  }[];
}

const DAY_MS = 86_400_000;
const service = await sharedService();

async function run<T>(...words: string[]): Promise<T> {
  const { code, stderr, json } = await service.command(...words, '--json');
  assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
  return json() as T;
}
/** Runs a command that must be refused, and returns its error. */
async function refuse(...words: string[]): Promise<{ code: string; field?: string; message: string }> {
  const { code, stderr } = await service.command(...words, '--json');
  assert.equal(code, 1, `${words.join(' ')}: ${stderr}`);
  return (JSON.parse(stderr) as { error: { code: string; message: string } }).error;
}
const create = (teamID: string, name: string, ...more: string[]): Promise<Created> =>
  run('keys', 'create', teamID, '--name', name, ...more);
const listOf = async (teamID: string): Promise<Listed['keys']> => (await run<Listed>('keys', 'list', teamID)).keys;
const list = (keys: Keys): Promise<Answer> => service.call(keys, 'POST', '/orders/query', { body: [] });
const statusOf = async (keys: Keys): Promise<number> => (await list(keys)).status;
const byKeyOf = async (teamID: string) =>
  (await run<{ byKey: { apiID: string; name: string; calls: number }[] }>('usage', teamID)).byKey;

// Holds S12.1, S12.2, S12.3.
test('create returns the new pair with name, scope and end, and its secret once; all pairs are accepted', async () => {
  const keys = await service.makeTenant('created');
  const began = service.now();
  const plain = await create('created', 'web shop');
  assert.deepEqual(Object.keys(plain), ['teamID', 'apiID', 'apiSecret', 'name', 'scope', 'endsAt']);
  const { teamID, name, scope, endsAt } = plain;
  assert.deepEqual([teamID, name, scope, endsAt], ['created', 'web shop', 'write', null]);
  assert.match(`${plain.apiID} ${plain.apiSecret}`, /^sr_id_[0-9A-Za-z]{22} sr_sk_[0-9A-Za-z]{49}$/);
  const reports = await create('created', 'reports', '--scope', 'read', '--days', '30');
  assert.equal(reports.scope, 'read');
  const inMs = Date.parse(reports.endsAt!) - 30 * DAY_MS;
  assert.ok(inMs >= began && inMs <= service.now(), reports.endsAt!);
  assert.deepEqual(await Promise.all([keys, plain, reports].map(statusOf)), [200, 200, 200]);
  assert.equal(await statusOf({ ...plain, apiSecret: reports.apiSecret }), 401, 'a pair is one pair');
  const { stdout } = await service.command('keys', 'create', 'created', '--name', 'words');
  assert.match(stdout, /apiSecret +sr_sk_\w+\n.*name +words\nscope +write\nendsAt +never\n\nThe secret is not shown/s);
});

// Holds S12.4.
test('list has every valid pair without its secret, the pairs in force first, from the oldest', async () => {
  const keys = await service.makeTenant('listed');
  const reports = await create('listed', 'reports', '--scope', 'read', '--days', '7');
  const listed = await run<Listed>('keys', 'list', 'listed');
  assert.deepEqual(Object.keys(listed), ['teamID', 'keys']);
  assert.equal(listed.teamID, 'listed');
  const [first, second] = listed.keys;
  assert.deepEqual(Object.keys(first!), ['apiID', 'name', 'scope', 'createdAt', 'endsAt', 'lastUsedAt']);
  const { createdAt, ...rest } = first!;
  assert.match(createdAt, /^\d{4}-\d\d-\d\dT.*Z$/);
  assert.deepEqual(rest, { apiID: keys.apiID, name: 'default', scope: 'write', endsAt: null, lastUsedAt: null });
  assert.deepEqual([second!.apiID, second!.scope, second!.endsAt], [reports.apiID, 'read', reports.endsAt]);
  const began = service.timeAt();
  await list(reports);
  await list({ ...keys, apiSecret: reports.apiSecret });
  const [unused, used] = await listOf('listed');
  assert.equal(unused!.lastUsedAt, null, 'a call that was not let in is no use');
  assert.ok(used!.lastUsedAt! >= began && used!.lastUsedAt! <= service.timeAt());
  const renewed = await run<Keys>('keys', 'replace', 'listed', '--overlap', '1h');
  assert.deepEqual(valuesOf(await listOf('listed'), 'apiID'), [reports.apiID, renewed.apiID, keys.apiID]);
  const { stdout } = await service.command('keys', 'list', 'listed');
  assert.match(stdout, /^API ID +NAME +SCOPE +CREATED +ENDS +LAST USED\nsr_id_\w+ +reports +read /);
  assert.ok(!stdout.includes('sr_sk_'));
  await service.command('tenant', 'create', 'keyless', '--name', 'x');
  assert.deepEqual(await run('keys', 'list', 'keyless'), { teamID: 'keyless', keys: [] });
});

// Holds S12.5.
test('end ends one pair at once, and no other; anything but a valid pair of the tenant is refused', async () => {
  const keys = await service.makeTenant('ended');
  const stranger = await service.makeTenant('stranger');
  const shop = await create('ended', 'shop');
  assert.deepEqual([await statusOf(shop), await statusOf(keys)], [200, 200]);
  const { endsAt, ...ended } = await run<{ endsAt: string }>('keys', 'end', 'ended', shop.apiID);
  assert.deepEqual(ended, { teamID: 'ended', apiID: shop.apiID });
  assert.ok(Date.parse(endsAt) <= service.now());
  assert.deepEqual([await statusOf(shop), await statusOf(keys)], [401, 200]);
  assert.deepEqual(valuesOf(await listOf('ended'), 'name'), ['default']);
  for (const apiID of [shop.apiID, stranger.apiID, 'sr_id_none', keys.apiID.toLowerCase()]) {
    const { code, field } = await refuse('keys', 'end', 'ended', apiID);
    assert.equal(`${code} ${field}`, 'NOT_FOUND apiID');
  }
  assert.equal(await statusOf(stranger), 200);
  const again = await create('ended', 'shop');
  assert.equal(await statusOf(again), 200, 'the name is free');
  await run('keys', 'end', 'ended', again.apiID);
  await run('keys', 'end', 'ended', keys.apiID);
  assert.deepEqual([await statusOf(again), await statusOf(keys)], [401, 401], 'the last pair can be ended too');
});

// Holds S12.6.
test('replace is for one pair: the one named, else default, else the oldest; name and scope are inherited', async () => {
  const keys = await service.makeTenant('renewed');
  const reports = await create('renewed', 'reports', '--scope', 'read', '--days', '30');
  const shop = await create('renewed', 'shop');
  const renewed = await run<Keys>('keys', 'replace', 'renewed');
  assert.deepEqual(Object.keys(renewed), ['teamID', 'apiID', 'apiSecret']);
  assert.deepEqual(await Promise.all([keys, renewed, reports, shop].map(statusOf)), [401, 200, 200, 200]);
  const second = await run<Keys>('keys', 'replace', 'renewed', '--key', 'reports', '--overlap', '24h');
  assert.deepEqual(await Promise.all([reports, second, shop, renewed].map(statusOf)), [200, 200, 200, 200]);
  const own = (await listOf('renewed')).filter(({ name }) => name === 'reports');
  assert.deepEqual(valuesOf(own, 'apiID'), [second.apiID, reports.apiID]);
  assert.deepEqual([valuesOf(own, 'scope'), own[0]!.endsAt], [['read', 'read'], null]);
  const overlapMs = Date.parse(own[1]!.endsAt!) - Date.parse(own[0]!.createdAt);
  assert.equal(overlapMs, DAY_MS, 'the overlap is as it always was');
  await run('keys', 'end', 'renewed', renewed.apiID);
  const third = await run<Keys>('keys', 'replace', 'renewed');
  assert.deepEqual(await Promise.all([shop, second, third].map(statusOf)), [401, 200, 200], 'the oldest in force');
  assert.equal((await refuse('keys', 'replace', 'renewed', '--key', 'none')).field, 'name');
});

// Holds S12.1.
test('COMMAND_REFUSED for an invalid or used name, and for a 21st pair', async () => {
  await service.makeTenant('bounded');
  const bad = ['', ' ', ' a', 'a ', '-a', 'a-', 'a'.repeat(65), 'a\nb', 'é', 'a/b', 'sr_sk_x', 'a sr_sk_0'];
  for (const name of bad) {
    const { code, field, message } = await refuse('keys', 'create', 'bounded', '--name', name);
    assert.equal(`${code} ${field}`, 'COMMAND_REFUSED name', JSON.stringify(name));
    assert.match(message, /^A key name must be 1 to 64 letters, digits, spaces, /);
  }
  for (const name of ['default', 'Default'])
    assert.match((await refuse('keys', 'create', 'bounded', '--name', name)).message, /^The name 'default' is in use/i);
  for (let index = 1; index < 20; index++)
    await create('bounded', index === 1 ? 'a'.repeat(64) : `Pair ${index}.b_c-d`);
  assert.match(
    (await refuse('keys', 'create', 'bounded', '--name', 'another')).message,
    /has 20 pairs of keys, the maximum/,
  );
  await run('keys', 'replace', 'bounded', '--overlap', '7d');
  assert.equal((await listOf('bounded')).length, 21, 'a full tenant can still replace with an overlap');
});

// Holds S12.2.
test('403 SCOPE_MISSING for every write with keys of the scope read, metered; every read succeeds', async () => {
  const { shop, calls, keys } = await stockShop(service, 'scoped');
  const reader = await create('scoped', 'reports', '--scope', 'read');
  const before = await shop.everything();
  let month = Number((await list(keys)).headers.get('x-month-requests'));
  let counted = 0;
  for (const call of calls)
    for (const way of waysOf(call)) {
      const answer = await sendBy(way, service, call, reader);
      assert.equal(answer.headers.get('x-month-requests'), String(++month), call.operation);
      counted++;
      if (call.kind !== 'write') assert.equal(answer.status, 200, call.operation);
      else assert.match(expectRefusal(answer, 403, 'SCOPE_MISSING'), /^The key 'reports' is read-only/);
    }
  assert.equal(await shop.everything(), before, 'nothing was written');
  assert.deepEqual(pickCalls(await byKeyOf('scoped'), reader), [{ name: 'reports', calls: counted }]);
  for (const call of calls) assert.equal((await sendBy('Basic', service, call, keys)).status, 200, call.operation);
});

// Holds S12.2.
test('403 SCOPE_MISSING comes after credentials, quota and rate, and before the body', async () => {
  const keys = await service.makeTenant('placed');
  const reader = await create('placed', 'reports', '--scope', 'read');
  const write = (as: Keys, body: unknown) => service.call(as, 'PUT', '/orders/create', { body });
  for (const body of ['{', [], { NO_SUCH: '1' }, `"${' '.repeat(256 * 1024)}"`])
    expectRefusal(await write(reader, body), 403, 'SCOPE_MISSING');
  const unknown = await service.call(reader, 'PUT', '/orders/create', { query: { noSuch: '1' }, body: {} });
  expectRefusal(unknown, 403, 'SCOPE_MISSING');
  expectRefusal(await write({ ...reader, apiSecret: keys.apiSecret }, {}), 401, 'INVALID_CREDENTIALS');
  await service.command('tenant', 'set', 'placed', '--quota', '1');
  expectRefusal(await write(reader, {}), 429, 'QUOTA_EXCEEDED');
});

test('403 SCOPE_MISSING for a batch, which counts as one call; other batches count each step for their pair', async () => {
  const keys = await service.makeTenant('batching');
  const reader = await create('batching', 'reports', '--scope', 'read');
  const step = { operation: 'createOrder', body: {} };
  for (const body of [[step, step], [], '{'])
    expectRefusal(await service.call(reader, 'POST', '/batch', { body }), 403, 'SCOPE_MISSING');
  const { status, text } = await service.call(keys, 'POST', '/batch', { body: [step, step] });
  assert.equal(status, 200, text);
  assert.equal(((await list(keys)).body.data as unknown[]).length, 2);
  const usage = await run<{ byOperation: unknown[]; byKey: unknown[] }>('usage', 'batching');
  assert.deepEqual(usage.byOperation, [
    { operation: 'batch', calls: 3 },
    { operation: 'createOrder', calls: 2 },
    { operation: 'queryOrders', calls: 1 },
  ]);
  assert.deepEqual(usage.byKey, [
    { apiID: keys.apiID, name: 'default', calls: 3 },
    { apiID: reader.apiID, name: 'reports', calls: 3 },
  ]);
});

// Holds S12.7.
test('usage says how many calls each pair made, also of one that has ended; together they are the total', async () => {
  const keys = await service.makeTenant('itemised-keys');
  const pairs = [
    keys,
    await create('itemised-keys', 'shop'),
    await create('itemised-keys', 'reports', '--scope', 'read'),
  ];
  const counts = [3, 70, 20];
  await Promise.all(pairs.flatMap((pair, index) => times(counts[index]!, () => list(pair))));
  await list({ ...keys, apiSecret: 'wrong' });
  await run('keys', 'end', 'itemised-keys', pairs[1]!.apiID);
  const renewed = await run<Keys>('keys', 'replace', 'itemised-keys');
  await list(renewed);
  await list(keys);
  await list(pairs[1]!);
  const usage = await run<{ total: number; byKey: unknown[] }>('usage', 'itemised-keys');
  const names = ['default', 'shop', 'reports'];
  const expected = pairs.map(({ apiID }, index) => ({ apiID, name: names[index]!, calls: counts[index]! }));
  expected.push({ apiID: renewed.apiID, name: 'default', calls: 1 });
  const inOrder = expected.toSorted((a, b) => (a.name + a.apiID < b.name + b.apiID ? -1 : 1));
  assert.deepEqual([usage.total, usage.byKey], [94, inOrder]);
  const { stdout } = await service.command('usage', 'itemised-keys');
  assert.match(stdout, new RegExp(`^shop +${pairs[1]!.apiID} +70$`, 'm'));
  const none = await run<{ byKey: unknown[] }>('usage', 'itemised-keys', '--month', '2020-02');
  assert.deepEqual(none.byKey, []);
});

// Holds S12.5.
test('a pair in constant use is accepted once it is created, and refused once it is ended', async () => {
  const keys = await service.makeTenant('busy');
  for (let round = 0; round < 3; round++) {
    const shop = await create('busy', 'shop');
    assert.equal(await statusOf(shop), 200);
    const calling = times(40, () => statusOf(shop));
    await run('keys', 'end', 'busy', shop.apiID);
    assert.deepEqual(
      await Promise.all(times(20, () => statusOf(shop))),
      times(20, () => 401),
    );
    for (const status of await Promise.all(calling)) assert.ok(status === 200 || status === 401);
    assert.equal(await statusOf(keys), 200);
  }
});

function pickCalls(byKey: { apiID: string; name: string; calls: number }[], { apiID }: Keys) {
  return byKey.filter((one) => one.apiID === apiID).map(({ name, calls }) => ({ name, calls }));
}
