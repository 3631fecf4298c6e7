/**
 * Tests sessions over HTTP: the cookie, when its token changes and ends, and that only a valid token lets a user in.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { suite, test } from 'node:test';
import { exchange, writeRequest } from '../kit/raw-http.ts';
import { ownService } from '../kit/service.ts';
import { BEHIND_PROXY, findInStore } from './scene.ts';
import { API, COOKIE, expectCode, expectOk, NEW_PASSWORD, PASSWORD, tokenOf, Visitor } from './visitor.ts';

const service = await ownService({ env: BEHIND_PROXY, dateStands: true });
await service.makeTenant('shop');
const owner = await Visitor.make(service, 'shop', 'owner');
const user = await owner.add('developer');

const expectSignedIn = (visitor: Visitor) => visitor.ask('GET /session');
const expectSignedOut = async (visitor: Visitor): Promise<void> => {
  const { headers } = await expectCode(visitor.get('/session'), '401 NOT_SIGNED_IN');
  assert.deepEqual(headers.getSetCookie(), [], 'a refusal sets no cookie');
};
/** Returns another visitor, who sends this token. */
const holding = (token: string | undefined, { email } = user): Visitor => {
  const visitor = new Visitor(service, 'shop', email);
  visitor.token = token;
  return visitor;
};
const signIn = (): Promise<Visitor> => user.again();
const hashOf = (token: string | undefined): string => hash('sha256', token!, 'hex');

suite('the cookie', () => {
  test('has exactly these attributes, in every response that sets it', async () => {
    const visitor = await owner.add('viewer', 'cookie@shop.example');
    const replies = {
      'sign-in': await expectOk(visitor.signIn()),
      password: await expectOk(visitor.post('/password', { password: PASSWORD, newPassword: NEW_PASSWORD })),
    };
    const form = /^__Host-storeroom_session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/;
    for (const [what, { headers }] of Object.entries(replies)) {
      const [cookie, ...more] = headers.getSetCookie();
      assert.deepEqual(more, [], what);
      assert.match(cookie!, form, what);
    }
  });

  test('signing out removes it with the same attributes and makes the browser clear its data', async () => {
    const visitor = await signIn();
    const { headers } = await expectOk(visitor.post('/sign-out'));
    const [cookie, ...more] = headers.getSetCookie();
    assert.deepEqual(more, []);
    const [pair, ...attributes] = cookie!.split('; ');
    assert.equal(pair, `${COOKIE}=`);
    const lasting = /^(Expires=Thu, 01 Jan 1970 00:00:00 GMT|Max-Age=0)$/;
    const fixed = attributes.filter((one) => !lasting.test(one));
    assert.deepEqual(fixed.toSorted(), ['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure']);
    assert.ok(attributes.some((one) => lasting.test(one)));
    assert.equal(headers.get('clear-site-data'), '"cache", "storage"');
  });

  test('a token is in no body, no other header, and only its hash is in the store', async () => {
    const visitor = user.elsewhere();
    const { text, headers } = await visitor.signIn();
    const token = visitor.token!;
    assert.ok(!text.includes(token));
    assert.ok([...headers].every(([name, value]) => name === 'set-cookie' || !value.includes(token)));
    for (const path of ['/session', '/sessions']) assert.ok(!(await visitor.get(path)).text.includes(token), path);
    assert.ok(!(await owner.get('/audit')).text.includes(token));
    const needles = {
      token,
      'token bytes': Buffer.from(token, 'base64url'),
      hash: Buffer.from(hashOf(token), 'hex'),
      password: PASSWORD,
    };
    assert.deepEqual(await findInStore(service, needles), ['hash']);
    assert.ok(!service.output.includes(token));
  });
});

suite('a new token', () => {
  test('is issued at every sign-in, and the previous one of the browser ends', async () => {
    const visitor = await signIn();
    const old = visitor.token;
    await expectOk(visitor.signIn());
    assert.notEqual(visitor.token, old);
    await expectSignedIn(visitor);
    await expectSignedOut(holding(old));
  });

  test('is issued after every use of the password, and the previous one ends', async () => {
    const visitor = await signIn();
    const began = (await visitor.ask('GET /session')).endsAt;
    const confirmations: [path: string, body: object][] = [
      ['/confirm', { password: PASSWORD }],
      ['/password', { password: PASSWORD, newPassword: NEW_PASSWORD }],
      ['/password', { password: NEW_PASSWORD, newPassword: PASSWORD }],
    ];
    for (const [path, body] of confirmations) {
      const old = visitor.token;
      await expectOk(visitor.post(path, body));
      assert.notEqual(visitor.token, old);
      await expectSignedOut(holding(old));
      await expectSignedIn(visitor);
    }
    assert.equal((await visitor.ask('GET /session')).endsAt, began, 'confirming the password lengthened the session');
  });

  test('is never one that the caller sent', async () => {
    const planted = 'P'.repeat(43);
    const visitor = holding(planted);
    await expectOk(visitor.signIn());
    assert.notEqual(visitor.token, planted);
    await expectSignedOut(holding(planted));
    const invited = new Visitor(service, 'shop', 'fixed@shop.example');
    invited.token = planted;
    await invited.open(tokenOf(await owner.ask('POST /users', { email: invited.email, role: 'viewer' })));
    assert.notEqual(invited.token, planted);
    await expectSignedOut(holding(planted));
  });

  test('is not issued, and the old one not ended, by a refused sign-in', async () => {
    const visitor = await signIn();
    const old = visitor.token;
    await expectCode(visitor.signIn('wrong wrong wrong'), '401 SIGN_IN_REFUSED');
    assert.equal(visitor.token, old);
    await expectSignedIn(visitor);
  });
});

