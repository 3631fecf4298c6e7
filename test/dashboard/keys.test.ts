/**
 * Tests keys in the dashboard: replacing them with and without an overlap, ending one early, what is shown of them, and
 * that a secret is shown once and kept nowhere.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnswerOf } from '../../src/http/dashboard/interface.ts';
import { pick, valuesOf } from '../kit/lists.ts';
import type { Keys } from '../kit/service.ts';
import { until } from '../kit/wait.ts';
import { auditOf, findInStore, forgetProof, openScene, openTenant, runSql, type OwnedTenant } from './scene.ts';
import { expectCode, type Reply, type Visitor } from './visitor.ts';

const HOUR_MS = 3_600_000;
const OVERLAPS = { none: 0, '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 168 * HOUR_MS };

type Key = AnswerOf<'GET /keys'>['keys'][number];
type Issued = AnswerOf<'POST /keys/replace'>;

const service = await openScene({ STOREROOM_LOG_LEVEL: 'debug' });

interface Tenant extends OwnedTenant {
  readonly developer: Visitor;
}
/** Makes a tenant with keys from the command line, an owner and a developer. */
async function open(): Promise<Tenant> {
  const tenant = await openTenant(service);
  return { ...tenant, developer: await tenant.owner.add('developer') };
}
let shared: Tenant | undefined;
/** Returns the same tenant each time, with a new pair as its only keys. */
async function renew(): Promise<Tenant> {
  const { teamID, owner } = (shared ??= await open());
  owner.client = owner.elsewhere().client;
  const developer = await shared.developer.again();
  return { teamID, owner, developer, keys: await replaced(owner, 'none') };
}
const statusOf = async (keys: Keys): Promise<number> =>
  (await service.call(keys, 'POST', '/orders/query', { body: [] })).status;
const listOf = async (visitor: Visitor): Promise<Key[]> => (await visitor.ask('GET /keys')).keys;
const replace = (visitor: Visitor, overlap: string): Promise<Reply> => visitor.post('/keys/replace', { overlap });
const replaced = (visitor: Visitor, overlap: keyof typeof OVERLAPS): Promise<Issued> =>
  visitor.ask('POST /keys/replace', { overlap });
const endKey = ({ apiID }: Keys, keyEndsAt: string): Promise<unknown> =>
  runSql(service, `UPDATE @API_KEYS SET "ENDS_AT" = '${keyEndsAt}' WHERE "API_ID" = '${apiID}'`);

// Holds S2.7.
test('the shown pair works at once; the previous one is refused at once, or works until its end', async () => {
  const { keys, developer } = await renew();
  let previous = keys;
  for (const [overlap, ms] of Object.entries(OVERLAPS) as [keyof typeof OVERLAPS, number][]) {
    const asked = service.now();
    const issued = await replaced(developer, overlap);
    assert.deepEqual(Object.keys(issued), ['teamID', 'apiID', 'apiSecret', 'name', 'oldKeysEndAt']);
    assert.match(`${issued.apiID} ${issued.apiSecret}`, /^sr_id_[0-9A-Za-z]{22} sr_sk_[0-9A-Za-z]{49}$/);
    assert.equal(await statusOf(issued), 200, overlap);
    assert.equal(await statusOf(previous), overlap === 'none' ? 401 : 200, overlap);
    const ends = Date.parse(issued.oldKeysEndAt) - ms;
    assert.ok(ends >= asked && ends <= service.now(), `${overlap}: ${issued.oldKeysEndAt}`);
    const old = (await listOf(developer)).find(({ apiID }) => apiID === previous.apiID);
    assert.equal(old?.endsAt, overlap === 'none' ? undefined : issued.oldKeysEndAt);
    if (overlap !== 'none') {
      await endKey(previous, service.timeAt(-1));
      // The end was written past the service, and a node on PostgreSQL keeps a key for 100 ms.
      await until(async () => (await statusOf(previous)) === 401);
      assert.equal(await statusOf(issued), 200);
    }
    previous = issued;
  }
  assert.deepEqual(pick(await listOf(developer), 'apiID', 'endsAt'), [{ apiID: previous.apiID, endsAt: null }]);
});

