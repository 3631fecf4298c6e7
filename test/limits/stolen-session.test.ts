/** Tests that a stolen session cannot change users, keys or settings, and that strangers cannot delay its user. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ProofNeed } from '../../src/account/users.ts';
import { ROUTES } from '../../src/http/dashboard/route-table.ts';
import { auditOf, BEHIND_PROXY, everythingOf, runSql } from '../dashboard/scene.ts';
import { PASSWORD, Visitor, type Reply } from '../dashboard/visitor.ts';
import { times } from '../kit/lists.ts';
import { ownService } from '../kit/service.ts';
import { until } from '../kit/wait.ts';

const WRONG = 'wrong wrong wrong wrong';
const FREE = 5;
const ADDRESS_ATTEMPTS = 20;
const GUESSES = 30;
/** Duration of a refusal. After six refusals, `WAIT_MS` passes before another password is checked. */
const REFUSAL_MS = 250;
const WAIT_MS = 1000;
const PROOF_MS = 300_000;

const service = await ownService({ env: BEHIND_PROXY });
await service.makeTenant('proof');
const owner = await Visitor.make(service, 'proof', 'owner');
const codeIn = ({ status, body }: Reply): string => `${status} ${body?.code ?? ''}`;

interface Terms {
  readonly role?: string;
  readonly proof?: ProofNeed;
}
const changes = (Object.entries(ROUTES) as [string, Terms][])
  .filter(([name, { role }]) => name.startsWith('POST ') && role !== undefined)
  .map(([name, { proof }]) => ({ path: name.slice('POST '.length), proof }));

