/**
 * Tests requests that do not come from the dashboard's own pages: every route refuses them before it does anything. No
 * route accepts the body of a form or shares a response with another origin, and no GET changes anything.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf, sendRow, type Row } from './routes.ts';
import { BEHIND_PROXY, everythingOf } from './scene.ts';
import { send, writeRequest } from '../kit/raw-http.ts';
import { ownService, Service } from '../kit/service.ts';
import { IS_THOROUGH } from '../kit/trials.ts';
import { makeMarkedTenant } from './tenants.ts';
import { API, codeIn, expectOk, type Reply } from './visitor.ts';

const service = await ownService({ env: BEHIND_PROXY });
const tenant = await makeMarkedTenant(service, 'shop');
const owner = tenant.users.owner;

const nameOf = ({ method, path }: Row): string => `${method} ${path}`;
const rows = (): Row[] => rowsOf(tenant.named, owner);

let calls = 0;
/** Lets five seconds pass after each hundred calls, because a user has 20 a second. */
async function keepRate(): Promise<void> {
  if (++calls % 100 === 0) await service.move(5000);
}

/** Returns the texts that are each sent to every route: all of them, or the first two in `npm test`. */
const few = (texts: string[]): string[] => (IS_THOROUGH ? texts : texts.slice(0, 2));

type Variants = Record<string, Record<string, string>>;

/** Sends every row with the owner's session and each set of headers. All have to be refused without any change. */
async function expectRefused(variants: Variants, code = '403 CROSS_SITE', selected = rows()): Promise<void> {
  const earlier = await everythingOf(owner);
  const { token } = owner;
  for (const [what, headers] of Object.entries(variants))
    for (const row of selected) {
      await keepRate();
      const reply = await sendRow(owner, row, headers);
      assert.equal(codeIn(reply), code, `${what}, ${nameOf(row)}: ${reply.text}`);
      expectShared(reply);
      assert.deepEqual(reply.headers.getSetCookie(), []);
    }
  assert.equal(owner.token, token);
  assert.equal(await everythingOf(owner), earlier);
  await owner.ask('POST /link/check', { token: tenant.named.linkToken }); // the link is still unused
}

const expectShared = ({ headers }: Pick<Reply, 'headers'>): void => {
  for (const [name] of headers) assert.ok(!name.startsWith('access-control-'), name);
};

test('a request from another site by its Sec-Fetch-Site is refused on every route and does nothing', async () => {
  const sites = few(['cross-site', 'same-site', 'none', 'SAME-ORIGIN', 'same-origin, cross-site', 'x']);
  const variants = Object.fromEntries(sites.map((site) => [`Sec-Fetch-Site: ${site}`, { 'sec-fetch-site': site }]));
  await expectRefused(variants);
});

test('a request with only a foreign, garbled or missing Origin is refused on every route and does nothing', async () => {
  const { host, hostname, port } = new URL(service.origin);
  const foreign = [
    ...`https://evil.example null http://${host}.evil.example http://evil.example/${host}`.split(' '),
    ...`http://${host}@evil.example ${host} / http://${hostname}:${Number(port) + 1} http://`.split(' '),
  ];
  const variants = Object.fromEntries(
    few(foreign).map((origin) => [`Origin: ${origin}`, { 'sec-fetch-site': '', origin }]),
  );
  await expectRefused({ ...variants, 'no Origin': { 'sec-fetch-site': '', origin: '' } });
});

