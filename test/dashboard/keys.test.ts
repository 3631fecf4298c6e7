/**
 * Keys in the dashboard: replacing them with and without an overlap, ending one before its time, what is told of them, and that a secret is shown once
 * and is nowhere afterwards.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Keys } from '../kit/service.ts';
import { auditOf, findInStore, forgetProof, openScene, openTenant, runSql, type OwnedTenant } from './scene.ts';
import { Visitor, type Reply } from './visitor.ts';

const HOUR_MS = 3_600_000;
const OVERLAPS = { none: 0, '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 168 * HOUR_MS };

interface Key {
  apiID: string;
  issuedAt: string;
  issuedBy: string;
  endsAt: string | null;
  lastUsedAt: string | null;
  lastUsedFrom: string | null;
  lastUsedInUrlAt: string | null;
}

const service = await openScene({ STOREROOM_LOG_LEVEL: 'debug' });

interface Tenant extends OwnedTenant {
  readonly developer: Visitor;
}
/** A tenant with keys of the command line, its owner and a developer. */
async function open(): Promise<Tenant> {
  const tenant = await openTenant(service);
  return { ...tenant, developer: await tenant.owner.add('developer') };
}
let shared: Tenant | undefined;
/** The same tenant again, with a new pair and no other. */
async function renew(): Promise<Tenant> {
  const { teamID, owner } = (shared ??= await open());
  owner.client = owner.elsewhere().client;
  const developer = shared.developer.elsewhere();
  assert.equal((await developer.signIn()).status, 200);
  return { teamID, owner, developer, keys: await replaced(owner, 'none') };
}
const statusOf = async (keys: Keys): Promise<number> =>
  (await service.call(keys, 'POST', '/orders/query', { body: [] })).status;
const listOf = async (visitor: Visitor): Promise<Key[]> => (await visitor.get('/keys')).body.keys as Key[];
const replace = (visitor: Visitor, overlap: string): Promise<Reply> => visitor.post('/keys/replace', { overlap });
async function replaced(visitor: Visitor, overlap: keyof typeof OVERLAPS): Promise<Keys & { oldKeysEndAt: string }> {
  const { status, body, text } = await replace(visitor, overlap);
  assert.equal(status, 200, text);
  return body as Keys & { oldKeysEndAt: string };
}
const endKey = ({ apiID }: Keys, keyEndsAt: string): Promise<unknown> =>
  runSql(service, `UPDATE @API_KEYS SET "ENDS_AT" = '${keyEndsAt}' WHERE "API_ID" = '${apiID}'`);

test('the pair shown works at once; the one before is refused at once, or works until the end that was told', async () => {
  const { keys, developer } = await renew();
  let previous = keys;
  for (const [overlap, ms] of Object.entries(OVERLAPS) as [keyof typeof OVERLAPS, number][]) {
    const asked = Date.now();
    const issued = await replaced(developer, overlap);
    assert.deepEqual(Object.keys(issued), ['teamID', 'apiID', 'apiSecret', 'oldKeysEndAt']);
    assert.match(`${issued.apiID} ${issued.apiSecret}`, /^sr_id_[0-9A-Za-z]{22} sr_sk_[0-9A-Za-z]{49}$/);
    assert.equal(await statusOf(issued), 200, overlap);
    assert.equal(await statusOf(previous), overlap === 'none' ? 401 : 200, overlap);
    const ends = Date.parse(issued.oldKeysEndAt) - ms;
    assert.ok(ends >= asked && ends <= Date.now(), `${overlap}: ${issued.oldKeysEndAt}`);
    const old = (await listOf(developer)).find(({ apiID }) => apiID === previous.apiID);
    assert.equal(old?.endsAt, overlap === 'none' ? undefined : issued.oldKeysEndAt);
    if (overlap !== 'none') {
      await endKey(previous, new Date(Date.now() - 1).toISOString());
      assert.equal(await statusOf(previous), 401, `${overlap}: after its end`);
      assert.equal(await statusOf(issued), 200);
    }
    previous = issued;
  }
  assert.deepEqual((await listOf(developer)).map(({ apiID, endsAt }) => ({ apiID, endsAt })), [{ apiID: previous.apiID, endsAt: null }]); // prettier-ignore
});

test('apiID and secret of different pairs, both good, let nobody in', async () => {
  const { keys, developer } = await renew();
  const issued = await replaced(developer, '24h');
  assert.equal(await statusOf({ ...keys, apiSecret: issued.apiSecret }), 401);
  assert.equal(await statusOf({ ...issued, apiSecret: keys.apiSecret }), 401);
});

test('no proof, an overlap that is none and more than the form has replace nothing', async () => {
  const { keys, developer } = await renew();
  const tries: [Reply, string][] = [
    [await replace(developer, '30d'), '400 INVALID_VALUE'],
    [await developer.post('/keys/replace'), '400 MISSING_FIELD'],
    [await developer.post('/keys/replace', { overlap: 'none', apiSecret: 'sr_sk_x' }), '400 UNKNOWN_FIELD'],
    [await developer.post('/keys/replace', { overlap: ['none'] }), '400 INVALID_VALUE'],
  ];
  await forgetProof(service, developer.email);
  tries.push([await replace(developer, 'none'), '403 PROOF_NEEDED']);
  tries.push([await developer.post('/keys/end', { apiID: keys.apiID }), '403 PROOF_NEEDED']);
  for (const [{ status, body, text }, expected] of tries) assert.equal(`${status} ${body.code}`, expected, text);
  assert.equal(await statusOf(keys), 200);
  assert.deepEqual((await listOf(developer)).map(({ apiID }) => apiID), [keys.apiID]); // prettier-ignore
});

