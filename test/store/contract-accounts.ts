/** Contract: every process sees the last change of users and sessions, and accepts a one-time value only once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { User, UserChange, UserName } from '../../src/account/account-port.ts';
import { times } from '../kit/lists.ts';
import { accepted, assertRefused, entry, NOW, type OpenedStore, type StoreUnderTest } from './store-under-test.ts';
import { actionsOf, at, bytes, linkOf, newSession, People, plain, readChain, untilTaken } from './people.ts';

const NO_FACTOR = { set: { sealedSecret: null, lastStep: 0 }, recoveryHashes: [] };

export function describeAccounts(store: StoreUnderTest): void {
  const people = new People(store);
  describeUsers(people);
  describeAttempts(people);
  describeSessions(people);
}

function describeUsers(people: People): void {
  test('a user is found unchanged by name and by link, and is a different one in each tenant', async () => {
    const store = await people.opened();
    const [first, second] = [await people.newTeam('viewer', 'owner'), await people.newTeam('viewer')];
    const [viewer] = first.names;
    const expected: User = {
      ...viewer!,
      role: 'viewer',
      createdAt: NOW,
      passwordHash: '',
      passwordSetAt: '',
      sealedSecret: null,
      lastStep: 0,
      failures: 0,
      nextTryAt: '',
      linkHash: linkOf(first.teamId, viewer!.email),
      linkEndsAt: at(60),
    };
    const other = await people.store.openAgain();
    for (const one of [store, other]) {
      assert.deepEqual(plain(await one.users.findUser(viewer!)), plain(expected));
      assert.deepEqual(plain(await one.users.findUserByLink(expected.linkHash!)), plain(expected));
      const emails = (await one.users.listUsers(first.teamId)).map(({ email }) => email);
      assert.deepEqual(emails, ['owner-1@example.com', 'viewer-0@example.com']);
    }
    assert.equal((await store.users.findUser(second.names[0]!))!.teamId, second.teamId);
    for (const email of ['', 'nobody@example.com', 'VIEWER-0@example.com', 'a\0b', '\ud800', "' OR 1=1 --"])
      assert.equal(await store.users.findUser({ teamId: first.teamId, email }), undefined);
    for (const teamId of ['', 'nobody', 'a\0b', '\ud800'])
      assert.equal(await store.users.findUser({ ...viewer!, teamId }), undefined);
    assert.equal(await store.users.findUserByLink(bytes(77)), undefined);
    assert.deepEqual(await store.users.listUsers('nobody'), []);
  });

  test('USER_EXISTS for an address that the tenant has, also for simultaneous calls; nothing is recorded', async () => {
    const [store, other] = [await people.opened(), await people.store.openAgain()];
    const { teamId, names } = await people.newTeam('owner');
    const make = (one: OpenedStore, email: string, byte: number) => {
      const link = { linkHash: linkOf(teamId, `${email}${byte}`), linkEndsAt: at(1) };
      return untilTaken(() =>
        one.users.createUser({ teamId, email, role: 'viewer', createdAt: NOW, ...link }, entry()),
      );
    };
    assertRefused(await make(store, names[0]!.email, 1), 'USER_EXISTS');
    assert.equal((await store.users.findUser(names[0]!))!.role, 'owner');
    const outcomes = await Promise.all(
      [store, other, store, other].map((one, index) => make(one, 'race@example.com', index)),
    );
    assert.equal(outcomes.filter((outcome) => outcome === undefined).length, 1);
    for (const outcome of outcomes) if (outcome !== undefined) assertRefused(outcome, 'USER_EXISTS');
    assert.equal((await readChain(store.audit, teamId)).length, 2);
  });

  test('a change changes only the members that it contains', async () => {
    const store = await people.opened();
    const name = await people.newUser();
    const change = async (one: UserChange): Promise<User> => {
      accepted(await store.users.updateUser(name, one, entry()));
      return plain((await store.users.findUser(name))!);
    };
    let user = plain((await store.users.findUser(name))!);
    assert.deepEqual(
      [user.passwordHash, user.passwordSetAt, user.sealedSecret, user.lastStep, user.linkHash, user.linkEndsAt],
      ['$argon2id$…', at(1), plain(bytes(9)), 100, null, ''],
    );
    assert.deepEqual(await change({}), user);
    assert.deepEqual(await change({ set: { role: 'owner' } }), user);
    const resealed = { set: { sealedSecret: bytes(8) }, whileProven: { ...user, sealedSecret: bytes(9) } };
    assert.deepEqual(await change(resealed), (user = { ...user, sealedSecret: plain(bytes(8)) }));
    const found = await change({ set: { passwordHash: 'other', passwordSetAt: at(2) } });
    assert.deepEqual(found, (user = { ...user, passwordHash: 'other', passwordSetAt: at(2) }));
    assert.equal(await store.users.countRecoveryCodes(name), 3);
    const again = { sealedSecret: bytes(7), lastStep: 50 };
    const got = await change({ set: again, recoveryHashes: [bytes(3), bytes(4)] });
    assert.deepEqual(got, (user = { ...user, sealedSecret: plain(bytes(7)), lastStep: 50 }));
    assert.equal(await store.users.countRecoveryCodes(name), 2);
    assert.equal((await change(NO_FACTOR)).sealedSecret, null);
    assert.equal(await store.users.countRecoveryCodes(name), 0);
    assert.ok(await store.users.setFailures(name, 0, { failures: 1, nextTryAt: at(9) }));
    const link = { linkHash: bytes(55), linkEndsAt: at(3) };
    user = { ...user, ...plain(link), sealedSecret: null, lastStep: 0 };
    assert.deepEqual(await change({ set: { ...link, failures: 0, nextTryAt: '' } }), user);
    assert.equal((await change({ set: { linkHash: null, linkEndsAt: '' } })).linkHash, null);
    assert.equal(await store.users.findUserByLink(bytes(55)), undefined);
  });

  test('a change or the removal of a user leaves the others of the team unchanged', async () => {
    const store = await people.opened();
    const { names } = await people.newTeam('owner', 'developer', 'viewer');
    const [owner, developer, viewer] = names as [UserName, UserName, UserName];
    const factor = (byte: number) => {
      const set = { sealedSecret: bytes(byte), lastStep: byte, passwordHash: `hash ${byte}`, passwordSetAt: at(byte) };
      return { set, recoveryHashes: [bytes(1), bytes(2), bytes(3)] };
    };
    for (const [index, name] of names.entries()) {
      accepted(await store.users.updateUser(name, factor(index), entry()));
      assert.ok(await store.users.setFailures(name, 0, { failures: 1, nextTryAt: at(5) }));
      await store.sessions.openSession(newSession(name), null);
      assert.ok(await store.users.setFailures(name, 0, { failures: 1, nextTryAt: at(6) }));
    }
    const stateOf = async (name: UserName) => [
      plain(await store.users.findUser(name)),
      await store.users.countRecoveryCodes(name),
      await listSessionIds(store, name),
    ];
    const before = await stateOf(viewer);
    const changes: UserChange[] = [
      { ...factor(9), endSessions: 'all' },
      NO_FACTOR,
      { set: { sealedSecret: bytes(8) } },
      { set: { role: 'viewer', passwordHash: 'another', linkHash: null, failures: 0, nextTryAt: '' } },
    ];
    for (const change of changes) {
      accepted(await store.users.updateUser(developer, change, entry()));
      assert.deepEqual(await stateOf(viewer), before, JSON.stringify(change));
    }
    accepted(await store.users.deleteUser(developer, entry()));
    assert.deepEqual(await stateOf(viewer), before);
    assert.equal(await store.users.countRecoveryCodes(owner), 3);
    assert.equal(await store.users.useRecoveryCode(viewer, bytes(2)), true);
    assert.deepEqual(
      [await store.users.countRecoveryCodes(owner), await store.users.countRecoveryCodes(viewer)],
      [3, 2],
    );
  });

  test('NOT_FOUND for an unknown user, or one whose password or second factor has changed meanwhile', async () => {
    const store = await people.opened();
    const name = await people.newUser();
    const records = (await readChain(store.audit, name.teamId)).length;
    for (const email of ['nobody@example.com', name.email.toUpperCase()]) {
      const one = { ...name, email };
      assertRefused(await store.users.updateUser(one, { set: { role: 'viewer' } }, entry()), 'NOT_FOUND');
      assertRefused(await store.users.deleteUser(one, entry()), 'NOT_FOUND');
    }
    const user = (await store.users.findUser(name))!;
    for (const changed of [{ passwordHash: 'the old one' }, { sealedSecret: bytes(8) }, { sealedSecret: null }]) {
      const change = { ...NO_FACTOR, whileProven: { ...user, ...changed } };
      assertRefused(await store.users.updateUser(name, change, entry()), 'NOT_FOUND');
    }
    assert.ok((await store.users.findUser(name))!.sealedSecret);
    assert.equal((await readChain(store.audit, name.teamId)).length, records);
    accepted(await store.users.updateUser(name, { ...NO_FACTOR, whileProven: user }, entry()));
    assert.equal((await store.users.findUser(name))!.sealedSecret, null);
  });

  test('LAST_OWNER a tenant keeps an owner; users with other roles can be removed', async () => {
    const store = await people.opened();
    const { teamId, names } = await people.newTeam('owner', 'developer', 'viewer');
    const [owner, developer, viewer] = names as [UserName, UserName, UserName];
    for (const role of ['developer', 'viewer'] as const)
      assertRefused(await store.users.updateUser(owner, { set: { role, passwordHash: 'x' } }, entry()), 'LAST_OWNER');
    assert.equal((await store.users.findUser(owner))!.passwordHash, '');
    assertRefused(await store.users.deleteUser(owner, entry()), 'LAST_OWNER');
    accepted(await store.users.deleteUser(viewer, entry()));
    accepted(await store.users.updateUser(developer, { set: { role: 'owner' } }, entry()));
    accepted(await store.users.updateUser(owner, { set: { role: 'viewer' } }, entry()));
    const roles = (await store.users.listUsers(teamId)).map(({ role }) => role);
    assert.deepEqual(roles, ['owner', 'viewer']);
    assertRefused(await store.users.deleteUser(developer, entry()), 'LAST_OWNER');
    accepted(await store.users.deleteUser(owner, entry()));
    assert.equal((await readChain(store.audit, teamId)).length, 3 + 4);
  });

  test('LAST_OWNER if owners remove or demote each other at the same moment, one is left', async () => {
    const both = [await people.opened(), await people.store.openAgain()];
    for (let round = 0; round < 5; round++) {
      const { teamId, names } = await people.newTeam('owner', 'owner');
      const leave = (name: UserName, { users }: OpenedStore) =>
        round % 2 ? users.deleteUser(name, entry()) : users.updateUser(name, { set: { role: 'viewer' } }, entry());
      const outcomes = await Promise.all(names.map((name, index) => untilTaken(() => leave(name, both[index]!))));
      assert.equal(outcomes.filter((outcome) => outcome === undefined).length, 1);
      assertRefused(outcomes[0] ?? outcomes[1], 'LAST_OWNER');
      assert.equal((await both[0]!.users.listUsers(teamId)).filter(({ role }) => role === 'owner').length, 1);
      assert.equal((await readChain(both[0]!.audit, teamId)).length, 3);
    }
  });
}

function describeAttempts(people: People): void {
  const both = async (): Promise<OpenedStore[]> => [await people.opened(), await people.store.openAgain()];
  /** Tries to take something eight times at once on two stores. Returns how many tries succeeded. */
  const countTaken = async (take: (store: OpenedStore) => Promise<boolean>): Promise<number> => {
    const stores = await both();
    const taken = await Promise.all(times(8, (index) => untilTaken(() => take(stores[index % 2]!))));
    return taken.filter(Boolean).length;
  };

  test('an attempt is counted once for the state that was read, and can be undone while it is the last', async () => {
    const store = await people.opened();
    const name = await people.newUser();
    const state = async () =>
      (({ failures, nextTryAt }) => ({ failures, nextTryAt }))((await store.users.findUser(name))!);
    assert.equal(await countTaken((one) => one.users.setFailures(name, 0, { failures: 1, nextTryAt: at(1) })), 1);
    assert.deepEqual(await state(), { failures: 1, nextTryAt: at(1) });
    assert.equal(await store.users.setFailures(name, 0, { failures: 1, nextTryAt: at(2) }), false);
    assert.equal(await store.users.setFailures(name, 1, { failures: 2, nextTryAt: at(2) }), true);
    await store.users.setFailures(name, 1, { failures: 0, nextTryAt: '' });
    assert.deepEqual(await state(), { failures: 2, nextTryAt: at(2) }, 'another was counted since');
    await store.users.setFailures(name, 2, { failures: 1, nextTryAt: at(1) });
    assert.deepEqual(await state(), { failures: 1, nextTryAt: at(1) });
    assert.equal(
      await store.users.setFailures({ ...name, email: 'nobody@example.com' }, 0, { failures: 1, nextTryAt: at(1) }),
      false,
    );
  });

  test('a failure of a name without an account is counted once, separately from other names, and kept', async () => {
    const name = { teamId: 'nowhere', email: 'unknown@example.com' };
    const counted = { failures: 1, nextTryAt: at(1) };
    assert.equal(await countTaken((one) => one.users.countUnknownFailure(name, counted)), 1);
    const store = await people.opened();
    assert.deepEqual(await store.users.findUnknownFailures(name), counted);
    assert.equal(await store.users.countUnknownFailure(name, { failures: 3, nextTryAt: at(3) }), false);
    assert.equal(await store.users.countUnknownFailure(name, { failures: 2, nextTryAt: at(2) }), true);
    const other = { ...name, email: '\0\ud800'.repeat(50_000) };
    assert.deepEqual(await store.users.findUnknownFailures(other), { failures: 0, nextTryAt: '' });
    assert.equal(await store.users.countUnknownFailure(other, counted), true);
    assert.deepEqual(await store.users.findUnknownFailures(name), { failures: 2, nextTryAt: at(2) });
  });

  test('a time step is accepted once, and no earlier one after it', async () => {
    const store = await people.opened();
    const name = await people.newUser();
    assert.equal(await countTaken((one) => one.users.useStep(name, 101)), 1);
    for (const step of [99, 100, 101]) assert.equal(await store.users.useStep(name, step), false);
    assert.equal(await store.users.useStep(name, 59_000_000), true);
    assert.equal(await store.users.useStep({ ...name, email: 'nobody@example.com' }, 102), false);
    assert.equal((await store.users.findUser(name))!.lastStep, 59_000_000);
  });

  test('a recovery code is accepted once', async () => {
    const store = await people.opened();
    const [name, other] = [await people.newUser(), await people.newUser()];
    assert.equal(await countTaken((one) => one.users.useRecoveryCode(name, bytes(2))), 1);
    assert.equal(await store.users.useRecoveryCode(name, bytes(4)), false);
    assert.deepEqual([await store.users.countRecoveryCodes(name), await store.users.countRecoveryCodes(other)], [2, 3]);
  });
}