suite('the end', () => {
  test('follows signing out, for this session alone, and a replay gets 401', async () => {
    const [visitor, other] = [await signIn(), await signIn()];
    const { token } = visitor;
    await expectOk(visitor.post('/sign-out'));
    assert.equal(visitor.token, undefined);
    await expectSignedOut(holding(token));
    await expectCode(holding(token).post('/sign-out'), '401 NOT_SIGNED_IN');
    await expectSignedIn(other);
  });

  test('of all sessions of one user follows a command, with an audit entry; other users keep theirs', async () => {
    const visitors = [await signIn(), await signIn()];
    assert.equal((await service.command('user', 'sign-out', 'shop', user.email, '--json')).code, 0);
    for (const visitor of visitors) await expectSignedOut(visitor);
    await expectSignedIn(owner);
    const [entry] = (await owner.ask('GET /audit')).records;
    const { actor, action, target, detail } = entry!;
    assert.deepEqual([actor, action, target, detail], ['command line', 'sessions ended', user.email, { which: 'all' }]);
    const unknown = await service.command('user', 'sign-out', 'shop', 'nobody@shop.example');
    assert.match(`${unknown.code} ${unknown.stderr}`, /^1 [^]*User 'nobody@shop\.example' does not exist/);
    await expectOk(user.signIn());
  });

  test('can be requested for one session or all others, and for no session of another user', async () => {
    const [visitor, second, third] = [await signIn(), await signIn(), await signIn()];
    const { sessions } = await second.ask('GET /sessions');
    const { sessionId } = sessions.find(({ isThisOne }) => isThisOne)!;
    await expectCode(owner.post('/sessions/end', { sessionId }), '404 NOT_FOUND');
    await expectSignedIn(second);
    await visitor.ask('POST /sessions/end', { sessionId });
    await expectSignedOut(second);
    await expectCode(visitor.post('/sessions/end', { sessionId }), '404 NOT_FOUND');
    await expectSignedIn(third);
    await visitor.ask('POST /sessions/end');
    await expectSignedOut(third);
    await expectSignedOut(user);
    await expectSignedIn(visitor);
    await expectSignedIn(owner);
    assert.equal((await visitor.ask('GET /sessions')).sessions.length, 1);
  });

  test('follows the removal of the user or the tenant; a new role applies from the next request', async () => {
    const visitor = await owner.add('viewer', 'mover@shop.example');
    const body = { recordType: 'orders', name: 'MOVED', type: 'text' };
    assert.equal((await visitor.post('/fields', body)).body.code, 'ROLE_NOT_ALLOWED');
    await owner.post('/users/role', { email: visitor.email, role: 'developer' });
    assert.equal((await visitor.post('/fields', body)).status, 200);
    await owner.post('/users/role', { email: visitor.email, role: 'viewer' });
    assert.equal((await visitor.post('/fields', { ...body, name: 'MOVED_AGAIN' })).body.code, 'ROLE_NOT_ALLOWED');
    await owner.post('/users/remove', { email: visitor.email });
    await expectSignedOut(visitor);

    await service.makeTenant('leaving');
    const leaver = await Visitor.make(service, 'leaving', 'owner');
    assert.equal((await service.command('tenant', 'remove', 'leaving', '--yes')).code, 0);
    await expectSignedOut(leaver);
    await service.makeTenant('leaving');
    await expectSignedOut(leaver);
  });
});

test('an invalid token gets 401 and never a fault: tampered, empty, quoted, long, foreign, twice', async () => {
  const { token = '' } = await signIn();
  const flipped = `${token.slice(0, 10)}${token[10] === 'A' ? 'B' : 'A'}${token.slice(11)}`;
  const ask = async (cookie: string): Promise<number> => {
    const headers = [`Host: ${new URL(service.origin).host}`, 'Sec-Fetch-Site: same-origin', `Cookie: ${cookie}`];
    const [answer] = await exchange(service.origin, writeRequest('GET', `${API}/session`, headers));
    return answer!.status;
  };
  assert.equal(await ask(`other=1; ${COOKIE}=${token}`), 200);
  const bad = [
    ['', '""', ' ', '%00', '%', '%ff%fe', '__proto__', "' OR 1=1 --", 'x'.repeat(7000)],
    [flipped, token.slice(1), `${token}A`, token.toUpperCase(), hashOf(token)],
  ].flat();
  for (const value of bad) assert.equal(await ask(`${COOKIE}=${value}`), 401, JSON.stringify(value.slice(0, 60)));
  const names = ['storeroom_session=', `${COOKIE.toLowerCase()}=`, `${COOKIE} `, '__proto__='];
  for (const cookie of ['', ';', '=', ...names.map((name) => name + token)])
    assert.equal(await ask(cookie), 401, cookie);
  assert.equal(await ask(`${COOKIE}=${flipped}; ${COOKIE}=${flipped}`), 401);
  assert.ok([200, 401].includes(await ask(`${COOKIE}=${flipped}; ${COOKIE}=${token}`)));
  assert.equal(await ask(`${COOKIE}=${'x'.repeat(10_000)}`), 431);
});