test('a replaced key can be ended at once; the pair in force and what is no key cannot', async () => {
  const { keys, developer } = await renew();
  const issued = await replaced(developer, '7d');
  for (const apiID of [issued.apiID, 'sr_id_nothing', '', keys.apiID.toLowerCase()])
    assert.equal((await developer.post('/keys/end', { apiID })).body.code, 'NOT_FOUND', apiID);
  assert.deepEqual([await statusOf(keys), await statusOf(issued)], [200, 200]);
  assert.equal((await developer.post('/keys/end', { apiID: keys.apiID })).status, 200);
  assert.deepEqual([await statusOf(keys), await statusOf(issued)], [401, 200]);
  assert.equal((await developer.post('/keys/end', { apiID: keys.apiID })).body.code, 'NOT_FOUND');
  assert.equal((await listOf(developer)).length, 1);
});

test('of replacements at the same moment one pair is in force at the end, and it is one that was shown', async () => {
  const { keys, owner, developer } = await renew();
  const replies = await Promise.all([owner, developer, owner.elsewhere(), developer.elsewhere()].map(async (visitor) => {
    if (visitor.token === undefined) await visitor.signIn();
    return replace(visitor, 'none');
  })); // prettier-ignore
  const issued = replies.filter(({ status }) => status === 200).map(({ body }) => body as Keys);
  assert.ok(issued.length >= 2, replies.map(({ text }) => text).join('\n'));
  const statuses = await Promise.all(issued.map(statusOf));
  assert.equal(statuses.filter((status) => status === 200).length, 1, statuses.join());
  assert.equal(await statusOf(keys), 401);
});

test('the list tells who issued a key and when, when it was used last, from where, and when in a URL', async () => {
  const { keys, owner, developer } = await open();
  const [fromCommand] = await listOf(owner);
  assert.deepEqual(
    [fromCommand!.issuedBy, fromCommand!.lastUsedAt, fromCommand!.lastUsedFrom, fromCommand!.lastUsedInUrlAt],
    ['command line', null, null, null],
  );
  const began = Date.now();
  const issued = await replaced(developer, '24h');
  await service.call(issued, 'POST', '/orders/query', { body: [], headers: { 'x-forwarded-for': '203.0.113.5' } });
  const [used, old] = (await listOf(owner)) as [Key, Key];
  assert.deepEqual(
    [used.apiID, used.issuedBy, used.lastUsedFrom, used.lastUsedInUrlAt],
    [issued.apiID, developer.email, '203.0.113.5', null],
  );
  for (const time of [used.issuedAt, used.lastUsedAt!])
    assert.ok(Date.parse(time) >= began && Date.parse(time) <= Date.now(), time);
  assert.equal(old.lastUsedAt, null, 'a use of one key is none of the other');

  const { apiID, apiSecret, teamID } = issued;
  assert.equal(
    (
      await service.request('GET', '/orders/single', {
        query: { teamID, apiID, apiSecret, orderNum: '1' },
        headers: { 'x-forwarded-for': '203.0.113.6' },
      })
    ).status,
    404,
  );
  const [inUrl] = (await listOf(owner)) as [Key];
  assert.ok(Date.parse(inUrl.lastUsedInUrlAt!) >= Date.parse(used.lastUsedAt!));
  assert.equal(inUrl.lastUsedFrom, '203.0.113.6');
  await service.request('POST', '/orders/query', { query: { teamID, apiID: keys.apiID, apiSecret }, body: [] });
  assert.equal(
    (await listOf(owner)).find((key) => key.apiID === keys.apiID)!.lastUsedAt,
    null,
    'a call that was not let in is no use',
  );
});

test('a secret is in the answer that issued it and nowhere else: no later answer, no store, no log', async () => {
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
  assert.ok(
    service.output.includes('answered') && !service.output.includes(apiSecret.slice(6)),
    'the log of the process',
  );
});

test('the audit log has who replaced, issued and ended which key, from where', async () => {
  const { keys, owner, developer } = await open();
  const issued = await replaced(developer, '24h');
  await developer.post('/keys/end', { apiID: keys.apiID });
  assert.equal((await service.command('keys', 'replace', keys.teamID)).code, 0);
  const entries = (await auditOf(owner)).filter(({ action }) => action.startsWith('key'));
  assert.deepEqual(
    entries.map(({ action, target, actor, client, detail }) => ({ action, target, actor, client, detail })),
    [
      { action: 'keys replaced', target: keys.apiID, actor: 'command line', client: '', detail: { overlap: 'none' } },
      {
        action: 'keys replaced',
        target: issued.apiID,
        actor: developer.email,
        client: developer.client,
        detail: { overlap: '24h' },
      },
      { action: 'key ended', target: keys.apiID, actor: developer.email, client: developer.client, detail: {} },
      {
        action: 'keys replaced',
        target: entries.at(-1)!.target,
        actor: 'command line',
        client: '',
        detail: { overlap: 'none' },
      },
    ],
  );
});
