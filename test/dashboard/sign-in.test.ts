/**
 * Signing in over HTTP and `storeroom user …`: links that set a password once, the one refusal for every cause, passwords that are too weak, and users of
 * different tenants with one address. Sessions are in sessions.test.ts, more about waiting in throttle.test.ts.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { send, writeRequest } from '../kit/raw-http.ts';
import { runCommand } from '../kit/service.ts';
import { appearanceOf, openScene, runSql } from './scene.ts';
import { API, COOKIE, PASSWORD, Visitor, type Reply } from './visitor.ts';

const PUBLIC_URL = 'https://pims.example.com';
const NEW_PASSWORD = 'seven copper kites above';

const service = await openScene();
await service.makeTenant('shop');
await service.makeTenant('other');
const owner = await Visitor.make(service, 'shop', 'owner');

const expectCode = ({ status, body, text }: Reply, httpStatus: number, code: string): void =>
  assert.equal(`${status} ${body?.code}`, `${httpStatus} ${code}`, text);
const invite = async (email: string): Promise<{ visitor: Visitor; token: string }> => {
  const { body, text, status } = await owner.post('/users', { email, role: 'viewer' });
  assert.equal(status, 200, text);
  return { visitor: new Visitor(service, 'shop', email), token: (body.link as string).split('#')[1]! };
};

test('five failures cost nothing; after the sixth the right password waits too, and works after the time told', async () => {
  const user = await owner.add('viewer', 'slow@shop.example');
  const guess = async (): Promise<void> =>
    expectCode(await user.elsewhere().signIn('wrong wrong wrong wrong'), 401, 'SIGN_IN_REFUSED');
  for (let failure = 1; failure <= 6; failure++) await guess();
  const refused = await user.elsewhere().signIn(PASSWORD);
  expectCode(refused, 429, 'TOO_MANY_ATTEMPTS');
  assert.equal(refused.headers.get('retry-after'), '1');
  assert.deepEqual(refused.headers.getSetCookie(), []);
  await sleep(1050);
  assert.equal((await user.elsewhere().signIn(PASSWORD)).status, 200);
  for (let failure = 1; failure <= 5; failure++) await guess(); // a sign-in forgets failures
});

suite('links', () => {
  test('a link tells whom it is for, sets the password once and signs in', async () => {
    const { visitor, token } = await invite('first@shop.example');
    const check = await visitor.post('/link/check', { token });
    assert.deepEqual([check.status, check.body], [200, { teamID: 'shop', email: 'first@shop.example' }]);
    const opened = await visitor.open(token);
    assert.deepEqual(
      [opened.body.user.email, opened.body.user.role, opened.body.tenant],
      ['first@shop.example', 'viewer', { teamID: 'shop', name: 'Tenant shop' }],
    );
    assert.equal((await visitor.get('/session')).body.user.email, 'first@shop.example');
    const elsewhere = visitor.elsewhere();
    expectCode(await elsewhere.post('/link', { token, password: NEW_PASSWORD }), 400, 'LINK_INVALID');
    assert.equal((await elsewhere.signIn(NEW_PASSWORD)).status, 401, 'the link set a second password');
    assert.equal((await elsewhere.signIn()).status, 200);
  });

  test('a link can be looked at without being used up', async () => {
    const { visitor, token } = await invite('looked@shop.example');
    for (let look = 0; look < 3; look++) assert.equal((await visitor.post('/link/check', { token })).status, 200);
    await visitor.open(token);
  });

  test('of one link opened five times at once, one sets the password', async () => {
    const { visitor, token } = await invite('raced@shop.example');
    const passwords = Array.from({ length: 5 }, (_, index) => `${NEW_PASSWORD} ${'abcde'[index]}`);
    const replies = await Promise.all(
      passwords.map((password) => visitor.elsewhere().post('/link', { token, password })),
    );
    assert.deepEqual(
      replies.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 400, 400, 400, 400],
    );
    const winner = passwords[replies.findIndex(({ status }) => status === 200)]!;
    for (const password of passwords)
      assert.equal((await visitor.elsewhere().signIn(password)).status, password === winner ? 200 : 401);
  });

  test('used, ended, replaced, removed, garbled and invented links are refused alike, by the check and by the setting', async () => {
    const links = await Promise.all(
      ['used', 'ended', 'replaced', 'removed', 'whole'].map((name) => invite(`${name}@shop.example`)),
    );
    const [used, ended, replaced, removed, whole] = links as [
      (typeof links)[0],
      (typeof links)[0],
      (typeof links)[0],
      (typeof links)[0],
      (typeof links)[0],
    ];
    await used.visitor.open(used.token);
    await runSql(
      service,
      `UPDATE @USERS SET "LINK_ENDS_AT" = '2020-01-01T00:00:00.000Z' WHERE "EMAIL" = 'ended@shop.example'`,
    );
    await owner.post('/users/link', { email: 'replaced@shop.example' });
    await owner.post('/users/remove', { email: 'removed@shop.example' });
    const last = whole.token.at(-1) === 'A' ? 'B' : 'A';
    const bad = [
      used.token,
      ended.token,
      replaced.token,
      removed.token,
      `${whole.token.slice(0, 20)}${whole.token[20] === 'A' ? 'B' : 'A'}${whole.token.slice(21)}`,
      whole.token.slice(0, -1),
      `${whole.token}${last}`,
      whole.token.toLowerCase(),
      'A'.repeat(43),
      '',
      '\0',
      'x'.repeat(5000),
      owner.token!,
    ];
    for (const path of ['/link/check', '/link']) {
      const seen = [];
      for (const token of bad)
        seen.push(
          appearanceOf(
            await new Visitor(service, 'shop', 'x').post(path, {
              token,
              ...(path === '/link' && { password: NEW_PASSWORD }),
            }),
          ),
        );
      for (const one of seen) assert.deepEqual(one, seen[0] as object, path);
      assert.equal((seen[0] as { body: { code: string } }).body.code, 'LINK_INVALID');
    }
    await whole.visitor.open(whole.token);
  });

  test('a new link leaves the password in force until it is used, and then ends it and all sessions', async () => {
    const user = await owner.add('viewer', 'forgot@shop.example');
    const { body } = await owner.post('/users/link', { email: user.email });
    assert.equal((await user.elsewhere().signIn()).status, 200);
    assert.equal((await user.get('/session')).status, 200);
    const later = user.elsewhere();
    later.password = NEW_PASSWORD;
    await later.open((body.link as string).split('#')[1]!);
    expectCode(await user.get('/session'), 401, 'NOT_SIGNED_IN');
    assert.equal((await user.elsewhere().signIn()).status, 401);
    assert.equal((await later.elsewhere().signIn()).status, 200);
  });
});

test('no answer takes a link or an address from the Host of its request', async () => {
  const there = owner.elsewhere(); // the sign-in below ends its session
  assert.equal((await there.signIn()).status, 200);
  const made = ['Host: evil.example', 'X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: https'];
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
    paths.map((path) => send(service.origin, writeRequest('GET', path, [...made, 'Connection: close']))),
  );
  for (const { text, headers: sent } of [invited, renewed, session, signedIn, ...answers])
    assert.ok(!/evil/.test(text + JSON.stringify([...sent])), text.slice(0, 300));
});

suite('signing in', () => {
  test('team, e-mail address in any case with spaces around, and password let in', async () => {
    for (const email of ['owner@shop.example', 'OWNER@Shop.Example', '  owner@shop.example\t', 'Owner@SHOP.example ']) {
      const visitor = new Visitor(service, 'shop', email);
      const { status, body, text } = await visitor.signIn();
      assert.equal(status, 200, text);
      assert.equal(body.user.email, 'owner@shop.example');
      assert.equal(body.baseURL, '/tenant/api/pims/v1');
    }
  });

  test('the password is taken exactly: no case folded, no space trimmed, no Unicode form made another', async () => {
    const { visitor, token } = await invite('exact@shop.example');
    visitor.password = ' Zwölf Kraniche über Ulm ';
    await visitor.open(token);
    for (const password of [
      visitor.password.trim(),
      visitor.password.toLowerCase(),
      visitor.password.normalize('NFD'),
      `${visitor.password}\0`,
    ])
      assert.equal((await visitor.elsewhere().signIn(password)).status, 401, JSON.stringify(password));
    assert.equal((await visitor.elsewhere().signIn()).status, 200);
  });

  test('unknown team, unknown user, no password yet and wrong password are answered with the same status, body and headers', async () => {
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
    const { status, body, headers } = seen[0] as {
      status: number;
      body: { code: string };
      headers: [string, string][];
    };
    assert.deepEqual([status, body.code], [401, 'SIGN_IN_REFUSED']);
    assert.ok(
      !headers.some(([name]) => name === 'set-cookie' || name === 'www-authenticate'),
      'a refusal sets no cookie and asks for no Basic credentials',
    );
  });

  test('users of two tenants with one address are two users: password, role and removal of one are not those of the other', async () => {
    const email = 'ann@example.com';
    const here = await owner.add('developer', email);
    const there = new Visitor(service, 'other', email);
    there.password = NEW_PASSWORD;
    await there.open(await there.invite('owner'));
    assert.equal((await here.elsewhere().signIn(NEW_PASSWORD)).status, 401);
    assert.equal((await there.elsewhere().signIn(PASSWORD)).status, 401);
    assert.deepEqual(
      [(await here.get('/session')).body.user.role, (await there.get('/session')).body.user.role],
      ['developer', 'owner'],
    );
    assert.deepEqual(
      [(await here.get('/session')).body.tenant.teamID, (await there.get('/session')).body.tenant.teamID],
      ['shop', 'other'],
    );
    assert.equal((await owner.post('/users/remove', { email })).status, 200);
    expectCode(await here.get('/session'), 401, 'NOT_SIGNED_IN');
    assert.equal((await there.get('/session')).status, 200);
  });
});

suite('passwords', () => {
  test('common, short, repeated, too long and tenant-named passwords are refused with a message and set nothing', async () => {
    const { visitor, token } = await invite('weak@shop.example');
    const weak = ['', 'Tr0ub4dor&3', 'fourteen chars', 'password12345678', 'aaaaaaaaaaaaaaaaaaaa', 'abcabcabcabcabcabc', 'qwertyuiopasdfgh', 'shop shop shop shop', 'weak@shop.example', 'x1'.repeat(128) + 'y']; // prettier-ignore
    for (const password of weak) {
      const reply = await visitor.post('/link', { token, password });
      expectCode(reply, 400, 'WEAK_PASSWORD');
      assert.equal(reply.body.field, 'password');
      assert.ok(
        (reply.body.message as string).length > 30 &&
          (password === '' || !(reply.body.message as string).includes(password)),
        reply.text,
      );
      visitor.client = visitor.elsewhere().client;
    }
    assert.equal(visitor.token, undefined);
    visitor.password = 'correct zebra lantern '.repeat(11) + 'quince orbit ä';
    assert.equal(visitor.password.length, 256);
    await visitor.open(token);
    assert.equal((await visitor.elsewhere().signIn()).status, 200);
  });

  test('changing the password needs the old one, ends all other sessions and not this one, and the new one works', async () => {
    const user = await owner.add('viewer', 'changer@shop.example');
    const other = user.elsewhere();
    assert.equal((await other.signIn()).status, 200);
    expectCode(
      await user.post('/password', { password: NEW_PASSWORD, newPassword: 'eleven quiet purple barges' }),
      401,
      'SIGN_IN_REFUSED',
    );
    expectCode(await user.post('/password', { password: PASSWORD, newPassword: 'short' }), 400, 'WEAK_PASSWORD');
    expectCode(await user.post('/password', { password: PASSWORD, newPassword: PASSWORD }), 400, 'WEAK_PASSWORD');
    assert.equal((await other.get('/session')).status, 200, 'a refused change ended a session');
    assert.equal((await user.post('/password', { password: PASSWORD, newPassword: NEW_PASSWORD })).status, 200);
    assert.equal((await user.get('/session')).status, 200);
    expectCode(await other.get('/session'), 401, 'NOT_SIGNED_IN');
    assert.equal((await user.elsewhere().signIn(PASSWORD)).status, 401);
    assert.equal((await user.elsewhere().signIn(NEW_PASSWORD)).status, 200);
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

  test('create prints the link under STOREROOM_PUBLIC_URL, in words and as JSON; link, list, role and remove do what they say', async () => {
    const created = await run('create', 'other', 'Cli@Example.com', '--role', 'owner', '--json');
    const { link, endsAt, ...rest } = created.json() as { link: string; endsAt: string };
    assert.match(link, /^https:\/\/pims\.example\.com\/dashboard\/link#[\w-]{43}$/);
    const hours = (Date.parse(endsAt) - Date.now()) / 3_600_000;
    assert.ok(hours > 71 && hours <= 72, endsAt);
    assert.deepEqual(Object.keys(rest), ['teamID', 'email']);
    const words = await run('link', 'other', 'cli@example.com');
    assert.match(words.stdout, /^https:\/\/pims\.example\.com\/dashboard\/link#[\w-]{43}\n/);
    const visitor = new Visitor(service, 'other', 'cli@example.com');
    expectCode(await visitor.post('/link', { token: link.split('#')[1]!, password: PASSWORD }), 400, 'LINK_INVALID');
    await visitor.open(words.stdout.split(/[#\n]/)[1]!);
    assert.equal((await run('role', 'other', 'cli@example.com', '--role', 'viewer')).code, 0);
    assert.equal((await visitor.get('/session')).body.user.role, 'viewer');
    const { users } = (await run('list', 'other', '--json')).json() as {
      users: { email: string; role: string; hasPassword: boolean; hasSecondFactor: boolean }[];
    };
    const { role, hasPassword, hasSecondFactor } = users.find(({ email }) => email === 'cli@example.com')!;
    assert.deepEqual(
      { role, hasPassword, hasSecondFactor },
      { role: 'viewer', hasPassword: true, hasSecondFactor: false },
    );
    assert.equal((await run('remove', 'other', 'cli@example.com')).code, 0);
    expectCode(await visitor.get('/session'), 401, 'NOT_SIGNED_IN');
    assert.equal((await visitor.signIn()).status, 401);
  });

  test('what cannot be done ends with 1 and its code, wrong use with 2', async () => {
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