test('a missing proof, an invalid overlap or an unknown member replaces no pair', async () => {
  const { keys, developer } = await renew();
  await expectCode(replace(developer, '30d'), '400 INVALID_VALUE');
  await expectCode(developer.post('/keys/replace'), '400 MISSING_FIELD');
  await expectCode(developer.post('/keys/replace', { overlap: 'none', apiSecret: 'sr_sk_x' }), '400 UNKNOWN_FIELD');
  await expectCode(developer.post('/keys/replace', { overlap: ['none'] }), '400 INVALID_VALUE');
  await forgetProof(service, developer.email);
  await expectCode(replace(developer, 'none'), '403 PROOF_NEEDED');
  await expectCode(developer.post('/keys/end', { apiID: keys.apiID }), '403 PROOF_NEEDED');
  assert.equal(await statusOf(keys), 200);
  assert.deepEqual(valuesOf(await listOf(developer), 'apiID'), [keys.apiID]);
});

test('after simultaneous replacements one pair is in force, and it is one that was shown', async () => {
  const { keys, owner, developer } = await renew();
  const visitors = [owner, developer, await owner.again(), await developer.again()];
  const replies = await Promise.all(visitors.map((visitor) => replace(visitor, 'none')));
  const issued = replies.filter(({ status }) => status === 200).map(({ body }) => body as Keys);
  assert.ok(issued.length >= 2, replies.map(({ text }) => text).join('\n'));
  const statuses = await Promise.all(issued.map(statusOf));
  assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join());
  assert.equal(await statusOf(keys), 401);
});

test('the list shows who issued a key and when, and when and from where it was last used, also in a URL', async () => {
  const { keys, owner, developer } = await open();
  assert.deepEqual(pick(await listOf(owner), 'issuedBy', 'lastUsedAt', 'lastUsedFrom', 'lastUsedInUrlAt'), [
    { issuedBy: 'command line', lastUsedAt: null, lastUsedFrom: null, lastUsedInUrlAt: null },
  ]);
  const began = service.now();
  const issued = await replaced(developer, '24h');
  await service.call(issued, 'POST', '/orders/query', { body: [], headers: { 'x-forwarded-for': '203.0.113.5' } });
  const [used, old] = (await listOf(owner)) as [Key, Key];
  assert.deepEqual(pick([used], 'apiID', 'issuedBy', 'lastUsedFrom', 'lastUsedInUrlAt'), [
    { apiID: issued.apiID, issuedBy: developer.email, lastUsedFrom: '203.0.113.5', lastUsedInUrlAt: null },
  ]);
  for (const time of [used.issuedAt, used.lastUsedAt!])
    assert.ok(Date.parse(time) >= began && Date.parse(time) <= service.now(), time);
  assert.equal(old.lastUsedAt, null, 'a use of one key is none of the other');

  const { apiID, apiSecret, teamID } = issued;
  const { status } = await service.request('GET', '/orders/single', {
    query: { teamID, apiID, apiSecret, orderNum: '1' },
    headers: { 'x-forwarded-for': '203.0.113.6' },
  });
  assert.equal(status, 404);
  const [inUrl] = (await listOf(owner)) as [Key];
  assert.ok(Date.parse(inUrl.lastUsedInUrlAt!) >= Date.parse(used.lastUsedAt!));
  assert.equal(inUrl.lastUsedFrom, '203.0.113.6');
  await service.request('POST', '/orders/query', { query: { teamID, apiID: keys.apiID, apiSecret }, body: [] });
  const { lastUsedAt } = (await listOf(owner)).find((key) => key.apiID === keys.apiID)!;
  assert.equal(lastUsedAt, null, 'a call that was not let in is no use');
});

test('a secret is only in the response that issued it: in no later response, no store and no log', async () => {
  const { keys, owner, developer } = await open();
  const reply = await replace(developer, '1h');
  const issued = reply.body as Keys;
  assert.equal(reply.text.split(issued.apiSecret).length, 2);
  assert.equal(reply.headers.get('cache-control'), 'no-store');
  const { teamID, apiID, apiSecret } = issued;
  await service.request('POST', '/orders/query', { query: { teamID, apiID, apiSecret }, body: [] });
  await service.request('PUT', '/orders/create', { body: { ...issued, oldKeysEndAt: undefined, NOTES: 'kept' } });
  await service.call(issued, 'POST', '/orders/query', { body: [{ field: apiSecret, value: apiSecret }] });
  await service.call(issued, 'GET', '/orders/single', { query: { orderNum: apiSecret, [apiSecret]: 'x' } });
  for (const path of ['/keys', '/session', '/settings', '/requests', '/usage', '/audit', '/users']) {
    const { status, text } = await owner.get(path);
    assert.equal(status, 200);
    assert.ok(!text.includes(apiSecret) && !text.includes(keys.apiSecret), path);
  }
  const needles = { apiSecret, 'body of the secret': apiSecret.slice(6), 'before it': keys.apiSecret, apiID };
  assert.deepEqual(await findInStore(service, needles), ['apiID']);
  assert.match(service.output, /answered/);
  assert.ok(!service.output.includes(apiSecret.slice(6)), 'the log of the process');
});

