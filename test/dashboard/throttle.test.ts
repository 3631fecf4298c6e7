/**
 * Tests guessing over HTTP: which address an attempt counts for, and that failures are counted over restarts and nodes,
 * while owners sign in and the API works. The rules of the waits are tested in test/account.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { range, times } from '../kit/lists.ts';
import { succeed } from '../kit/records.ts';
import { Service, type Answer } from '../kit/service.ts';
import { auditOf, BEHIND_PROXY, openStandingScene, runSql } from './scene.ts';
import { codeIn, expectCode, expectOk, PASSWORD, Visitor } from './visitor.ts';

const WRONG = 'wrong wrong wrong wrong';
const FREE = 5;
const ADDRESS_ATTEMPTS = 20;

const service = await openStandingScene();
const keys = await service.makeTenant('shop');
const owner = await Visitor.make(service, 'shop', 'owner');

const [REFUSED, TOO_MANY] = ['401 SIGN_IN_REFUSED', '429 TOO_MANY_ATTEMPTS'];
/** Tries this many wrong passwords, one after another, each from another address. Returns the codes of the answers. */
async function guess(user: Visitor, count: number): Promise<string[]> {
  const codes: string[] = [];
  for (let attempt = 0; attempt < count; attempt++) codes.push(codeIn(await user.elsewhere().signIn(WRONG)));
  return codes;
}
const countOf = async (email: string, of = service): Promise<number> => {
  const [row] = await runSql(of, `SELECT "FAILURES" FROM @USERS WHERE "EMAIL" = '${email}'`);
  return Number(row!['FAILURES']);
};

const findCall = (user: Visitor, { headers }: Answer) =>
  user.ask('GET /requests/single', { requestID: headers.get('x-request-id')! });

suite('an address', () => {
  test('shares a hundred failed attempts a minute with its network: 24 bits of IPv4, 48 of IPv6', async () => {
    const link = { token: 'A'.repeat(43), password: PASSWORD };
    const networks = {
      '192.0.2.9': (address: number) => `192.0.2.${address + 10}`,
      '2001:db8:7:ffff::1': (address: number) => `2001:db8:7:${address}::1`,
    };
    for (const [last, addressOf] of Object.entries(networks)) {
      const from = (client: string) => Object.assign(new Visitor(service, 'shop', 'nobody@shop.example'), { client });
      for (const attempt of range(100))
        await expectCode(from(addressOf(Math.floor(attempt / 20))).post('/link', link), '400 LINK_INVALID');
      const refused = await expectCode(from(last).post('/link', link), TOO_MANY);
      assert.match(refused.body.message, /from this network/);
      await expectCode(from(last).post('/link/check', { token: link.token }), TOO_MANY);
    }
    await expectCode(new Visitor(service, 'shop', 'nobody@shop.example').post('/link', link), '400 LINK_INVALID');
  });

  test('is the last of X-Forwarded-For behind a trusted proxy, in sessions and both logs', async () => {
    const user = await owner.add('viewer', 'forwarded@shop.example');
    user.client = '203.0.113.7, 198.51.100.9';
    await expectOk(user.signIn());
    const { sessions } = await user.ask('GET /sessions');
    assert.equal(sessions.find(({ isThisOne }) => isThisOne)!.client, '198.51.100.9');
    assert.equal((await auditOf(owner)).at(-1)!.client, '198.51.100.9');
    const headers = { 'x-forwarded-for': '203.0.113.7, 198.51.100.10' };
    const answer = await service.call(keys, 'POST', '/orders/query', { body: [], headers });
    assert.equal((await findCall(user, answer)).client, '198.51.100.10');
  });

  test('is the address of the connection if no proxy is trusted, with any X-Forwarded-For', async (context) => {
    const bare = await Service.start();
    context.after(() => bare.stop());
    const ownKeys = await bare.makeTenant('shop');
    const user = await Visitor.make(bare, 'shop', 'owner');
    const codes: string[] = [];
    for (let attempt = 0; attempt < ADDRESS_ATTEMPTS; attempt++) {
      const visitor = new Visitor(bare, 'shop', `n${attempt}@shop.example`);
      codes.push(codeIn(await visitor.post('/link', { token: 'x', password: WRONG })));
    }
    assert.deepEqual([...new Set(codes.slice(0, -1))], ['400 LINK_INVALID']);
    assert.equal(codes.at(-1), TOO_MANY);
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    const answer = await bare.call(ownKeys, 'POST', '/orders/query', { body: [], headers });
    assert.equal((await findCall(user, answer)).client, '127.0.0.1');
  });
});

test('failures of an account, or of none, survive a restart, and are one count for all nodes', async (context) => {
  const user = await owner.add('viewer', 'nodes@shop.example');
  const unknown = new Visitor(service, 'shop', 'no-nodes@shop.example');
  for (const one of [user, unknown]) assert.deepEqual(await guess(one, 3), Array(3).fill(REFUSED));
  // Only one process at a time can use SQLite, so the first node is stopped.
  const isShared = service.databaseUrl !== undefined;
  if (!isShared) await service.stop();
  const node = await Service.start({ place: service.place, env: BEHIND_PROXY, dateStands: true });
  context.after(async () => {
    await node.stop();
    if (!isShared) await service.restart();
  });
  for (const one of [user, unknown]) {
    const there = new Visitor(node, 'shop', one.email);
    assert.deepEqual(await guess(there, FREE - 2), Array(FREE - 2).fill(REFUSED));
    await expectCode(there.elsewhere().signIn(PASSWORD), TOO_MANY);
    if (isShared) await expectCode(one.elsewhere().signIn(PASSWORD), TOO_MANY);
  }
  assert.equal(await countOf(user.email, node), FREE + 1);
});

test('an owner signs in from any address while strangers of 250 networks try without a pause', async () => {
  const isOver = new AbortController();
  const strangers = times(250, async (index) => {
    for (let attempt = 0; attempt < ADDRESS_ATTEMPTS - 1 && !isOver.signal.aborted; attempt++) {
      const stranger = new Visitor(service, 'shop', `flood${index}-${attempt}@shop.example`);
      await Object.assign(stranger, { client: `11.0.${index}.1` }).signIn(WRONG);
    }
  });
  const codes: string[] = [];
  for (let attempt = 0; attempt < 7; attempt++) codes.push(codeIn(await owner.elsewhere().signIn()));
  isOver.abort();
  await Promise.all(strangers);
  assert.deepEqual(codes, Array(7).fill('200'));
});

test('calls of API and sessions continue while many sign in; too many at once are asked to retry', async () => {
  const isOver = new AbortController();
  const attempts = times(80, (index) => new Visitor(service, 'shop', `storm${index}@shop.example`).signIn(WRONG));
  const storm = Promise.all(attempts).finally(() => isOver.abort());
  let calls = 0;
  while (!isOver.signal.aborted) {
    await succeed(service.call(keys, 'POST', '/orders/query', { body: [] }));
    // A user has 20 calls a second over all routes.
    if (calls < 15) await expectOk(owner.get('/session'));
    calls++;
  }
  assert.ok(calls >= 5, `${calls} calls`);
  for (const reply of await storm) {
    assert.match(codeIn(reply), /^(401 SIGN_IN_REFUSED|503 SERVICE_BUSY)$/);
    if (reply.status === 503) assert.equal(reply.headers.get('retry-after'), '1');
  }
});
