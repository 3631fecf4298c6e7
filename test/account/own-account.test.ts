/** Tests how users change their own password and second factor, also while others act, and what the audit log has. */
import assert from 'node:assert/strict';
import { beginSecondFactor } from '../../src/account/accounts.ts';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { newSecret, sealSecret } from '../../src/account/second-factor.ts';
import { renewLink } from '../../src/account/users.ts';
import { pick, valuesOf } from '../kit/lists.ts';
import {
  accounts,
  expectRefused,
  operator,
  PASSWORD,
  Person,
  refusalOf,
  refusedWith,
  START,
  store,
  visit,
  WRONG,
  accountsOn,
} from './people.ts';

const NEW = 'velvet harbour onion thirty';

suite('passwords', () => {
  test('a new password ends the other sessions and the old password; the second factor still works', async () => {
    const { person: ann, recoveryCodes } = await Person.createWithFactor();
    const other = await ann.signIn(visit(300), { code: recoveryCodes[0]! });
    const mine = await ann.signIn(visit(301), { code: recoveryCodes[1]! });
    const changed = await accounts.changePassword(mine.signedIn, { password: PASSWORD, newPassword: NEW }, visit(302));
    for (const { token } of [other, mine]) assert.equal(await accounts.findSession(token, START + 303_000), undefined);
    assert.ok(await accounts.findSession(changed.token, START + 303_000));
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(304), { code: ann.codeAt(304) }));
    ann.password = NEW;
    await expectRefused('SECOND_FACTOR_NEEDED', ann.signIn(visit(305)));
    await ann.signIn(visit(306), { code: ann.codeAt(306) });
    await ann.signIn(visit(307), { code: recoveryCodes[2]! });
  });

  test('a refused new password changes nothing', async () => {
    const ann = await Person.create();
    const { token, signedIn } = await ann.signIn(visit());
    await expectRefused(
      'SIGN_IN_REFUSED',
      accounts.changePassword(signedIn, { password: WRONG, newPassword: NEW }, visit(1)),
    );
    for (const password of ['short', PASSWORD]) {
      const { code, field } = await refusalOf(
        accounts.changePassword(signedIn, { password: PASSWORD, newPassword: password }, visit(1)),
      );
      assert.deepEqual([code, field], ['WEAK_PASSWORD', 'newPassword']);
    }
    assert.ok(await accounts.findSession(token, START + 2000));
    await ann.signIn(visit(3));
  });

  test('if a change and a link set the password at once, one wins and the other leaves no session', async () => {
    for (let count = 0; count < 5; count++) {
      const ann = await Person.create();
      const { signedIn } = await ann.signIn(visit());
      const { token } = await renewLink(
        { users: store.users, teamId: ann.teamID, actor: operator(1) },
        { email: ann.email },
      );
      const linkPassword = 'button sailor quartz ninety';
      const [change, link] = await Promise.allSettled([
        accounts.changePassword(signedIn, { password: PASSWORD, newPassword: NEW }, visit(2)),
        accounts.useLink(token, linkPassword, visit(2)),
        ann.signIn(visit(2)),
      ]);
      const good = await Promise.allSettled(
        [NEW, linkPassword, PASSWORD].map((password) => ann.signIn(visit(3), { password })),
      );
      assert.deepEqual(valuesOf(good, 'status'), [change.status, link.status, 'rejected']);
      // Two sessions are open: one of the call that succeeded, and one of the sign-in after it.
      assert.equal((await store.sessions.listSessions(signedIn.user)).length, 2);
    }
  });
});

/** Returns accounts on the real store. The first call of `method` waits until `beforeIt` has ended. */
function interrupted<Part extends 'users' | 'sessions'>(
  part: Part,
  method: keyof (typeof store)[Part],
  beforeIt: () => Promise<unknown>,
): ReturnType<typeof accountsOn> {
  let isOver = false;
  const paused = new Proxy(store[part], {
    get: (real, key) => {
      const own = (Reflect.get(real, key) as (...given: unknown[]) => Promise<unknown>).bind(real);
      if (key !== method || isOver) return own;
      isOver = true;
      return async (...given: unknown[]) => {
        await beforeIt();
        return own(...given);
      };
    },
  });
  const { users: usersOf, sessions, audit } = store;
  return accountsOn({ users: usersOf, sessions, audit, [part]: paused });
}