// Holds S12.7.
test('the audit log has who replaced, issued and ended which key, and from where', async () => {
  const { keys, owner, developer } = await open();
  const issued = await replaced(developer, '24h');
  await developer.post('/keys/end', { apiID: keys.apiID });
  assert.equal((await service.command('keys', 'replace', keys.teamID)).code, 0);
  const shop = await developer.ask('POST /keys', { name: 'shop', scope: 'read', days: 3 });
  const entries = (await auditOf(owner)).filter(({ action }) => action.startsWith('key'));
  const detail = { overlap: 'none', name: 'default' };
  const byCommand = { action: 'keys replaced', actor: 'command line', client: '', detail };

  const byDeveloper = { actor: developer.email, client: developer.client };
  assert.deepEqual(pick(entries, 'action', 'target', 'actor', 'client', 'detail'), [
    { ...byCommand, target: keys.apiID },
    { ...byDeveloper, action: 'keys replaced', target: issued.apiID, detail: { ...detail, overlap: '24h' } },
    { ...byDeveloper, action: 'key ended', target: keys.apiID, detail: { name: 'default' } },
    { ...byCommand, target: entries.at(-2)!.target },
    {
      ...byDeveloper,
      action: 'keys created',
      target: shop.apiID,
      detail: { name: 'shop', scope: 'read', endsAt: shop.endsAt },
    },
  ]);
});

test('a missing proof, an invalid or used name and invalid terms create no pair', async () => {
  const { keys, developer } = await renew();
  const make = (body: object): Promise<Reply> => developer.post('/keys', { name: 'shop', scope: 'read', ...body });
  for (const name of ['', ' a', 'a'.repeat(65), 'é', 'sr_sk_x', 'DEFAULT'])
    assert.equal((await expectCode(make({ name }), '400 COMMAND_REFUSED')).body.field, 'name', name);
  await expectCode(make({ scope: 'all' }), '400 INVALID_VALUE');
  for (const days of [0, 3651, 1.5, '7', null]) await expectCode(make({ days }), '400 INVALID_VALUE');
  await expectCode(make({ apiID: 'sr_id_x' }), '400 UNKNOWN_FIELD');
  await expectCode(developer.post('/keys', { name: 'shop' }), '400 MISSING_FIELD');
  await forgetProof(service, developer.email);
  await expectCode(make({}), '403 PROOF_NEEDED');
  assert.deepEqual(valuesOf(await listOf(developer), 'apiID'), [keys.apiID]);
});

test('any pair can be replaced by its name, and renamed with the pairs that it replaced', async () => {
  const { owner } = await open();
  const made = await owner.ask('POST /keys', { name: 'Web shop', scope: 'read' });
  const next = await owner.ask('POST /keys/replace', { overlap: '24h', name: 'Web shop' });
  const named = async () => (await listOf(owner)).map(({ name, scope, apiID }) => [name, scope, apiID]);
  const rest = (await named()).filter(([name]) => name === 'default');
  const pairs = [
    ['Web shop', 'read', next.apiID],
    ['Web shop', 'read', made.apiID],
  ];
  assert.deepEqual(await named(), [...rest, ...pairs]);
  await expectCode(owner.post('/keys/replace', { overlap: 'none', name: 'none' }), '400 COMMAND_REFUSED');
  const rename = (apiID: string, name: string): Promise<Reply> => owner.post('/keys/rename', { apiID, name });
  await expectCode(rename(next.apiID, 'default'), '400 COMMAND_REFUSED');
  await expectCode(rename(next.apiID, 'sr_sk_x'), '400 COMMAND_REFUSED');
  await expectCode(rename('nothing', 'Shop'), '404 NOT_FOUND');
  assert.equal((await rename(next.apiID, 'Shop')).status, 200);
  assert.deepEqual(await named(), [...rest, ...pairs.map(([, ...pair]) => ['Shop', ...pair])]);
  assert.equal(await statusOf(next), 200);
  assert.equal(await statusOf(made), 200);
  const { byKey } = await owner.ask('GET /usage');
  assert.deepEqual(byKey.map(({ name }) => name).toSorted(), ['Shop', 'Shop']);
  const actions = valuesOf((await owner.ask('GET /audit')).records, 'action');
  assert.ok(actions.includes('keys renamed'), actions.join());
});
