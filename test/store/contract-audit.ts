/** Contract: every change, also of keys, leaves one record in an unbroken chain, which is deleted with its tenant. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { times } from '../kit/lists.ts';
import { accepted, entry, NOW, type StoreUnderTest } from './store-under-test.ts';
import { actionsOf, at, bytes, newSession, People, readChain, untilTaken } from './people.ts';

export function describeAudit(store: StoreUnderTest): void {
  const people = new People(store);
  describeLog(people);
  describeKeys(people);
}

function describeLog(people: People): void {
  test('records are read as appended, newest first by page or in their order, and match their hashes', async () => {
    const store = await people.opened();
    const { teamId } = await people.newTeam();
    assert.deepEqual(await store.audit.loadAuditHead(teamId), { number: 0, hash: '' });
    assert.deepEqual(await store.audit.loadAudit(teamId, Infinity, 10), []);
    const detail = { zulu: 'ü 𝒳 "quoted"', alpha: '', nul: 'a\0b', half: '\ud800', '10': 'ten', '9': 'nine' };
    for (let number = 1; number <= 7; number++)
      await store.audit.appendAudit(teamId, entry({ at: at(number), target: `t${number}`, detail }));
    const all = await readChain(store.audit, teamId);
    const { hash, ...rest } = all[2]!;
    assert.match(hash, /^[0-9a-f]{64}$/);
    assert.deepEqual(rest, { number: 3, ...entry({ at: at(3), target: 't3', detail }) });
    assert.deepEqual(await store.audit.loadAudit(teamId, Infinity, 2), [all[6], all[5]]);
    assert.deepEqual(await store.audit.loadAudit(teamId, 3, 10), [all[1], all[0]]);
    assert.deepEqual(await store.audit.loadAuditFrom(teamId, 3, 2), [all[2], all[3]]);
    await store.audit.appendAudit(teamId, entry({ actor: 'a\0\ud800', target: '\udc00\0', client: '\0' }));
    assert.equal((await readChain(store.audit, teamId)).length, 8, 'text that no store keeps breaks no chain');
    await assert.rejects(store.audit.appendAudit('nobody', entry()), { code: 'TENANT_NOT_FOUND' });
  });

  test('simultaneous appends from two processes form one unbroken chain with all records', async () => {
    const both = [await people.opened(), await people.store.openAgain()];
    const [first, second] = [await people.newTeam(), await people.newTeam()];
    const targets = times(20, (index) => `${index}`);
    const append = ({ teamId }: { teamId: string }) =>
      targets.map((target, index) => untilTaken(() => both[index % 2]!.audit.appendAudit(teamId, entry({ target }))));
    await Promise.all([first, second].flatMap(append));
    for (const { teamId } of [first, second]) {
      const found = (await readChain(both[0]!.audit, teamId)).map(({ target }) => target);
      assert.deepEqual(new Set(found), new Set(targets));
      assert.equal(found.length, targets.length);
    }
  });

  test('removing a tenant deletes its users, sessions, codes and audit log; created again, it has none', async () => {
    const { tenants, users, sessions, audit } = await people.store.first();
    const name = await people.newUser();
    const session = newSession(name);
    await sessions.openSession(session, entry());
    await tenants.deleteTenant((await tenants.findTenant(name.teamId))!);
    for (const isThereAgain of [false, true]) {
      if (isThereAgain) accepted(await tenants.createTenant(name.teamId, 'Again', NOW));
      assert.equal(await users.findUser(name), undefined);
      assert.equal(await users.countRecoveryCodes(name), 0);
      assert.equal(await sessions.findSession(session.tokenHash), undefined);
      assert.deepEqual(await sessions.listSessions(name), []);
      assert.deepEqual(await readChain(audit, name.teamId), []);
    }
  });
}

function describeKeys(people: People): void {
  const key = (apiId: string) => ({ apiId, secretHash: bytes(1) });

  test('keys are listed with who issued them, the pair in force first, and each can be ended', async () => {
    const { tenants: keys, audit } = await people.store.first();
    const { teamId } = await people.newTeam();
    const id = (number: number): string => `${teamId}-${number}`;
    assert.deepEqual(await keys.listKeys(teamId, NOW), []);
    await keys.replaceKeys(teamId, key(id(1)), at(0), entry({ at: at(0), actor: 'command line' }));
    const replaced = entry({ at: at(1), action: 'keys.replaced', target: id(2), detail: { overlap: '1h' } });
    await keys.replaceKeys(teamId, key(id(2)), at(60), replaced);
    await keys.replaceKeys(teamId, key(id(3)), at(90), entry({ at: at(2) }));
    const terms = { name: 'default', scope: 'write' } as const;
    const [inForce, second, first] = [
      { apiId: id(3), ...terms, issuedAt: at(2), issuedBy: 'ann@example.com', endsAt: '', isReplaced: false },
      { apiId: id(2), ...terms, issuedAt: at(1), issuedBy: 'ann@example.com', endsAt: at(90), isReplaced: true },
      { apiId: id(1), ...terms, issuedAt: at(0), issuedBy: 'command line', endsAt: at(60), isReplaced: true },
    ];
    assert.deepEqual(await keys.listKeys(teamId, at(59)), [inForce, second, first]);
    assert.deepEqual(await keys.listKeys(teamId, at(60)), [inForce, second]);
    const end = (apiId: string, minute: number, team = teamId): Promise<boolean> =>
      keys.endKey(team, apiId, entry({ at: at(minute), action: 'key.ended' }));
    assert.equal(await end(id(1), 60), false, 'it has ended by itself');
    assert.equal(await end(id(2), 5, (await people.newTeam()).teamId), false, 'another tenant');
    for (const unknown of ['', 'none', 'a\0b']) assert.equal(await end(unknown, 5), false);
    assert.ok(await keys.findCaller(teamId, id(2), at(6)));
    assert.equal(await end(id(2), 6), true);
    assert.equal(await keys.findCaller(teamId, id(2), at(6)), undefined);
    assert.equal(await end(id(2), 7), false);
    assert.deepEqual(await keys.listKeys(teamId, at(7)), [inForce, first]);
    assert.equal(await end(id(3), 8), true, 'the pair in force');
    assert.equal(await keys.findCaller(teamId, id(3), at(8)), undefined);
    const records = await readChain(audit, teamId);
    assert.deepEqual(actionsOf(records), ['test.done', 'keys.replaced', 'test.done', 'key.ended', 'key.ended']);
    assert.deepEqual(records[1]!.detail, { overlap: '1h', name: 'default' });
    assert.deepEqual(records[3]!.detail, { name: 'default' });
  });

  test('after simultaneous replacements from two processes, one pair is in force', async () => {
    const [{ tenants, audit }, other] = [await people.store.first(), await people.store.openAgain()];
    const { teamId } = await people.newTeam();
    const replace = (index: number) => {
      const target = `${teamId}-${index}`;
      const keys = [tenants, other.tenants][index % 2]!;
      return untilTaken(() => keys.replaceKeys(teamId, key(target), at(0), entry({ at: at(0), target })));
    };
    await Promise.all(times(8, replace));
    const last = (await readChain(audit, teamId)).at(-1)!;
    assert.equal(last.number, 8);
    const inForce = (await tenants.listKeys(teamId, at(-1))).filter(({ endsAt }) => endsAt === '');
    assert.equal(inForce.map(({ apiId }) => apiId).join(), last.target);
    assert.deepEqual(await tenants.listKeys(teamId, at(0)), [
      {
        apiId: last.target,
        name: 'default',
        scope: 'write',
        issuedAt: at(0),
        issuedBy: 'ann@example.com',
        endsAt: '',
        isReplaced: false,
      },
    ]);
  });

  test('a change of settings with an entry is recorded, one without is not', async () => {
    const { tenants, audit } = await people.store.first();
    const { teamId } = await people.newTeam();
    const tenant = (await tenants.findTenant(teamId))!;
    const renamed = { ...tenant, name: 'Name ü' };
    await tenants.updateTenant(teamId, renamed, entry({ action: 'tenant.changed', target: teamId }));
    await tenants.updateTenant(teamId, { ...renamed, strict: true }, null);
    assert.deepEqual(await tenants.findTenant(teamId), { ...renamed, strict: true });
    assert.deepEqual(actionsOf(await readChain(audit, teamId)), ['tenant.changed']);
    await assert.rejects(tenants.updateTenant('nobody', tenant, entry()), { code: 'TENANT_NOT_FOUND' });
  });
}