suite('a stolen session', () => {
  test('meets a rule for each change: it needs a proof, contains one, or needs none', () => {
    const of = (need: ProofNeed): string[] => changes.filter(({ proof }) => proof === need).map(({ path }) => path);
    assert.deepEqual(of('sent'), ['/confirm', '/password', '/second-factor/enable', '/second-factor/disable']);
    const ofWebhooks = ['/webhooks/test', '/webhooks/replay', '/webhooks/pause'];
    const ofRecords = ['/fields', '/imports'];
    const harmless = ['/sign-out', '/sessions/end', '/second-factor/begin', ...ofWebhooks, ...ofRecords];
    assert.deepEqual(of('none'), harmless, 'a change without proof needs a reason in decision 0023');
    assert.equal(of('recent').length, changes.length - of('sent').length - harmless.length, 'a change decides nothing');
  });

  test('403 cannot change users, keys or settings five minutes after a proof, and can after a new one', async () => {
    const thief = await owner.add('owner', 'robbed@example.com');
    await service.stand();
    assert.equal((await thief.post('/confirm', { password: thief.password })).status, 200);
    await service.move(PROOF_MS - 1);
    assert.notEqual(codeIn(await thief.post('/users/remove', { nothing: 'known' })), '403 PROOF_NEEDED');
    await service.move(1);
    const before = await everythingOf(thief);
    for (const { path, proof } of changes.filter(({ path: one }) => one !== '/sign-out')) {
      const reply = await thief.post(path, { nothing: 'known' });
      assert.equal(reply.body.code === 'PROOF_NEEDED', proof === 'recent', `${path}: ${reply.text}`);
    }
    const accomplice = { email: 'accomplice@example.com', role: 'owner' };
    for (const [path, body] of [
      ['/users', accomplice],
      ['/users/link', { email: thief.email }],
      ['/users/role', { email: thief.email, role: 'viewer' }],
      ['/keys/replace', { overlap: 'none' }],
    ] as const)
      assert.equal(codeIn(await thief.post(path, body)), '403 PROOF_NEEDED', path);
    assert.equal(await everythingOf(thief), before);
    const { token } = thief;
    assert.equal((await thief.post('/confirm', { password: thief.password })).status, 200);
    assert.notEqual(thief.token, token);
    assert.equal((await thief.post('/users', accomplice)).status, 200);
    assert.equal((await thief.post('/users/remove', { email: accomplice.email })).status, 200);
    assert.equal((await owner.post('/confirm', { password: owner.password })).status, 200);
  });

  test('403 a proof with an invalid or future time does not count', async () => {
    const user = await owner.add('developer', 'timeless@example.com');
    for (const at of ['', 'x', service.timeAt(120_000)]) {
      await runSql(service, `UPDATE @SESSIONS SET "PROVEN_AT" = '${at}' WHERE "EMAIL" = '${user.email}'`);
      assert.equal(codeIn(await user.post('/keys/replace', { overlap: 'none' })), '403 PROOF_NEEDED', at);
    }
  });

  test('429 guesses the password as slowly as anyone, and other sessions of the user do not wait', async () => {
    const user = await owner.add('developer', 'guessed@example.com');
    await service.move(1); // Attempts are counted per sign-in time, so the two sessions must differ in it.
    const other = user.elsewhere();
    await other.signIn();
    await service.stand();
    const codes: string[] = [];
    const guesses = times(GUESSES, async () => codes.push(codeIn(await user.post('/confirm', { password: WRONG }))));
    const counted = async (): Promise<number> => {
      const found = await runSql(service, `SELECT "FAILURES" FROM @SESSIONS WHERE "EMAIL" = '${user.email}'`);
      return Math.max(...found.map(({ FAILURES }) => Number(FAILURES)));
    };
    // Checked guesses are answered REFUSAL_MS later.
    await until(async () => codes.length + (await counted()) === GUESSES);
    assert.deepEqual(new Set(codes), new Set(['429 TOO_MANY_ATTEMPTS']));
    assert.equal(await counted(), FREE + 1);
    await service.move(REFUSAL_MS);
    await Promise.all(guesses);
    assert.deepEqual(
      codes.slice(-FREE - 1),
      times(FREE + 1, () => '401 SIGN_IN_REFUSED'),
    );
    await service.move(WAIT_MS - REFUSAL_MS - 1);
    // The throttle comes before all expensive work, so weak new passwords are not checked either.
    for (const newPassword of ['short', 'aaaaaaaaaaaaaaaaaaaa', 'x1'.repeat(128)])
      assert.equal(codeIn(await user.post('/password', { password: WRONG, newPassword })), '429 TOO_MANY_ATTEMPTS');
    assert.equal((await other.post('/confirm', { password: PASSWORD })).status, 200);
    assert.equal((await user.elsewhere().signIn()).status, 200);
    const refusals = (await auditOf(owner)).filter(({ action, actor }) => action === 'proof refused' && actor === user.email); // prettier-ignore
    assert.equal(refusals.length, FREE + 1);
  });
});

test('strangers who fail to sign in as a user, from any address, do not hold up the proof of that user', async () => {
  await service.pass();
  const user = await owner.add('developer', 'besieged@example.com');
  const strangers = [
    ...Array.from({ length: FREE + 1 }, () => user.elsewhere()),
    ...Array.from({ length: ADDRESS_ATTEMPTS }, (_, index) => {
      const stranger = new Visitor(service, 'proof', `nobody${index}@example.com`);
      return Object.assign(stranger, { client: user.client });
    }),
  ];
  await Promise.all(strangers.map((stranger) => stranger.signIn(WRONG)));
  // The wait after these failures has passed while the answers arrived, so the test sets a new one.
  await service.stand();
  const soon = service.timeAt(60_000);
  await runSql(service, `UPDATE @USERS SET "NEXT_TRY_AT" = '${soon}' WHERE "EMAIL" = '${user.email}'`);
  assert.equal(codeIn(await user.elsewhere().signIn()), '429 TOO_MANY_ATTEMPTS', 'the siege is none');
  assert.equal(
    codeIn(await Object.assign(user.elsewhere(), { client: user.client }).signIn()),
    '429 TOO_MANY_ATTEMPTS',
  );
  assert.equal((await user.post('/confirm', { password: PASSWORD })).status, 200);
  const changed = await user.post('/password', { password: PASSWORD, newPassword: 'seven copper kites above' });
  assert.equal(changed.status, 200, changed.text);
});
