/**
 * Guessing over HTTP: what a wrong password costs an account and an address, at once and one after another, for users that exist and users that do not,
 * over restarts and nodes; whose address counts behind a proxy; and that calls of the API go on meanwhile.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { succeed } from '../kit/records.ts';
import { Service } from '../kit/service.ts';
import { appearanceOf, auditOf, openScene, runSql } from './scene.ts';
import { PASSWORD, Visitor, type Reply } from './visitor.ts';

const WRONG = 'wrong wrong wrong wrong';
const FREE = 5;
const ADDRESS_ATTEMPTS = 20;

const service = await openScene();
const keys = await service.makeTenant('shop');
const owner = await Visitor.make(service, 'shop', 'owner');

const codeIn = ({ status, body }: Reply): string => `${status} ${body?.code ?? ''}`;
/** So many wrong passwords, one after another, each from another address. */
async function guess(user: Visitor, times: number): Promise<string[]> {
  const codes: string[] = [];
  for (let attempt = 0; attempt < times; attempt++) codes.push(codeIn(await user.elsewhere().signIn(WRONG)));
  return codes;
}
const countOf = async (email: string, of = service): Promise<number> => {
  const [row] = await runSql(of, `SELECT "FAILURES" FROM @USERS WHERE "EMAIL" = '${email}'`);
  return Number(row!['FAILURES']);
};
const setWait = (email: string, failures: number, untilMs: number): Promise<unknown> =>
  runSql(
    service,
    `UPDATE @USERS SET "FAILURES" = ${failures}, "NEXT_TRY_AT" = '${new Date(Date.now() + untilMs).toISOString()}' WHERE "EMAIL" = '${email}'`,
  );

suite('an account', () => {
  test('the wait doubles with each failure up to 15 minutes, and attempts during it are neither looked at nor counted', async () => {
    const user = await owner.add('viewer', 'doubling@shop.example');
    for (const [failures, seconds] of [
      [5, 1],
      [6, 2],
      [7, 4],
      [10, 32],
      [14, 512],
      [15, 900],
      [60, 900],
      [98, 900],
    ] as const) {
      // prettier-ignore
      await setWait(user.email, failures, -1);
      assert.deepEqual(await guess(user, 1), ['401 SIGN_IN_REFUSED']);
      const refused = await user.elsewhere().signIn(PASSWORD);
      assert.equal(codeIn(refused), '429 TOO_MANY_ATTEMPTS');
      const told = Number(refused.headers.get('retry-after'));
      assert.ok(told <= seconds && told >= seconds - 5 && told >= 1, `${failures}: ${told}`);
      assert.equal(await countOf(user.email), failures + 1);
    }
  });

  test('after a hundred failures in a row nothing is looked at until a new link, which lets in again', async () => {
    const user = await owner.add('viewer', 'hundred@shop.example');
    await setWait(user.email, 99, -1);
    assert.deepEqual(await guess(user, 1), ['401 SIGN_IN_REFUSED']);
    await setWait(user.email, 100, -1);
    assert.equal(codeIn(await user.elsewhere().signIn(PASSWORD)), '429 TOO_MANY_ATTEMPTS');
    const { body } = await owner.post('/users/link', { email: user.email });
    await user.elsewhere().open((body.link as string).split('#')[1]!);
    assert.equal((await user.elsewhere().signIn()).status, 200);
  });

  test('of thirty guesses at the same moment no more are looked at than of thirty one after another', async () => {
    const user = await owner.add('viewer', 'parallel@shop.example');
    const replies = await Promise.all(Array.from({ length: 30 }, () => user.elsewhere().signIn(WRONG)));
    const looked = replies.filter(({ body }) => body.code === 'SIGN_IN_REFUSED').length;
    assert.ok(replies.every((reply) => /^(401 SIGN_IN_REFUSED|429 TOO_MANY_ATTEMPTS)$/.test(codeIn(reply))));
    // Six, and one more for each wait that ended meanwhile: of the first 1 s and then 2 s.
    assert.ok(looked >= FREE + 1 && looked <= FREE + 3, `${looked} were looked at`);
    assert.equal(await countOf(user.email), looked);
    const refusals = (await auditOf(owner)).filter(
      ({ action, actor }) => action === 'sign-in refused' && actor === user.email,
    );
    assert.equal(refusals.length, looked);
  });

  test('one that does not exist is throttled as one that does, to the letter', async () => {
    const real = await owner.add('viewer', 'real@shop.example');
    const [seenReal, seenUnknown]: [unknown[], unknown[]] = [[], []];
    const unknown = new Visitor(service, 'shop', 'unknown@shop.example');
    const elsewhere = new Visitor(service, 'nowhere', 'unknown@shop.example');
    for (let attempt = 0; attempt < FREE + 2; attempt++) {
      const replies = await Promise.all([real, unknown, elsewhere].map((user) => user.elsewhere().signIn(WRONG)));
      seenReal.push(appearanceOf(replies[0]!));
      seenUnknown.push(appearanceOf(replies[1]!));
      assert.deepEqual(appearanceOf(replies[2]!), appearanceOf(replies[1]!));
    }
    assert.deepEqual(seenUnknown, seenReal);
    assert.equal((seenReal.at(-1) as { status: number }).status, 429);
  });

  test('wrong passwords of somebody signed in wait like any, and are counted apart', async () => {
    const user = await owner.add('developer', 'inside@shop.example');
    const codes: string[] = [];
    for (let attempt = 0; attempt < FREE + 2; attempt++) {
      user.client = user.elsewhere().client;
      codes.push(codeIn(await user.post('/confirm', { password: WRONG })));
    }
    assert.deepEqual(codes, [...Array<string>(FREE + 1).fill('401 SIGN_IN_REFUSED'), '429 TOO_MANY_ATTEMPTS']);
    assert.equal(await countOf(user.email), 0);
    assert.equal((await user.elsewhere().signIn()).status, 200);
  });
});