test('403 for pages, sign-in and metrics under a foreign name; the API works under any name', async (context) => {
  const named = await Service.start({ env: { STOREROOM_PUBLIC_URL: 'https://pims.example.com' } });
  context.after(() => named.stop());
  const keys = await named.makeTenant('shop');
  const own = ['Sec-Fetch-Site: same-origin', 'Content-Type: application/json'];
  const signIn = JSON.stringify({ teamID: 'shop', email: 'ann@example.com', password: 'wrong wrong wrong' });
  const basic = Buffer.from(`${keys.apiID}:${keys.apiSecret}`).toString('base64');
  const ask = async (host: string): Promise<number[]> => {
    const from = (method: string, path: string, lines: string[] = [], body = '') =>
      send(named.origin, writeRequest(method, path, [`Host: ${host}`, ...lines], body));
    const answers = await Promise.all([
      from('GET', '/metrics'),
      from('GET', '/dashboard/'),
      from('GET', '/'),
      from('POST', '/dashboard/api/sign-in', own, signIn),
      from('GET', '/tenant/api/pims/v1/usage?teamID=shop', [`Authorization: Basic ${basic}`]),
      from('GET', '/healthz'),
    ]);
    return answers.map(({ status }) => status);
  };
  const [, port] = new URL(named.origin).host.split(':');
  for (const host of [
    '127.0.0.1',
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    '[::1]',
    '10.0.0.7:80',
    'PIMS.example.com',
  ])
    assert.deepEqual(await ask(host), [200, 200, 302, 401, 200, 200], host);
  for (const host of [
    'evil.test',
    `evil.test:${port}`,
    '127.0.0.1.evil.test',
    'localhost.evil.test',
    'evil.test@localhost.evil.test',
    'x y',
  ])
    // prettier-ignore
    assert.deepEqual(await ask(host), [403, 403, 403, 403, 200, 200], host);
});

test('a matching Referer or X-Forwarded-Host does not replace the Origin', async () => {
  const own = { referer: `${service.origin}/dashboard/`, 'x-forwarded-host': 'evil.example', 'sec-fetch-site': '' };
  await expectRefused({ Referer: { ...own, origin: '' }, forwarded: { ...own, origin: 'https://evil.example' } });
});

test('bodies that a form of another site could send are refused on every route and do nothing', async () => {
  const types = [
    ...'text/plain application/x-www-form-urlencoded text/json application/jsonp'.split(' '),
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    'text/plain; application/json',
  ];
  const variants = Object.fromEntries(few(types).map((type) => [type, { 'content-type': type }]));
  const posts = rows().filter(({ method }) => method !== 'GET');
  await expectRefused(variants, '415 UNSUPPORTED_MEDIA_TYPE', posts);
});

test('a request with its own Origin works if the browser does not send Sec-Fetch-Site', async () => {
  const visitor = await owner.again();
  for (const row of rows().filter(({ method }) => method === 'GET')) {
    await keepRate();
    const { status, text } = await sendRow(visitor, row, { 'sec-fetch-site': '' });
    assert.equal(status, 200, `${nameOf(row)}: ${text}`);
  }
  await expectOk(visitor.post('/records/orders/query', [], { 'sec-fetch-site': '' }));
  await expectOk(visitor.post('/sign-out', {}, { 'sec-fetch-site': '' }));
});

test('no response allows another origin to read it, not even one to OPTIONS', async () => {
  const headers = {
    origin: 'https://evil.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  };
  const elsewhere = '/dashboard/ /dashboard / /dashboard/api/ /dashboard/assets/x.js /dashboard/requests /*'.split(' ');
  for (const path of [...new Set(rows().map((row) => API + row.path)), ...elsewhere]) {
    const reply = await owner.send('OPTIONS', path, undefined, { ...headers, 'sec-fetch-site': '' });
    assert.ok(reply.status === 404 || reply.status === 405, `${path}: ${reply.status}`);
    expectShared(reply);
    expectShared(await owner.send('GET', path, undefined, headers));
  }
});

test('no GET or HEAD changes anything, on routes of any method', async () => {
  const earlier = await everythingOf(owner);
  for (const row of rows())
    for (const method of ['GET', 'HEAD']) {
      const sent = method === row.method ? row.query : { ...row.query, ...(row.body as Record<string, string>) };
      const path = `${API}${row.path}?${new URLSearchParams(sent).toString()}`;
      await keepRate();
      const reply = await owner.send(method, path, undefined, { 'x-http-method-override': row.method });
      if (
        method !== row.method &&
        !rows().some(({ method: other, path: same }) => other === method && same === row.path)
      )
        assert.ok(reply.status === 404 || reply.status === 405, `${method} ${row.path}: ${reply.status}`);
      assert.deepEqual(reply.headers.getSetCookie(), []);
    }
  assert.equal(await everythingOf(owner), earlier);
});