test('a sign-in with the old password that runs while it is changed opens no session', async () => {
  const ann = await Person.create();
  const { signedIn } = await ann.signIn(visit());
  const change = () => accounts.changePassword(signedIn, { password: PASSWORD, newPassword: NEW }, visit(2));
  const slow = interrupted('sessions', 'openSession', change);
  const signIn = { teamID: ann.teamID, email: ann.email, password: PASSWORD };
  await expectRefused('SIGN_IN_REFUSED', slow.signIn(signIn, visit(1)));
  assert.equal((await store.sessions.listSessions(signedIn.user)).length, 1);
  const { action, detail } = (await ann.log()).at(-1)!;
  assert.deepEqual([action, detail['reason']], ['sessions ended', 'password changed']);
});

test('401 a second factor that is being set up with the old password while it is changed is not set up', async () => {
  const ann = await Person.create();
  const [mine, other] = [await ann.signIn(visit()), await ann.signIn(visit())];
  const change = () => accounts.changePassword(other.signedIn, { password: PASSWORD, newPassword: NEW }, visit(2));
  const { secret } = await beginSecondFactor({ signedIn: mine.signedIn });
  ann.secret = secret;
  const enabled = interrupted('users', 'updateUser', change).enableSecondFactor(
    mine.signedIn,
    { password: PASSWORD, secret, code: ann.codeAt(2) },
    visit(2),
  );
  await expectRefused('SIGN_IN_REFUSED', enabled);
  ann.password = NEW;
  assert.equal((await ann.signIn(visit(3))).signedIn.user.sealedSecret, null);
});

test('401 a new password does not restore a second factor that was replaced while it was changed', async () => {
  const { person: ann, recoveryCodes } = await Person.createWithFactor();
  const mine = await ann.signIn(visit(300), { code: recoveryCodes[0]! });
  const other = await ann.signIn(visit(300), { code: recoveryCodes[1]! });
  const replace = () => ann.enableFactor(other.signedIn, 302, recoveryCodes[2]);
  const slow = interrupted('users', 'updateUser', replace);
  await expectRefused(
    'SIGN_IN_REFUSED',
    slow.changePassword(mine.signedIn, { password: PASSWORD, newPassword: NEW }, visit(302)),
  );
  await ann.signIn(visit(332), { code: ann.codeAt(332) });
});

test('the audit log has each change that users make to their own account', async () => {
  const { person: ann, recoveryCodes } = await Person.createWithFactor();
  const gone = await ann.signIn(visit(300), { code: recoveryCodes[0]! });
  await ann.signIn(visit(300), { code: recoveryCodes[1]! });
  const mine = await ann.signIn(visit(300), { code: recoveryCodes[2]! });
  const before = (await ann.log()).length;
  const { sessionId } = gone.signedIn.session;
  await accounts.endSessions(mine.signedIn, sessionId, visit(301));
  await accounts.endSessions(mine.signedIn, undefined, visit(302));
  await refusedWith(accounts.changePassword(mine.signedIn, { password: WRONG, newPassword: NEW }, visit(303)));
  const { signedIn } = await accounts.changePassword(
    mine.signedIn,
    { password: PASSWORD, newPassword: NEW },
    visit(303),
  );
  const proof = { password: NEW, code: recoveryCodes[3]! };
  const last = await accounts.disableSecondFactor(signedIn, proof, visit(304));
  await accounts.signOut(last.signedIn, visit(305));
  const logged = pick((await ann.log()).slice(before), 'action', 'detail');
  assert.deepEqual(logged, [
    { action: 'sessions ended', detail: { which: sessionId } },
    { action: 'sessions ended', detail: { which: 'all others' } },
    { action: 'proof refused', detail: { wrong: 'password' } },
    { action: 'password changed', detail: {} },
    { action: 'second factor disabled', detail: { factor: 'recovery code' } },
    { action: 'signed out', detail: {} },
  ]);
});

