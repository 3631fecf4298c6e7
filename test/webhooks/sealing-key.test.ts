/** Tests `storeroom webhook rotate-key`: the key that encrypts the secrets is replaced beside a running service. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFor } from '../../src/tenant/secrets.ts';
import { runSql } from '../dashboard/scene.ts';
import { ownService, type Keys, type Service } from '../kit/service.ts';
import { addWebhook, createCustomers, listWebhooks, passUntil, PRIVATE, Receiver, webhook } from './receiver.ts';

/** Reads the key and the encrypted secrets, as a copy of the store has them. */
async function copySecrets(service: Service) {
  const [key] = await runSql(service, `SELECT "SECRET" FROM @SECRETS WHERE "NAME" = 'webhooks'`);
  const rows = await runSql(
    service,
    'SELECT "TEAM_ID", "ID", "SEALED_SECRET", "OLD_SECRET" FROM @WEBHOOKS ORDER BY "ID"',
  );
  const sealed = rows.flatMap(({ TEAM_ID, ID, SEALED_SECRET, OLD_SECRET }) =>
    [SEALED_SECRET, OLD_SECRET]
      .filter((secret) => secret !== null)
      .map((secret) => ({ owner: `webhook ${TEAM_ID as string} ${ID as string}`, secret: secret as Uint8Array })),
  );
  return { key: key!['SECRET'] as Uint8Array, sealed };
}
type Copy = Awaited<ReturnType<typeof copySecrets>>;
const openAll = ({ sealed }: Copy, { key }: Copy) =>
  sealed.map(({ owner, secret }) => openFor(owner, secret, key)?.toString('base64'));

/** Makes changes, and waits until each webhook of the tenant has received them. */
async function deliver(service: Service, keys: Keys): Promise<void> {
  await createCustomers(service, keys, 5);
  await passUntil(service, async () => (await listWebhooks(service, keys.teamID)).every(({ lag }) => lag === 0));
}

// Holds S16.5.
test('every message is signed by the same secrets before, during and after the replacement of their key', async () => {
  const service = await ownService({ env: PRIVATE });
  const shops = [await service.makeTenant('acme'), await service.makeTenant('bolt')] as const;
  const receivers = [await Receiver.start(), await Receiver.start()] as const;
  const { id, secret: old } = await addWebhook(service, 'acme', receivers[0]);
  await addWebhook(service, 'bolt', receivers[1]);
  const { secret = '' } = await webhook(service, 'rotate', 'acme', id);
  for (const keys of shops) await deliver(service, keys);
  const before = await copySecrets(service);
  assert.equal(before.sealed.length, 3);

  // The second rotation begins while the first one's messages are sent.
  const done = Promise.all([webhook(service, 'rotate-key'), webhook(service, 'rotate-key')]);
  for (const keys of shops) await createCustomers(service, keys, 50);
  for (const answer of await done) assert.deepEqual(answer, { webhooks: 2 });
  for (const known of [old, secret]) {
    receivers[0].secrets = [known];
    for (const keys of shops) await deliver(service, keys);
    assert.equal(receivers[0].received.at(-1)!.signatures, 2, 'both secrets sign');
  }
  for (const { received } of receivers)
    assert.equal(new Set(received.map(({ data }) => data.seq)).size, received.length);

  const after = await copySecrets(service);
  assert.deepEqual(openAll(after, after), openAll(before, before), 'the secrets are the same');
  assert.deepEqual(openAll(after, before), [undefined, undefined, undefined], 'the old key opens none of them');
  for (const { secret: sealed } of before.sealed)
    assert.ok(!after.sealed.some((now) => Buffer.compare(now.secret, sealed) === 0));
  for (const { teamID } of shops) {
    const actions = await runSql(service, `SELECT "ACTION" FROM @AUDIT WHERE "TEAM_ID" = '${teamID}'`);
    assert.equal(actions.filter(({ ACTION }) => ACTION === 'webhook key replaced').length, 2);
    const verified = await service.command('audit', 'verify', teamID);
    assert.match(verified.stdout, /is intact/);
  }
});

test('a webhook that is added or gets a new secret beside a replacement of the key can sign', async () => {
  const service = await ownService({ env: PRIVATE });
  const keys = await service.makeTenant('shop');
  const [receiver, added] = [await Receiver.start(), await Receiver.start()];
  const { id } = await addWebhook(service, 'shop', receiver);
  const [, first, second] = await Promise.all([
    webhook(service, 'rotate-key'),
    webhook(service, 'rotate', 'shop', id),
    webhook(service, 'rotate', 'shop', id),
    addWebhook(service, 'shop', added),
    webhook(service, 'rotate-key'),
  ]);
  for (const { secret } of [first, second]) {
    receiver.secrets = [secret!];
    await deliver(service, keys);
  }
  assert.ok(added.received.length > 0 && receiver.received.length > 0);
});