const listSessionIds = async (store: OpenedStore, name: UserName): Promise<string[]> =>
  (await store.sessions.listSessions(name)).map(({ sessionId }) => sessionId);

function describeSessions(people: People): void {
  test('every process finds a session with the current state of its user and tenant, until it ends', async () => {
    const [store, other] = [await people.opened(), await people.store.openAgain()];
    const name = await people.newUser();
    const session = newSession(name);
    assert.ok(await store.users.setFailures(name, 0, { failures: 1, nextTryAt: at(5) }));
    await store.sessions.openSession(session, entry({ action: 'signed.in' }));
    for (const one of [store, other]) {
      const found = (await one.sessions.findSession(session.tokenHash))!;
      assert.deepEqual(plain(found.session), plain(session));
      assert.deepEqual(plain(found.user), plain(await one.users.findUser(name)));
      assert.deepEqual([found.user.failures, found.user.nextTryAt], [0, ''], 'failed attempts are forgotten');
      assert.deepEqual(found.tenant, await (await people.store.first()).tenants.findTenant(name.teamId));
    }
    const link = { linkHash: bytes(66), linkEndsAt: NOW };
    const second = { ...name, email: 'two@example.com', role: 'owner', createdAt: NOW, ...link } as const;
    accepted(await store.users.createUser(second, entry()));
    accepted(await store.users.updateUser(name, { set: { role: 'viewer' } }, entry()));
    await other.sessions.updateSession(session.tokenHash, { seenAt: at(3) });
    const now = (await store.sessions.findSession(session.tokenHash))!;
    assert.deepEqual([now.user.role, now.session.seenAt], ['viewer', at(3)]);
    assert.equal(await store.sessions.findSession(bytes(0)), undefined);
    accepted(await other.users.deleteUser(name, entry()));
    assert.equal(await store.sessions.findSession(session.tokenHash), undefined);
    await store.sessions.updateSession(session.tokenHash, { seenAt: at(4) });
    await assert.rejects(store.sessions.openSession(newSession(name), entry()), { code: 'NOT_SIGNED_IN' });
    const actions = actionsOf(await readChain(store.audit, name.teamId)).slice(2);
    assert.deepEqual(actions, ['signed.in', 'test.done', 'test.done', 'test.done']);
  });

  test('a new session can replace another, and one without an entry is not recorded', async () => {
    const store = await people.opened();
    const name = await people.newUser();
    const [first, second] = [newSession(name), newSession(name)];
    await store.sessions.openSession(first, null);
    await store.sessions.openSession(second, null, first.tokenHash);
    assert.equal(await store.sessions.findSession(first.tokenHash), undefined);
    assert.ok(await store.sessions.findSession(second.tokenHash));
    assert.equal((await readChain(store.audit, name.teamId)).length, 2);
  });

  test('a session continues under another token, with the time of its proof; the old token is deleted', async () => {
    const [store, other] = [await people.opened(), await people.store.openAgain()];
    const name = await people.newUser();
    const [first, second] = [newSession(name, { failures: 3, nextTryAt: at(9) }), newSession(name)];
    await store.sessions.openSession(first, null);
    assert.ok(await store.users.setFailures(name, 0, { failures: 1, nextTryAt: at(5) }));
    const { tokenHash } = second;
    const renewal = { tokenHash, seenAt: at(1), provenAt: at(2), failures: 0, nextTryAt: '' };
    assert.equal(await store.sessions.updateSession(first.tokenHash, renewal), true);
    assert.equal(await store.sessions.updateSession(first.tokenHash, renewal), false);
    assert.equal(await store.sessions.findSession(first.tokenHash), undefined);
    const found = (await other.sessions.findSession(tokenHash))!;
    assert.deepEqual(plain(found.session), plain({ ...first, ...renewal }));
    assert.equal(found.user.failures, 1, 'what strangers failed at is another count');
  });

  test('a proof is counted once for the state that was read, for its session alone, and can be undone', async () => {
    const [store, other] = [await people.opened(), await people.store.openAgain()];
    const name = await people.newUser();
    const [mine, theirs] = [newSession(name), newSession(name)];
    for (const session of [mine, theirs]) await store.sessions.openSession(session, null);
    const stateOf = async ({ tokenHash }: typeof mine) => {
      const { failures, nextTryAt } = (await store.sessions.findSession(tokenHash))!.session;
      return [failures, nextTryAt];
    };
    const taken = [store, other, store, other].map((one) =>
      untilTaken(() => one.sessions.updateSession(mine.tokenHash, { failures: 1, nextTryAt: at(1) }, 0)),
    );
    assert.equal((await Promise.all(taken)).filter(Boolean).length, 1);
    assert.deepEqual(
      [await stateOf(mine), await stateOf(theirs)],
      [
        [1, at(1)],
        [0, ''],
      ],
    );
    assert.equal(await store.sessions.updateSession(mine.tokenHash, { failures: 2, nextTryAt: at(2) }, 1), true);
    await store.sessions.updateSession(mine.tokenHash, { failures: 0, nextTryAt: '' }, 1);
    assert.deepEqual(await stateOf(mine), [2, at(2)], 'another was counted since');
    await store.sessions.updateSession(mine.tokenHash, { failures: 1, nextTryAt: at(1) }, 2);
    assert.deepEqual(await stateOf(mine), [1, at(1)]);
    assert.equal(await store.sessions.updateSession(bytes(0), { failures: 1, nextTryAt: at(1) }, 0), false);
  });

  test('sessions are listed newest first; a user can end one, all others or all, and none of other users', async () => {
    const store = await people.opened();
    const [name, other] = [await people.newUser(), await people.newUser()];
    const opened = [1, 2, 3, 4, 5].map((minute) => newSession(name, { createdAt: at(minute) }));
    const others = newSession(other);
    for (const session of [...opened, others]) await store.sessions.openSession(session, null);
    const listed = (): Promise<string[]> => listSessionIds(store, name);
    const ids = opened.map(({ sessionId }) => sessionId).toReversed();
    assert.deepEqual(await listed(), ids);
    assert.equal(await store.sessions.endSessions(name, { sessionId: ids[1]! }, entry()), 1);
    assert.equal(await store.sessions.endSessions(name, { sessionId: ids[1]! }, entry()), 0);
    assert.equal(await store.sessions.endSessions(name, { sessionId: others.sessionId }, entry()), 0);
    assert.deepEqual(await listed(), ids.toSpliced(1, 1));
    assert.equal(await store.sessions.endSessions(name, { except: opened[0]!.tokenHash }, entry()), 3);
    assert.deepEqual(await listed(), [opened[0]!.sessionId]);
    assert.equal(await store.sessions.endSessions(name, 'all', entry()), 1);
    const found = (await readChain(store.audit, name.teamId)).length;
    assert.equal(found, 2 + 3, 'a record for each time there was something to end');
    assert.ok(await store.sessions.findSession(others.tokenHash));
  });

  test('a change of the user ends sessions with it', async () => {
    const store = await people.opened();
    const name = await people.newUser();
    const [here, there] = [newSession(name), newSession(name)];
    for (const session of [here, there]) await store.sessions.openSession(session, null);
    const change = { set: { passwordHash: 'new', passwordSetAt: NOW }, endSessions: { except: here.tokenHash } };
    accepted(await store.users.updateUser(name, change, entry()));
    assert.deepEqual(await listSessionIds(store, name), [here.sessionId]);
    accepted(await store.users.updateUser(name, { endSessions: 'all' }, entry()));
    assert.deepEqual(await store.sessions.listSessions(name), []);
  });

  test('sessions that are too old or long unused are deleted', async () => {
    const store = await people.opened();
    const name = await people.newUser();
    const [old, idle, good] = [
      { createdAt: at(-100), seenAt: at(0) },
      { createdAt: at(-1), seenAt: at(-50) },
      { createdAt: at(-90), seenAt: at(-40) },
    ].map((when) => newSession(name, when));
    for (const session of [old!, idle!, good!]) await store.sessions.openSession(session, null);
    await store.sessions.deleteSessionsBefore(at(-90), at(-40));
    assert.deepEqual(await listSessionIds(store, name), [good!.sessionId]);
  });
}