suite('second factor', () => {
  test('it takes effect when one of its codes is sent with the password, and not before', async () => {
    const ann = await Person.create();
    const { token, signedIn } = await ann.signIn(visit());
    const { secret, uri } = await beginSecondFactor({ signedIn });
    assert.ok(uri.includes(secret));
    ann.secret = secret;
    const enable = (more: object) =>
      accounts.enableSecondFactor(signedIn, { password: PASSWORD, secret, code: ann.codeAt(10), ...more }, visit(10));
    const refused = async (more: object): Promise<string> => {
      const { code, field } = await refusalOf(enable(more));
      return `${code} ${field}`;
    };
    assert.equal(await refused({ code: ann.wrongCodeAt(10) }), 'SIGN_IN_REFUSED code');
    assert.equal(await refused({ password: WRONG }), 'SIGN_IN_REFUSED password');
    assert.equal(await refused({ secret: 'GEZDGNBV' }), 'INVALID_VALUE secret');
    assert.ok((await accounts.findSession(token, START + 10_000))?.user.sealedSecret === null);
    const { recoveryCodes, signedIn: now } = await enable({});
    assert.equal(recoveryCodes.length, 10);
    assert.ok(now.user.sealedSecret);
    assert.equal(await store.users.countRecoveryCodes(now.user), 10);
  });

  test('setting up a new one ends the previous one and its recovery codes', async () => {
    const { person: ann, recoveryCodes } = await Person.createWithFactor();
    const { signedIn } = await ann.signIn(visit(300), { code: recoveryCodes[0]! });
    const old = ann.codeAt(330);
    await ann.enableFactor(signedIn, 301, recoveryCodes[2]);
    if (old !== ann.codeAt(330)) await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(330), { code: old }));
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(331), { code: recoveryCodes[1]! }));
    await ann.signIn(visit(332), { code: ann.codeAt(332) });
  });

  test('500 a stored secret that the password cannot decrypt is a fault, not a wrong code', async () => {
    const { person: ann, recoveryCodes } = await Person.createWithFactor();
    const { signedIn } = await ann.signIn(visit(300), { code: recoveryCodes[0]! });
    const sealedSecret = sealSecret(newSecret(), randomBytes(32), signedIn.user);
    const [entry] = await ann.log();
    await store.users.updateUser(signedIn.user, { set: { sealedSecret } }, entry!);
    await assert.rejects(ann.signIn(visit(301), { code: ann.codeAt(301) }), /cannot be decrypted/);
    const change = accounts.changePassword(signedIn, { password: PASSWORD, newPassword: NEW }, visit(302));
    await assert.rejects(change, /cannot be decrypted/);
  });

  test('removing it needs the password and a code', async () => {
    const { person: ann, recoveryCodes } = await Person.createWithFactor();
    const { signedIn } = await ann.signIn(visit(300), { code: recoveryCodes[0]! });
    const disable = (password: string, code: string) =>
      accounts.disableSecondFactor(signedIn, { password, code }, visit(301));
    const wrongs = { [WRONG]: ann.codeAt(301), [PASSWORD]: ann.wrongCodeAt(301) };
    for (const [password, sent] of Object.entries(wrongs)) {
      const { code, message, field } = await refusalOf(disable(password, sent));
      assert.deepEqual([code, field], ['SIGN_IN_REFUSED', undefined]);
      assert.match(message, /The password or the code is wrong/);
    }
    const { signedIn: now } = await disable(PASSWORD, ann.codeAt(301));
    assert.equal(now.user.sealedSecret, null);
    await ann.signIn(visit(302));
    await expectRefused('NOT_FOUND', accounts.disableSecondFactor(now, { password: PASSWORD, code: '' }, visit(303)));
  });
});
