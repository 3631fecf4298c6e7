/**
 * Tests signing in over HTTP and `storeroom user …`: one-time links, one refusal for every cause, and one
 * email address in two tenants. Sessions are in sessions.test.ts, waits in throttle.test.ts.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AnswerOf } from '../../src/http/dashboard/interface.ts';
import { pick } from '../kit/lists.ts';
import { send, writeRequest } from '../kit/raw-http.ts';
import { runCommand } from '../kit/service.ts';
import { appearanceOf, openStandingScene, runSql } from './scene.ts';
import { API, COOKIE, expectCode, expectOk, NEW_PASSWORD, PASSWORD, tokenOf, Visitor, type Reply } from './visitor.ts';
import { now } from '../kit/clock.ts';

const PUBLIC_URL = 'https://pims.example.com';

const service = await openStandingScene();
await service.makeTenant('shop');
await service.makeTenant('other');
const owner = await Visitor.make(service, 'shop', 'owner');

const invite = async (email: string): Promise<{ visitor: Visitor; token: string }> => ({
  token: tokenOf(await owner.ask('POST /users', { email, role: 'viewer' })),
  visitor: new Visitor(service, 'shop', email),
});

test('five failures cause no wait; after the sixth the right password must wait too, and then works', async () => {
  const user = await owner.add('viewer', 'slow@shop.example');
  const guess = () => expectCode(user.elsewhere().signIn('wrong wrong wrong wrong'), '401 SIGN_IN_REFUSED');
  for (let failure = 1; failure <= 6; failure++) await guess();
  const refused = await expectCode(user.elsewhere().signIn(PASSWORD), '429 TOO_MANY_ATTEMPTS');
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.deepEqual(refused.headers.getSetCookie(), []);
  await service.move(999);
  await expectCode(user.elsewhere().signIn(PASSWORD), '429 TOO_MANY_ATTEMPTS');
  await service.move(1);
  await expectOk(user.elsewhere().signIn(PASSWORD));
  for (let failure = 1; failure <= 5; failure++) await guess(); // the sign-in has reset the count of failures
});

suite('links', () => {
  test('a link shows its user, sets the password once and signs in', async () => {
    const { visitor, token } = await invite('first@shop.example');
    assert.deepEqual(await visitor.ask('POST /link/check', { token }), { teamID: 'shop', email: 'first@shop.example' });
    const { user, tenant } = (await visitor.open(token)).body as AnswerOf<'POST /link'>;
    assert.deepEqual([user.email, user.role], ['first@shop.example', 'viewer']);
    assert.deepEqual(tenant, { teamID: 'shop', name: 'Tenant shop' });
    assert.equal((await visitor.ask('GET /session')).user.email, 'first@shop.example');
    const elsewhere = visitor.elsewhere();
    await expectCode(elsewhere.post('/link', { token, password: NEW_PASSWORD }), '400 LINK_INVALID');
    await expectCode(elsewhere.signIn(NEW_PASSWORD), '401 SIGN_IN_REFUSED');
    await expectOk(elsewhere.signIn());
  });

  test('used, ended, replaced, removed, garbled and invented links are refused alike', async () => {
    const inviteTo = (name: string) => invite(`${name}@shop.example`);
    const [used, ended, whole] = [await inviteTo('used'), await inviteTo('ended'), await inviteTo('whole')];
    const [replaced, removed] = [await inviteTo('replaced'), await inviteTo('removed')];
    await used.visitor.open(used.token);
    const past = '2020-01-01T00:00:00.000Z';
    await runSql(service, `UPDATE @USERS SET "LINK_ENDS_AT" = '${past}' WHERE "EMAIL" = 'ended@shop.example'`);
    await owner.post('/users/link', { email: 'replaced@shop.example' });
    await owner.post('/users/remove', { email: 'removed@shop.example' });
    const { token } = whole;
    const other = (character = '') => (character === 'A' ? 'B' : 'A');
    const bad = [
      [used.token, ended.token, replaced.token, removed.token, 'A'.repeat(43), '', '\0', 'x'.repeat(5000)],
      [token.slice(0, -1), token.toLowerCase(), `${token}${other(token.at(-1))}`, owner.token!],
      [`${token.slice(0, 20)}${other(token[20])}${token.slice(21)}`],
    ].flat();
    for (const [path, more] of [['/link/check'], ['/link', { password: NEW_PASSWORD }]] as const) {
      const stranger = () => new Visitor(service, 'shop', 'x');
      const seen = [];
      for (const one of bad)
        seen.push(await expectCode(stranger().post(path, { token: one, ...more }), '400 LINK_INVALID'));
      for (const reply of seen) assert.deepEqual(appearanceOf(reply), appearanceOf(seen[0]!), path);
    }
    await whole.visitor.open(whole.token);
  });
});

test('no response builds a link or an address from the Host of its request', async () => {
  const there = owner.elsewhere(); // a separate session, because the sign-in below ends it
  assert.equal((await there.signIn()).status, 200);
  const evil = ['Host: evil.example', 'X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: https'];
  // The dashboard answers only under some names (cross-site.test.ts).
  const made = evil.with(0, 'Host: localhost');
  const headers = [...made, 'Sec-Fetch-Site: same-origin', `Cookie: ${COOKIE}=${there.token}`];
  const post = (path: string, body: object) =>
    send(
      service.origin,
      writeRequest('POST', API + path, [...headers, 'Content-Type: application/json'], JSON.stringify(body)),
    );
  const invited = await post('/users', { email: 'poisoned@shop.example', role: 'viewer' });
  const renewed = await post('/users/link', { email: 'poisoned@shop.example' });
  for (const { body } of [invited, renewed]) assert.match(body.link as string, /^\/dashboard\/link#[\w-]{43}$/);
  const session = await send(service.origin, writeRequest('GET', `${API}/session`, headers));
  assert.equal(session.body.baseURL, '/tenant/api/pims/v1');
  const signedIn = await post('/sign-in', { teamID: 'shop', email: owner.email, password: PASSWORD });
  assert.equal(signedIn.body.baseURL, '/tenant/api/pims/v1');
  const paths = ['/', '/dashboard', '/dashboard/', '/openapi.json', '/docs/'];
  const answers = await Promise.all(
    paths.map((path) => send(service.origin, writeRequest('GET', path, [...evil, 'Connection: close']))),
  );
  for (const { text, headers: sent } of [invited, renewed, session, signedIn, ...answers])
    assert.ok(!/evil/.test(text + JSON.stringify([...sent])), text.slice(0, 300));
});

suite('signing in', () => {
  test('team, password and email address in any case with spaces around sign in', async () => {
    for (const email of ['owner@shop.example', 'OWNER@Shop.Example', '  owner@shop.example\t', 'Owner@SHOP.example ']) {
      const { body } = await expectOk(new Visitor(service, 'shop', email).signIn());
      assert.equal(body.user.email, 'owner@shop.example');
      assert.equal(body.baseURL, '/tenant/api/pims/v1');
    }
  });

  test('unknown team or user and missing or wrong password get the same response, headers too', async () => {
    await invite('fresh@shop.example');
    const attempts: [teamID: string, email: string, password: string][] = [
      ['shop', 'owner@shop.example', NEW_PASSWORD],
      ['nobody', 'owner@shop.example', PASSWORD],
      ['SHOP', 'owner@shop.example', PASSWORD],
      ['shop', 'nobody@shop.example', PASSWORD],
      ['other', 'owner@shop.example', PASSWORD],
      ['shop', 'fresh@shop.example', PASSWORD],
      ['shop', 'fresh@shop.example', ''],
      ['shop', 'owner@shop.example', ''],
      ['shop', 'no address', PASSWORD],
      ['', '', ''],
      ['shop', 'owner@shop.example', 'x'.repeat(100_000)],
      ["' OR 1=1 --", "' OR ''='", "' OR ''='"],
    ];
    const seen = [];
    for (const [teamID, email, password] of attempts)
      seen.push(appearanceOf(await new Visitor(service, teamID, email).signIn(password)));
    for (const [index, one] of seen.entries())
      assert.deepEqual(one, seen[0], JSON.stringify(attempts[index]!.slice(0, 2)));
    const { status, body, headers } = seen[0] as { status: number; body: Reply['body']; headers: [string, string][] };
    assert.deepEqual([status, body.code], [401, 'SIGN_IN_REFUSED']);
    const names = headers.map(([name]) => name);
    assert.ok(!names.includes('set-cookie') && !names.includes('www-authenticate'), names.join());
  });

  test('users of two tenants with one address are two users, in password, role and removal', async () => {
    const email = 'ann@example.com';
    const here = await owner.add('developer', email);
    const there = new Visitor(service, 'other', email);
    there.password = NEW_PASSWORD;
    await there.open(await there.invite('owner'));
    await expectCode(here.elsewhere().signIn(NEW_PASSWORD), '401 SIGN_IN_REFUSED');
    await expectCode(there.elsewhere().signIn(PASSWORD), '401 SIGN_IN_REFUSED');
    for (const [visitor, teamID, role] of [
      [here, 'shop', 'developer'],
      [there, 'other', 'owner'],
    ] as const) {
      const { user, tenant } = await visitor.ask('GET /session');
      assert.deepEqual([user.role, tenant.teamID], [role, teamID]);
    }
    await expectOk(owner.post('/users/remove', { email }));
    await expectCode(here.get('/session'), '401 NOT_SIGNED_IN');
    await expectOk(there.get('/session'));
  });
});

suite('storeroom user', () => {
  const run = (...words: string[]) =>
    runCommand(service.place, ['user', ...words], { env: { STOREROOM_PUBLIC_URL: PUBLIC_URL } });
  const refused = async (words: string[], code: number, errorCode: string): Promise<void> => {
    const result = await run(...words, '--json');
    assert.equal(`${result.code} ${result.stdout}`, `${code} `, words.join(' '));
    assert.equal((JSON.parse(result.stderr) as { error: { code: string } }).error.code, errorCode, words.join(' '));
  };

  test('create and link print a link under STOREROOM_PUBLIC_URL; list, role and remove work', async () => {
    const created = await run('create', 'other', 'Cli@Example.com', '--role', 'owner', '--json');
    const { link, endsAt, ...rest } = created.json() as { link: string; endsAt: string };
    assert.match(link, /^https:\/\/pims\.example\.com\/dashboard\/link#[\w-]{43}$/);
    const hours = (Date.parse(endsAt) - now()) / 3_600_000;
    assert.ok(hours > 71 && hours <= 72, endsAt);
    assert.deepEqual(Object.keys(rest), ['teamID', 'email']);
    const words = await run('link', 'other', 'cli@example.com');
    assert.match(words.stdout, /^https:\/\/pims\.example\.com\/dashboard\/link#[\w-]{43}\n/);
    const visitor = new Visitor(service, 'other', 'cli@example.com');
    await expectCode(visitor.post('/link', { token: tokenOf({ link }), password: PASSWORD }), '400 LINK_INVALID');
    await visitor.open(words.stdout.split(/[#\n]/)[1]!);
    assert.equal((await run('role', 'other', 'cli@example.com', '--role', 'viewer')).code, 0);
    assert.equal((await visitor.ask('GET /session')).user.role, 'viewer');
    const { users } = (await run('list', 'other', '--json')).json() as AnswerOf<'GET /users'>;
    const listed = users.filter(({ email }) => email === visitor.email);
    assert.deepEqual(pick(listed, 'role', 'hasPassword', 'hasSecondFactor'), [
      { role: 'viewer', hasPassword: true, hasSecondFactor: false },
    ]);
    assert.equal((await run('remove', 'other', 'cli@example.com')).code, 0);
    await expectCode(visitor.get('/session'), '401 NOT_SIGNED_IN');
    await expectCode(visitor.signIn(), '401 SIGN_IN_REFUSED');
  });

  test('a refusal ends with 1 and its code, wrong use with 2', async () => {
    await service.makeTenant('solo');
    assert.equal((await run('create', 'solo', 'only@example.com', '--role', 'owner')).code, 0);
    await Promise.all([
      refused(['create', 'nowhere', 'a@example.com', '--role', 'owner'], 1, 'TENANT_NOT_FOUND'),
      refused(['create', 'solo', 'ONLY@example.com', '--role', 'viewer'], 1, 'USER_EXISTS'),
      refused(['create', 'solo', 'no address', '--role', 'viewer'], 1, 'INVALID_VALUE'),
      refused(['link', 'solo', 'nobody@example.com'], 1, 'NOT_FOUND'),
      refused(['role', 'solo', 'only@example.com', '--role', 'developer'], 1, 'LAST_OWNER'),
      refused(['remove', 'solo', 'only@example.com'], 1, 'LAST_OWNER'),
      refused(['remove', 'solo', 'nobody@example.com'], 1, 'NOT_FOUND'),
      refused(['create', 'solo', 'a@example.com', '--role', 'admin'], 2, 'WRONG_USE'),
      refused(['create', 'solo', 'a@example.com'], 2, 'WRONG_USE'),
    ]);
  });
});
