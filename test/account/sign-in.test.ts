/** Tests signing in: one refusal for every cause, a limited number of guesses, and codes that work once. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { pick, times } from '../kit/lists.ts';
import { trials } from '../kit/trials.ts';
import { inviteUser, renewLink } from '../../src/account/users.ts';
import {
  accounts,
  newTeam,
  operator,
  Person,
  refusalOf,
  refusedWith,
  START,
  store,
  visit,
  WRONG,
  expectRefused,
} from './people.ts';

const GUESSES = trials('GUESSES', { quick: 12, all: 300 });

suite('signing in', () => {
  test('the right password signs in, and only the token finds the session', async () => {
    const ann = await Person.create();
    const { token, signedIn } = await ann.signIn(visit(5, '192.0.2.7'));
    const { user, tenant, session } = signedIn;
    assert.deepEqual([user.email, user.role, tenant.teamId], [ann.email, 'owner', ann.teamID]);
    const found = (await accounts.findSession(token, START + 6000))!.session;
    const expected = { client: '192.0.2.7', agent: 'A browser', sessionId: session.sessionId };
    assert.deepEqual(pick([found], 'client', 'agent', 'sessionId'), [expected]);
    const other = token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
    assert.equal(await accounts.findSession(other, START + 6000), undefined);
  });

  test('case and surrounding spaces matter in the password, and not in the address', async () => {
    const ann = await Person.create();
    await accounts.signIn({ teamID: ann.teamID, email: ' Ann@Example.COM ', password: ann.password }, visit());
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(), { password: ` ${ann.password}` }));
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(), { password: ann.password.toUpperCase() }));
  });

  test('401 is the same for an unknown team or user and a missing or wrong password or code', async () => {
    const { person: ann } = await Person.createWithFactor();
    await inviteUser(
      { users: store.users, teamId: ann.teamID, actor: operator() },
      { email: 'new@example.com', role: 'viewer' },
    );
    const right = { teamID: ann.teamID, email: ann.email, password: ann.password, code: '' };
    const wrongs = [
      { ...right, teamID: 'nobody' },
      { ...right, teamID: 'no\0body' },
      { ...right, email: 'nobody@example.com' },
      { ...right, email: 'no address' },
      { ...right, email: 'new@example.com' },
      { ...right, email: 'new@example.com', password: '' },
      { ...right, password: WRONG },
      { ...right, password: WRONG, code: ann.codeAt(300) },
      { ...right, code: ann.wrongCodeAt(300) },
      { ...right, code: 'ABCDEF-GHIJKL-MNOPQR-STUVWX' },
      { ...right, code: 'x' },
    ];
    const answers = new Set<string>();
    for (const wrong of wrongs) {
      const { code, message, field, retryAfterSeconds } = await refusalOf(accounts.signIn(wrong, visit(300)));
      answers.add(JSON.stringify([code, message, field, retryAfterSeconds]));
    }
    const told = ['SIGN_IN_REFUSED', 'The team, email address, password or code is wrong.', undefined, undefined];
    assert.deepEqual([...answers], [JSON.stringify(told)]);
  });

  test('a new sign-in ends the previous session of the browser, and no other', async () => {
    const ann = await Person.create();
    const [phone, before] = [await ann.signIn(visit(1)), await ann.signIn(visit(2))];
    const now = await ann.signIn({ ...visit(3), replaces: before.token });
    assert.equal(await accounts.findSession(before.token, START + 4000), undefined);
    for (const { token } of [phone, now]) assert.ok(await accounts.findSession(token, START + 4000));
  });

  test('the audit log has sign-ins with their factor, and refused ones of existing users with the reason', async () => {
    const { person: ann, recoveryCodes } = await Person.createWithFactor();
    const before = (await ann.log()).length;
    await ann.signIn(visit(60), { code: ann.codeAt(60) });
    await ann.signIn(visit(61), { code: recoveryCodes[0]! });
    await refusedWith(ann.signIn(visit(62), { password: WRONG }));
    await refusedWith(ann.signIn(visit(63), { code: ann.wrongCodeAt(63) }));
    await refusedWith(accounts.signIn({ teamID: ann.teamID, email: 'nobody@example.com', password: WRONG }, visit(64)));
    const logged = pick((await ann.log()).slice(before), 'actor', 'action', 'detail');
    assert.deepEqual(logged, [
      { actor: ann.email, action: 'signed in', detail: { factor: 'totp' } },
      { actor: ann.email, action: 'signed in', detail: { factor: 'recovery code' } },
      { actor: ann.email, action: 'sign-in refused', detail: { wrong: 'password' } },
      { actor: ann.email, action: 'sign-in refused', detail: { wrong: 'code' } },
    ]);
  });
});

suite('throttle', () => {
  /**
   * Signs in with a wrong password this many times, or until waiting does not help. Waits as each refusal says and one
   * second more. Returns the refusals.
   */
  async function guess(teamID: string, email: string, attempts: number): Promise<string[]> {
    const answers: string[] = [];
    for (let seconds = 0, count = 0; count < attempts; count++, seconds++) {
      const { code, message, retryAfterSeconds } = await refusalOf(
        accounts.signIn({ teamID, email, password: WRONG }, visit(seconds)),
      );
      answers.push(`${code} ${message}`);
      if (code === 'TOO_MANY_ATTEMPTS' && retryAfterSeconds === undefined) break;
      seconds += retryAfterSeconds ?? 0;
    }
    return answers;
  }

  test(`429 the first ${GUESSES} guesses get the same responses for an unknown user as for a known one`, async () => {
    const ann = await Person.create();
    const known = await guess(ann.teamID, ann.email, GUESSES);
    assert.deepEqual(await guess(ann.teamID, 'nobody@example.com', GUESSES), known);
    const refused = known.filter((answer) => answer.startsWith('SIGN_IN_REFUSED')).length;
    assert.equal((await ann.log()).filter(({ action }) => action === 'sign-in refused').length, refused);
  });

  test('429 at most 100 consecutive guesses are checked, until a new link is used', async () => {
    const ann = await Person.create();
    const name = { teamId: ann.teamID, email: ann.email };
    assert.ok(await store.users.setFailures(name, 0, { failures: 95, nextTryAt: '' }));
    const answers = await guess(ann.teamID, ann.email, 300);
    assert.equal(answers.filter((answer) => answer.startsWith('SIGN_IN_REFUSED')).length, 5);
    assert.match(answers.at(-1)!, /^TOO_MANY_ATTEMPTS This account is locked after 100 failed attempts/);
    // Even the right password is refused, three years later.
    await expectRefused('TOO_MANY_ATTEMPTS', ann.signIn(visit(100_000_000)));
    const { token } = await renewLink(
      { users: store.users, teamId: ann.teamID, actor: operator(100_000_000) },
      { email: ann.email },
    );
    await accounts.useLink(token, 'velvet harbour onion thirty', visit(100_000_001));
    assert.equal(await ann.failures(), 0);
  });

  test('429 no more guesses are checked if they are sent at the same moment', async () => {
    const ann = await Person.create();
    for (const email of [ann.email, 'nobody@example.com']) {
      const guesses = times(40, () =>
        refusedWith(accounts.signIn({ teamID: ann.teamID, email, password: WRONG }, visit(10))),
      );
      const answers = await Promise.all(guesses);
      assert.equal(answers.filter((code) => code === 'SIGN_IN_REFUSED').length, 6, email);
      assert.equal(answers.filter((code) => code === 'TOO_MANY_ATTEMPTS').length, 34, email);
    }
  });

  test('a successful sign-in resets the count of failures', async () => {
    const ann = await Person.create();
    for (let count = 0; count < 5; count++) await refusedWith(ann.signIn(visit(), { password: WRONG }));
    assert.equal(await ann.failures(), 5);
    await ann.signIn(visit(1));
    assert.equal(await ann.failures(), 0);
  });

  test('429 after twenty attempts in a minute from one address, for any accounts', async () => {
    const answers: string[] = [];
    const teamID = await newTeam();
    for (let count = 0; count < 22; count++) {
      const name = { teamID, email: `user${count}@example.com` };
      const from = visit(0, '203.0.113.9');
      answers.push(await refusedWith(accounts.signIn({ ...name, password: WRONG }, from)));
    }
    assert.deepEqual(answers, [...Array<string>(20).fill('SIGN_IN_REFUSED'), 'TOO_MANY_ATTEMPTS', 'TOO_MANY_ATTEMPTS']);
  });

  test('503 a sign-in that finds no room does not count as a failure', async () => {
    const ann = await Person.create();
    const team = await newTeam();
    const crowd = times(54, (count) =>
      refusedWith(accounts.signIn({ teamID: team, email: `u${count}@example.com`, password: WRONG }, visit())),
    );
    const answer = await refusedWith(ann.signIn(visit(), { password: WRONG }));
    const codes = await Promise.all(crowd);
    assert.ok([...codes, answer].includes('SERVICE_BUSY'));
    assert.equal(await ann.failures(), answer === 'SERVICE_BUSY' ? 0 : 1);
  });
});

