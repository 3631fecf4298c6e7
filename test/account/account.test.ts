/** Tests one-time links, sessions, proofs of identity, and what owners do with users. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { changeRole, deleteUser, inviteUser, isProven, renewLink, requireProof } from '../../src/account/users.ts';
import { mayAct, ROLES } from '../../src/account/roles.ts';
import { pick, valuesOf } from '../kit/lists.ts';
import {
  accounts,
  newTeam,
  operator,
  PASSWORD,
  Person,
  refusalOf,
  refusedWith,
  START,
  store,
  visit,
  WRONG,
  expectRefused,
} from './people.ts';

const NEW = 'velvet harbour onion thirty';
const HOUR = 3600;

suite('links', () => {
  test('400 a link works once, even when two people use it at the same moment', async () => {
    const teamId = await newTeam();
    const { token } = await inviteUser(
      { users: store.users, teamId, actor: operator() },
      { email: 'Ann@Example.com', role: 'owner' },
    );
    assert.deepEqual(await accounts.checkLink(token, visit()), { teamID: teamId, email: 'ann@example.com' });
    const passwords = [PASSWORD, NEW, `${NEW} and one`];
    const outcomes = await Promise.allSettled(passwords.map((password) => accounts.useLink(token, password, visit(1))));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.equal((outcome.reason as { code: string }).code, 'LINK_INVALID');
    const works = await Promise.allSettled(
      passwords.map((password) => accounts.signIn({ teamID: teamId, email: 'ann@example.com', password }, visit(2))),
    );
    assert.deepEqual(valuesOf(works, 'status'), valuesOf(outcomes, 'status'));
    await expectRefused('LINK_INVALID', accounts.useLink(token, PASSWORD, visit(3)));
    await expectRefused('LINK_INVALID', accounts.checkLink(token, visit()));
  });

  test('400 a link ends after 72 hours or when the next one is made; any other token is refused', async () => {
    const teamId = await newTeam();
    const first = await inviteUser(
      { users: store.users, teamId, actor: operator() },
      { email: 'ann@example.com', role: 'owner' },
    );
    assert.equal(first.endsAt, '2026-11-23T09:30:00.000Z');
    await accounts.checkLink(first.token, visit(72 * HOUR - 0.001));
    await expectRefused('LINK_INVALID', accounts.checkLink(first.token, visit(72 * HOUR)));
    const second = await renewLink({ users: store.users, teamId, actor: operator(1) }, { email: 'ann@example.com' });
    await expectRefused('LINK_INVALID', accounts.checkLink(first.token, visit(2)));
    for (const token of ['', 'x', second.token.slice(1), `${second.token}=`, first.token.toLowerCase()])
      await expectRefused('LINK_INVALID', accounts.useLink(token, PASSWORD, visit(2)));
    await accounts.useLink(second.token, PASSWORD, visit(2));
  });

  test('400 a weak password is refused, and the link still works', async () => {
    const teamId = await newTeam();
    const { token } = await inviteUser(
      { users: store.users, teamId, actor: operator() },
      { email: 'ann@example.com', role: 'owner' },
    );
    await expectRefused('WEAK_PASSWORD', accounts.useLink(token, 'too short', visit(1)));
    assert.equal((await accounts.useLink(token, PASSWORD, visit(2))).signedIn.user.linkHash, null);
  });

  test('using a new link, not making it, ends sessions, the old password and the second factor', async () => {
    const { person: ann, recoveryCodes } = await Person.createWithFactor();
    const before = await ann.signIn(visit(300), { code: recoveryCodes[0]! });
    const { token } = await renewLink(
      { users: store.users, teamId: ann.teamID, actor: operator(301) },
      { email: ann.email },
    );
    assert.ok(await accounts.findSession(before.token, START + 302_000));
    const { signedIn } = await accounts.useLink(token, NEW, visit(303));
    assert.equal(signedIn.user.sealedSecret, null);
    assert.equal(await store.users.countRecoveryCodes(signedIn.user), 0);
    assert.equal(await accounts.findSession(before.token, START + 304_000), undefined);
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(305), { code: recoveryCodes[1]! }));
    await ann.signIn(visit(306), { password: NEW });
    assert.equal((await ann.log()).filter(({ action }) => action === 'password set by link').length, 2);
  });
});

suite('sessions', () => {
  test('one ends 30 minutes after its last use and 12 hours after it was opened, for every kind of use', async () => {
    const ann = await Person.create();
    const { token } = await ann.signIn(visit());
    const other = await ann.signIn(visit());
    for (let minutes = 0; minutes < 720; minutes += 29)
      assert.ok(await accounts.findSession(token, START + minutes * 60_000), `after ${minutes} minutes`);
    assert.equal(await accounts.findSession(token, START + 720 * 60_000), undefined);
    assert.equal(await accounts.findSession(other.token, START + 30 * 60_000), undefined);
  });

  test('a clock that jumps back ends sessions rather than lengthening them', async () => {
    const ann = await Person.create();
    const { token } = await ann.signIn(visit(7200));
    assert.equal(await accounts.findSession(token, START), undefined);
    assert.ok(await accounts.findSession(token, START + 7200_000));
  });

  test('confirming the password issues a new token for the same twelve hours and ends the old one', async () => {
    const ann = await Person.create();
    const first = await ann.signIn(visit());
    const { code, field } = await refusalOf(accounts.confirm(first.signedIn, { password: WRONG }, visit(600)));
    assert.deepEqual([code, field], ['SIGN_IN_REFUSED', 'password']);
    assert.ok(await accounts.findSession(first.token, START + 600_000));
    const second = await accounts.confirm(first.signedIn, { password: PASSWORD }, visit(600));
    const forgotten = { failures: 0, nextTryAt: '' };
    for (const { signedIn } of [first, second])
      assert.deepEqual(pick([signedIn.session], 'failures', 'nextTryAt'), [forgotten]);
    assert.equal(await accounts.findSession(first.token, START + 601_000), undefined);
    const found = (await accounts.findSession(second.token, START + 601_000))!;
    assert.equal(found.session.createdAt, first.signedIn.session.createdAt);
  });

  test('a proof from a sign-in, a link or a confirmed password is valid for five minutes', async () => {
    const ann = await Person.create();
    const { signedIn } = await ann.signIn(visit());
    const provenAt = (session: { provenAt: string }, seconds: number) => isProven(session, START + seconds * 1000);
    assert.deepEqual(
      [0, 299, 300].map((seconds) => provenAt(signedIn.session, seconds)),
      [true, true, false],
    );
    const { signedIn: again } = await accounts.confirm(signedIn, { password: PASSWORD }, visit(600));
    assert.deepEqual(
      [600, 899, 900].map((seconds) => provenAt(again.session, seconds)),
      [true, true, false],
    );
    assert.deepEqual(
      [-60, -61].map((seconds) => provenAt(signedIn.session, seconds)),
      [true, false],
    );
    assert.equal(provenAt({ provenAt: '' }, 0), false);
    assert.throws(() => requireProof(signedIn, START + 300_000), { code: 'PROOF_NEEDED' });
  });

  test('confirming the password alone does not reset the count of wrong codes', async () => {
    const { person: ann, recoveryCodes } = await Person.createWithFactor();
    let { signedIn } = await ann.signIn(visit(300), { code: recoveryCodes[0]! });
    const outcomes: string[] = [];
    for (let count = 0; count < 8; count++) {
      const proof = { password: PASSWORD, code: ann.wrongCodeAt(301) };
      outcomes.push(await refusedWith(accounts.disableSecondFactor(signedIn, proof, visit(301))));
      ({ signedIn } = await accounts.confirm(signedIn, { password: PASSWORD }, visit(301)).catch(() => ({ signedIn })));
    }
    assert.deepEqual(outcomes.slice(5), ['SIGN_IN_REFUSED', 'TOO_MANY_ATTEMPTS', 'TOO_MANY_ATTEMPTS']);
  });

  test('a refused new password does not count as a failed proof', async () => {
    const ann = await Person.create();
    const { signedIn, token } = await ann.signIn(visit());
    for (let count = 0; count < 8; count++)
      await expectRefused(
        'WEAK_PASSWORD',
        accounts.changePassword(signedIn, { password: PASSWORD, newPassword: 'short' }, visit(1)),
      );
    assert.equal((await accounts.findSession(token, START + 2000))!.session.failures, 0);
  });

  test('429 after twenty proofs of one sign-in in a minute, also valid ones and with changed tokens', async () => {
    const ann = await Person.create();
    let { signedIn } = await ann.signIn(visit());
    for (let count = 0; count < 20; count++)
      ({ signedIn } = await accounts.confirm(signedIn, { password: PASSWORD }, visit(count / 10)));
    await expectRefused('TOO_MANY_ATTEMPTS', accounts.confirm(signedIn, { password: PASSWORD }, visit(3)));
    await accounts.confirm(signedIn, { password: PASSWORD }, visit(61));
  });

  test('429 confirming a password is throttled like signing in', async () => {
    const ann = await Person.create();
    const { signedIn } = await ann.signIn(visit());
    for (let count = 0; count < 6; count++)
      await expectRefused('SIGN_IN_REFUSED', accounts.confirm(signedIn, { password: WRONG }, visit(1)));
    await expectRefused('TOO_MANY_ATTEMPTS', accounts.confirm(signedIn, { password: PASSWORD }, visit(1)));
  });

  test('a user sees the valid sessions, and ends this one, another one or all others', async () => {
    const ann = await Person.create();
    await ann.signIn(visit());
    const { token, signedIn } = await ann.signIn(visit(3600));
    const ids = [signedIn.session.sessionId];
    for (const seconds of [3601, 3602, 3603])
      ids.unshift((await ann.signIn(visit(seconds))).signedIn.session.sessionId);
    const shown = async () => valuesOf(await accounts.listSessions(signedIn, START + 3604_000), 'sessionId');
    assert.deepEqual(await shown(), ids);
    await accounts.endSessions(signedIn, ids[1], visit(3605));
    assert.deepEqual(await shown(), [ids[0], ids[2], ids[3]]);
    const { code, field } = await refusalOf(accounts.endSessions(signedIn, ids[1], visit(3606)));
    assert.deepEqual([code, field], ['NOT_FOUND', 'sessionId']);
    await accounts.endSessions(signedIn, undefined, visit(3607));
    assert.deepEqual(await shown(), [ids[3]]);
    await accounts.signOut(signedIn, visit(3608));
    assert.equal(await accounts.findSession(token, START + 3609_000), undefined);
  });

  test('404 no user can end the session of another user', async () => {
    const [ann, bob] = [await Person.create(), await Person.create()];
    const [mine, theirs] = [await ann.signIn(visit()), await bob.signIn(visit())];
    await expectRefused('NOT_FOUND', accounts.endSessions(mine.signedIn, theirs.signedIn.session.sessionId, visit()));
    assert.ok(await accounts.findSession(theirs.token, START));
  });

  test('ended sessions are deleted, and no others', async () => {
    const ann = await Person.create();
    const [old, used] = [await ann.signIn(visit()), await ann.signIn(visit())];
    await accounts.findSession(used.token, START + 20 * 60_000);
    await accounts.deleteExpired(START + 40 * 60_000);
    const left = await store.sessions.listSessions(used.signedIn.user);
    assert.deepEqual(valuesOf(left, 'sessionId'), [used.signedIn.session.sessionId]);
    assert.equal(await accounts.findSession(old.token, START), undefined);
  });
});

suite('users', () => {
  test('addresses are saved trimmed and in lowercase; 400 for invalid ones', async () => {
    const teamId = await newTeam();
    await inviteUser(
      { users: store.users, teamId, actor: operator() },
      { email: '  Ann.Smith+x@Example.COM\n', role: 'owner' },
    );
    const shown = pick(await store.users.listUsers(teamId), 'email', 'role');
    assert.deepEqual(shown, [{ email: 'ann.smith+x@example.com', role: 'owner' }]);
    await inviteUser(
      { users: store.users, teamId, actor: operator() },
      { email: `${'a'.repeat(249)}@b.de`, role: 'viewer' },
    );
    const wrong = ['a b@c', 'a\0@b', 'a\u200b@b', `${'a'.repeat(250)}@b.de`, 'a@b\ud800'];
    for (const email of ['', 'ann', '@', 'ann@', '@example.com', 'a@b@c', ...wrong]) {
      const { code, field } = await refusalOf(
        inviteUser({ users: store.users, teamId, actor: operator() }, { email: email, role: 'viewer' }),
      );
      assert.deepEqual([code, field], ['INVALID_VALUE', 'email'], email);
    }
    await expectRefused(
      'USER_EXISTS',
      inviteUser(
        { users: store.users, teamId, actor: operator() },
        { email: 'ANN.smith+x@example.com', role: 'viewer' },
      ),
    );
  });

  test('a new role applies from the next request; a removed user is signed out', async () => {
    const ann = await Person.create();
    await inviteUser(
      { users: store.users, teamId: ann.teamID, actor: operator() },
      { email: 'bob@example.com', role: 'developer' },
    );
    const { token: link } = await renewLink(
      { users: store.users, teamId: ann.teamID, actor: operator() },
      { email: 'bob@example.com' },
    );
    const { token } = await accounts.useLink(link, NEW, visit());
    await changeRole(
      { users: store.users, teamId: ann.teamID, actor: operator(1) },
      { email: 'Bob@example.com', role: 'viewer' },
    );
    assert.equal((await accounts.findSession(token, START + 2000))?.user.role, 'viewer');
    await deleteUser({ users: store.users, teamId: ann.teamID, actor: operator(3) }, { email: 'bob@example.com' });
    assert.equal(await accounts.findSession(token, START + 4000), undefined);
    const { code, field } = await refusalOf(
      renewLink({ users: store.users, teamId: ann.teamID, actor: operator(5) }, { email: 'bob@example.com' }),
    );
    assert.deepEqual([code, field], ['NOT_FOUND', 'email']);
    const log = (await ann.log()).filter(({ target }) => target === 'bob@example.com');
    const actions = ['user invited', 'link renewed', 'password set by link', 'role changed', 'user removed'];
    assert.deepEqual(valuesOf(log, 'action'), actions);
  });

  test('a role includes itself and those below it', () => {
    const included = ROLES.map((role) => ROLES.filter((needed) => mayAct(role, needed)));
    assert.deepEqual(included, [
      ['owner', 'developer', 'clerk', 'viewer'],
      ['developer', 'clerk', 'viewer'],
      ['clerk', 'viewer'],
      ['viewer'],
    ]);
  });

  test('400 the last owner cannot be removed or get another role', async () => {
    const ann = await Person.create();
    await expectRefused(
      'LAST_OWNER',
      changeRole({ users: store.users, teamId: ann.teamID, actor: operator() }, { email: ann.email, role: 'viewer' }),
    );
    await expectRefused(
      'LAST_OWNER',
      deleteUser({ users: store.users, teamId: ann.teamID, actor: operator() }, { email: ann.email }),
    );
  });
});
