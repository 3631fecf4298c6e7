/**
 * Requests that do not come from the dashboard's own pages: every route refuses them before it does anything, whatever the browser says of where they come
 * from; bodies that a form could send are not taken; nothing is ever shared with another origin; and no GET changes anything.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf, sendRow, type Row } from './routes.ts';
import { everythingOf, openScene } from './scene.ts';
import { makeMarkedTenant, signInAgain } from './tenants.ts';
import { API, type Reply } from './visitor.ts';

const service = await openScene();
const tenant = await makeMarkedTenant(service, 'shop');
const owner = tenant.users.owner;

const nameOf = ({ method, path }: Row): string => `${method} ${path}`;
const rows = (): Row[] => rowsOf(tenant.named, owner);

/** Sends every row with the headers, and the owner's session, and expects all to be refused and nothing to be changed. */
async function expectRefused(
  variants: Record<string, Record<string, string>>,
  selected: Row[],
  code: string,
): Promise<void> {
  const earlier = await everythingOf(owner);
  const { token } = owner;
  for (const [what, headers] of Object.entries(variants))
    for (const row of selected) {
      const reply = await sendRow(owner, row, headers);
      assert.equal(`${reply.status} ${reply.body?.code}`, code, `${what}, ${nameOf(row)}: ${reply.text}`);
      expectShared(reply);
      assert.deepEqual(reply.headers.getSetCookie(), []);
    }
  assert.equal(owner.token, token);
  assert.equal(await everythingOf(owner), earlier);
  assert.equal((await owner.post('/link/check', { token: tenant.named.linkToken })).status, 200, 'the link was used');
}

const expectShared = ({ headers }: Pick<Reply, 'headers'>): void => {
  for (const [name] of headers) assert.ok(!name.startsWith('access-control-'), name);
};

test('a request that a browser says comes from elsewhere is refused on every route, with a session and a good body, and does nothing', async () => {
  const sites = ['cross-site', 'same-site', 'none', 'SAME-ORIGIN', 'same-origin, cross-site', 'x'];
  const variants = Object.fromEntries(sites.map((site) => [`Sec-Fetch-Site: ${site}`, { 'sec-fetch-site': site }]));
  await expectRefused(variants, rows(), '403 CROSS_SITE');
});

test('without that header a foreign, null, garbled or missing Origin is refused on every route and does nothing', async () => {
  const { host, hostname, port } = new URL(service.origin);
  const foreign = ['https://evil.example', 'null', `http://${host}.evil.example`, `http://evil.example/${host}`, `http://${host}@evil.example`, host, '/', `http://${hostname}:${Number(port) + 1}`, 'http://']; // prettier-ignore
  const variants = Object.fromEntries(foreign.map((origin) => [`Origin: ${origin}`, { 'sec-fetch-site': '', origin }]));
  await expectRefused({ ...variants, 'no Origin': { 'sec-fetch-site': '', origin: '' } }, rows(), '403 CROSS_SITE');
});

test('a Referer or X-Forwarded-Host of its own does not stand in for the Origin', async () => {
  const own = { referer: `${service.origin}/dashboard/`, 'x-forwarded-host': 'evil.example' };
  await expectRefused({ Referer: { ...own, 'sec-fetch-site': '', origin: '' }, forwarded: { ...own, 'sec-fetch-site': '', origin: 'https://evil.example' } }, rows(), '403 CROSS_SITE'); // prettier-ignore
});

test('bodies that a form of another site could send are refused on every route that takes one, and do nothing', async () => {
  const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/json; charset=latin1', 'text/json', 'application/jsonp', 'text/plain; application/json']; // prettier-ignore
  const variants = Object.fromEntries(types.map((type) => [type, { 'content-type': type }]));
  const posts = rows().filter(({ method }) => method !== 'GET');
  await expectRefused(variants, posts, '415 UNSUPPORTED_MEDIA_TYPE');
});

test('with its own Origin a request works where the browser does not send Sec-Fetch-Site', async () => {
  const visitor = await signInAgain(owner);
  for (const row of rows().filter(({ method }) => method === 'GET')) {
    const { status, text } = await sendRow(visitor, row, { 'sec-fetch-site': '' });
    assert.equal(status, 200, `${nameOf(row)}: ${text}`);
  }
  assert.equal((await visitor.post('/records/orders/query', [], { 'sec-fetch-site': '' })).status, 200);
  assert.equal((await visitor.post('/sign-out', {}, { 'sec-fetch-site': '' })).status, 200);
});

test('no answer shares anything with another origin, also none to OPTIONS', async () => {
  const headers = {
    origin: 'https://evil.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type',
  };
  const paths = [
    ...new Set(rows().map(({ path }) => API + path)),
    '/dashboard/',
    '/dashboard',
    '/',
    '/dashboard/api/',
    '/dashboard/assets/x.js',
    '/dashboard/requests',
    '*',
  ];
  for (const path of paths) {
    const reply = await owner.send('OPTIONS', path === '*' ? '/*' : path, undefined, {
      ...headers,
      'sec-fetch-site': '',
    });
    assert.ok(reply.status === 404 || reply.status === 405, `${path}: ${reply.status}`);
    expectShared(reply);
    expectShared(await owner.send('GET', path === '*' ? '/*' : path, undefined, headers));
  }
});

test('no GET and no HEAD changes anything: not of the routes that are GETs, nor of those that are not', async () => {
  const earlier = await everythingOf(owner);
  for (const row of rows())
    for (const method of ['GET', 'HEAD']) {
      const search = new URLSearchParams({ ...row.query, ...(row.body as Record<string, string>) }).toString();
      const reply = await owner.send(
        method,
        `${API}${row.path}?${method === row.method ? new URLSearchParams(row.query).toString() : search}`,
        undefined,
        {
          'x-http-method-override': row.method,
        },
      );
      if (method !== row.method && !rows().some(({ method: other, path }) => other === method && path === row.path))
        assert.ok(reply.status === 404 || reply.status === 405, `${method} ${row.path}: ${reply.status}`);
      assert.deepEqual(reply.headers.getSetCookie(), []);
    }
  assert.equal(await everythingOf(owner), earlier);
});