suite('second factor', () => {
  test('401 the code is asked for only after the right password, and this does not count as a failure', async () => {
    const { person: ann } = await Person.createWithFactor();
    for (let count = 0; count < 20; count++) await expectRefused('SECOND_FACTOR_NEEDED', ann.signIn(visit(300)));
    assert.equal(await ann.failures(), 0);
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(300), { password: WRONG }));
    await ann.signIn(visit(301), { code: ann.codeAt(301) });
  });

  test('429 asking for the code does not reset the count of failures, so guessing codes has a limit', async () => {
    const { person: ann } = await Person.createWithFactor();
    let seconds = 300;
    for (let count = 0; count < 8; count++) {
      await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(seconds), { code: ann.wrongCodeAt(seconds) }));
      await expectRefused('SECOND_FACTOR_NEEDED', ann.signIn(visit(seconds + 600)));
      seconds += 600;
    }
    assert.equal(await ann.failures(), 8);
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(seconds), { code: ann.wrongCodeAt(seconds) }));
    await expectRefused('TOO_MANY_ATTEMPTS', ann.signIn(visit(seconds)));
  });

  test('401 a code works once, also for sign-ins at the same moment, and ends all earlier codes', async () => {
    const { person: ann } = await Person.createWithFactor();
    const code = ann.codeAt(300);
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => ann.signIn(visit(300), { code })));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(301), { code }));
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(301), { code: ann.codeAt(270) }));
    await ann.signIn(visit(301), { code: ann.codeAt(330) });
  });

  test('401 the code that set up a second factor does not sign in', async () => {
    const { person: ann } = await Person.createWithFactor();
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(1), { code: ann.codeAt(0) }));
  });

  test('401 a recovery code works once, also for two sign-ins at the same moment', async () => {
    const { person: ann, recoveryCodes } = await Person.createWithFactor();
    const name = { teamId: ann.teamID, email: ann.email };
    const typed = recoveryCodes[3]!.toLowerCase().replaceAll('-', ' ');
    const outcomes = await Promise.allSettled([1, 2].map(() => ann.signIn(visit(300), { code: typed })));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal(await store.users.countRecoveryCodes(name), 9);
    await expectRefused('SIGN_IN_REFUSED', ann.signIn(visit(301), { code: recoveryCodes[3]! }));
    await ann.signIn(visit(302), { code: recoveryCodes[4]! });
    assert.equal(await store.users.countRecoveryCodes(name), 8);
  });

  test('the stored secret does not open without the password', async () => {
    const { person: ann } = await Person.createWithFactor();
    const user = (await store.users.findUser({ teamId: ann.teamID, email: ann.email }))!;
    assert.ok(user.sealedSecret!.length > 20);
    assert.ok(!JSON.stringify(user).includes(ann.secret));
  });
});
