/** A session alone hands on no power over the tenant; who proves who they are is held up by nobody who is not signed in. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ProofNeed } from '../../src/account/proof.ts';
import { ROUTES } from '../../src/http/dashboard/route-table.ts';
import { auditOf, everythingOf, forgetProof, openScene, runSql } from '../dashboard/scene.ts';
import { PASSWORD, Visitor, type Reply } from '../dashboard/visitor.ts';

const WRONG = 'wrong wrong wrong wrong';
const FREE = 5;
const ADDRESS_ATTEMPTS = 20;

const service = await openScene();
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
  test('finds each change decided: which need a proof, which bring it, which need none', () => {
    const of = (need: ProofNeed): string[] => changes.filter(({ proof }) => proof === need).map(({ path }) => path);
    assert.deepEqual(of('sent'), ['/confirm', '/password', '/second-factor/enable', '/second-factor/disable']);
    const harmless = ['/sign-out', '/sessions/end', '/second-factor/begin', '/orders/approve', '/orders/invoice', '/fields']; // prettier-ignore
    assert.deepEqual(of('none'), harmless, 'a change without proof needs a reason in decision 0033');
    assert.equal(of('recent').length, changes.length - of('sent').length - harmless.length, 'a change decides nothing');
  });

  test('403 changes no users, keys or settings once the proof is five minutes old, and all of them after a new one', async () => {
    const thief = await owner.add('owner', 'robbed@example.com');
    await forgetProof(service, thief.email);
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
  });

  test('403 a proof that no clock can read, or that is to come, is none', async () => {
    const user = await owner.add('developer', 'timeless@example.com');
    for (const at of ['', 'x', new Date(Date.now() + 120_000).toISOString()]) {
      await runSql(service, `UPDATE @SESSIONS SET "PROVEN_AT" = '${at}' WHERE "EMAIL" = '${user.email}'`);
      assert.equal(codeIn(await user.post('/keys/replace', { overlap: 'none' })), '403 PROOF_NEEDED', at);
    }
  });

  test('429 guesses the password as slowly as anybody, and other sessions of the user do not wait for it', async () => {
    const user = await owner.add('developer', 'guessed@example.com');
    const other = user.elsewhere();
    await other.signIn();
    const begunAt = performance.now();
    const guesses = Array.from({ length: 30 }, () => user.post('/confirm', { password: WRONG }));
    const codes = (await Promise.all(guesses)).map(codeIn);
    const looked = codes.filter((code) => code === '401 SIGN_IN_REFUSED').length;
    // The waits of 1, 2, 4 … s that fit into the time the guesses took, each of which earns one more look.
    const waited = Math.floor(Math.log2((performance.now() - begunAt) / 1000 + 1));
    assert.ok(looked >= FREE + 1 && looked <= FREE + 1 + waited, codes.join());
    // On a busy machine the wait that this has earned may be over by now.
    const soon = new Date(Date.now() + 60_000).toISOString();
    await runSql(service, `UPDATE @SESSIONS SET "NEXT_TRY_AT" = '${soon}' WHERE "FAILURES" = ${looked}`);
    assert.equal(codes.filter((code) => code === '429 TOO_MANY_ATTEMPTS').length, 30 - looked);
    // The throttle comes before all that costs: what would be refused as weak is not looked at either.
    for (const newPassword of ['short', 'aaaaaaaaaaaaaaaaaaaa', 'x1'.repeat(128)])
      assert.equal(codeIn(await user.post('/password', { password: WRONG, newPassword })), '429 TOO_MANY_ATTEMPTS');
    assert.equal((await other.post('/confirm', { password: PASSWORD })).status, 200);
    assert.equal((await user.elsewhere().signIn()).status, 200);
    const refusals = (await auditOf(owner)).filter(({ action, actor }) => action === 'proof refused' && actor === user.email); // prettier-ignore
    assert.equal(refusals.length, looked);
  });
});

test('strangers who fail to sign in as a user, from any address, do not hold up the proof of that user', async () => {
  const user = await owner.add('developer', 'besieged@example.com');
  const strangers = [
    ...Array.from({ length: FREE + 1 }, () => user.elsewhere()),
    ...Array.from({ length: ADDRESS_ATTEMPTS }, (_, index) => {
      const stranger = new Visitor(service, 'proof', `nobody${index}@example.com`);
      return Object.assign(stranger, { client: user.client });
    }),
  ];
  await Promise.all(strangers.map((stranger) => stranger.signIn(WRONG)));
  // On a busy machine the wait that this has earned may be over by now.
  const soon = new Date(Date.now() + 60_000).toISOString();
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