suite('an address', () => {
  test('has twenty attempts a minute over any number of accounts, links among them; then 429 for it and for no other', async () => {
    const user = await owner.add('viewer', 'shared@shop.example');
    const client = user.elsewhere().client;
    const from = (visitor: Visitor): Visitor => Object.assign(visitor, { client });
    const attempts = Array.from({ length: ADDRESS_ATTEMPTS - 1 }, (_, index) =>
      from(new Visitor(service, 'shop', `nobody${index}@shop.example`)).signIn(WRONG),
    );
    assert.deepEqual(
      (await Promise.all(attempts)).map(codeIn),
      Array(ADDRESS_ATTEMPTS - 1).fill('401 SIGN_IN_REFUSED'),
    );
    assert.equal(
      codeIn(await from(user.elsewhere()).post('/link', { token: 'A'.repeat(43), password: PASSWORD })),
      '400 LINK_INVALID',
    );
    for (const refused of [
      await from(user.elsewhere()).signIn(),
      await from(user.elsewhere()).post('/link', { token: 'A'.repeat(43), password: PASSWORD }),
    ]) {
      assert.equal(codeIn(refused), '429 TOO_MANY_ATTEMPTS');
      const told = Number(refused.headers.get('retry-after'));
      assert.ok(told >= 1 && told <= 60, `${told}`);
    }
    assert.equal(await countOf(user.email), 0, 'an attempt that was not looked at counts for no account');
    assert.equal((await from(user).get('/session')).status, 200, 'who is signed in stays so');
    assert.equal((await user.elsewhere().signIn()).status, 200, 'another address');
  });

  test('is that of X-Forwarded-For behind a trusted proxy, in sessions, the request log and the audit log; the last entry a client cannot make up', async () => {
    const user = await owner.add('viewer', 'forwarded@shop.example');
    user.client = '203.0.113.7, 198.51.100.9';
    assert.equal((await user.signIn()).status, 200);
    const { sessions } = (await user.get('/sessions')).body as { sessions: { client: string; isThisOne: boolean }[] };
    assert.equal(sessions.find(({ isThisOne }) => isThisOne)!.client, '198.51.100.9');
    assert.equal((await auditOf(owner)).at(-1)!.client, '198.51.100.9');
    const headers = { 'x-forwarded-for': '203.0.113.7, 198.51.100.10' };
    const answer = await service.call(keys, 'POST', '/orders/query', { body: [], headers });
    const { body } = await user.get('/requests/single', { requestID: answer.headers.get('x-request-id')! });
    assert.equal(body.client, '198.51.100.10');
  });

  test('is that of the connection where no proxy is trusted, whatever X-Forwarded-For says', async (context) => {
    const bare = await Service.start();
    context.after(() => bare.stop());
    const ownKeys = await bare.makeTenant('shop');
    const user = await Visitor.make(bare, 'shop', 'owner');
    const codes: string[] = [];
    for (let attempt = 0; attempt < ADDRESS_ATTEMPTS; attempt++)
      codes.push(
        codeIn(
          await new Visitor(bare, 'shop', `n${attempt}@shop.example`).post('/link', { token: 'x', password: WRONG }),
        ),
      );
    assert.deepEqual([...new Set(codes.slice(0, -1))], ['400 LINK_INVALID']);
    assert.equal(codes.at(-1), '429 TOO_MANY_ATTEMPTS');
    const answer = await bare.call(ownKeys, 'POST', '/orders/query', {
      body: [],
      headers: { 'x-forwarded-for': '203.0.113.7' },
    });
    assert.equal(
      (await user.get('/requests/single', { requestID: answer.headers.get('x-request-id')! })).body.client,
      '127.0.0.1',
    );
  });
});

test('failures of an account outlive a restart, and are one count for all nodes of a database', async (context) => {
  const user = await owner.add('viewer', 'nodes@shop.example');
  assert.deepEqual(await guess(user, 3), Array(3).fill('401 SIGN_IN_REFUSED'));
  // With SQLite the only node there can be is the next one.
  const isShared = service.databaseUrl !== undefined;
  if (!isShared) await service.stop();
  const node = await Service.start({ place: service.place, env: { STOREROOM_TRUSTED_PROXIES: '127.0.0.1' } });
  context.after(async () => {
    await node.stop();
    if (!isShared) await service.restart();
  });
  const there = new Visitor(node, 'shop', user.email);
  assert.deepEqual(await guess(there, FREE - 2), Array(FREE - 2).fill('401 SIGN_IN_REFUSED'));
  assert.equal(codeIn(await there.elsewhere().signIn(PASSWORD)), '429 TOO_MANY_ATTEMPTS');
  if (isShared) assert.equal(codeIn(await user.elsewhere().signIn(PASSWORD)), '429 TOO_MANY_ATTEMPTS');
  assert.equal(await countOf(user.email, node), FREE + 1);
});

test('calls of the API and sessions go on while many sign in, and those too many at once are told to come again', async () => {
  const isOver = new AbortController();
  const attempts = Array.from({ length: 80 }, (_, index) =>
    new Visitor(service, 'shop', `storm${index}@shop.example`).signIn(WRONG),
  );
  const storm = Promise.all(attempts).finally(() => isOver.abort());
  let calls = 0;
  while (!isOver.signal.aborted) {
    await succeed(service.call(keys, 'POST', '/orders/query', { body: [] }));
    assert.equal((await owner.get('/session')).status, 200);
    calls++;
  }
  assert.ok(calls >= 5, `${calls} calls`);
  for (const reply of await storm) {
    assert.match(codeIn(reply), /^(401 SIGN_IN_REFUSED|503 SERVICE_BUSY)$/);
    if (reply.status === 503) assert.equal(reply.headers.get('retry-after'), '1');
  }
});
