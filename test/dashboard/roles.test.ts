/**
 * Who may do what: every route of the dashboard, the explorer's and the records' doors among them, for two tenants, three roles and nobody; and with the
 * other tenant's names in every request nothing of it is answered or changed. A route without a row in routes.ts fails the first test.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listRoutes, NEW_PASSWORD, rowsOf, sendRow, type Row } from './routes.ts';
import { everythingOf, openScene } from './scene.ts';
import { makeMarkedTenant, openSession, signInAgain, type MarkedTenant } from './tenants.ts';
import { PASSWORD, ROLES, Visitor, type Reply, type Role } from './visitor.ts';

const service = await openScene();
const tenants = await Promise.all([makeMarkedTenant(service, 'one'), makeMarkedTenant(service, 'two')]);

const nameOf = ({ method, path }: Row): string => `${method} ${path}`;
const mayAct = (role: Role, needed: Row['role']): boolean =>
  needed === 'nobody' || ROLES.indexOf(role) <= ROLES.indexOf(needed);
const codeIn = ({ body, status }: Reply): string => `${status} ${(body as { code?: string } | undefined)?.code ?? ''}`;

/** Sends a row; a password that it changed is changed back. */
async function carryOut(visitor: Visitor, row: Row, headers?: Record<string, string>): Promise<Reply> {
  const reply = await sendRow(visitor, row, headers);
  if (row.path === '/password' && reply.status === 200) {
    const { status, text } = await visitor.post('/password', { password: NEW_PASSWORD, newPassword: PASSWORD });
    assert.equal(status, 200, text);
  }
  return reply;
}

test('every route of the sources and every operation has a row in the table, and the table has no other', async () => {
  const { named, users } = tenants[0];
  assert.deepEqual(rowsOf(named, users.owner).map(nameOf).toSorted(), await listRoutes(service));
});

test('whoever names what is the other tenant’s gets nothing of it and changes nothing of it, in any role, on any route', async () => {
  for (const [own, other] of [tenants, tenants.toReversed()] as [MarkedTenant, MarkedTenant][]) {
    const watchers = await Promise.all(ROLES.map((role) => signInAgain(other.users[role])));
    const [owner] = watchers as [Visitor];
    const earlier = await everythingOf(owner);
    for (const mark of other.marks) assert.ok(earlier.toLowerCase().includes(mark), `the test would not see ${mark}`);
    let answered = 0;
    for (const role of ROLES) {
      const visitor = await signInAgain(own.users[role]);
      // A link's token lets in whoever has it, and is nothing to be guessed or named.
      for (const row of rowsOf(other.named, visitor).filter(({ path }) => !path.startsWith('/link'))) {
        const teamID = other.named.teamID;
        const body = row.body as object;
        const variants: Row[] = [
          row,
          { ...row, query: { ...row.query, teamID } },
          { ...row, query: { ...row.query, teamID: 'one', teamId: teamID } },
        ];
        if (row.body !== undefined && !Array.isArray(body))
          variants.push(
            { ...row, body: { ...body, teamID } },
            { ...row, body: { ...body, teamID, apiID: other.keys.apiID, apiSecret: other.keys.apiSecret } },
          );
        for (const variant of variants.toReversed()) {
          const reply = await carryOut(visitor, variant);
          assert.ok(reply.status < 500, `${nameOf(row)}: ${reply.text}`);
          const shown = `${reply.text}${JSON.stringify([...reply.headers])}`.toLowerCase();
          for (const mark of other.marks)
            assert.ok(
              !shown.includes(mark),
              `${role} of ${own.named.teamID}, ${nameOf(row)}, was shown: ${reply.text.slice(0, 2000)}`,
            );
          if (row.path === '/sign-out' && reply.status === 200)
            visitor.token = (await signInAgain(own.users[role])).token;
          answered++;
        }
      }
    }
    assert.ok(answered > 3 * 40 * 3, `${answered} requests`);
    assert.equal(await everythingOf(owner), earlier);
    for (const [index, role] of ROLES.entries())
      assert.equal((await watchers[index]!.get('/session')).body.user.role, role);
    assert.equal(
      (await service.call(other.keys, 'GET', '/orders/single', { query: { orderNum: other.named.quote } })).status,
      200,
    );
    assert.equal((await owner.post('/link/check', { token: other.named.linkToken })).status, 200);
  }
});

test('keys of the API do not let in to the dashboard, and a session does not let in to the API', async () => {
  const [{ keys, named, users }] = tenants;
  const nobody = new Visitor(service, 'one', '');
  const basic = `Basic ${Buffer.from(`${keys.apiID}:${keys.apiSecret}`).toString('base64')}`;
  for (const row of rowsOf(named, nobody).filter(({ role }) => role !== 'nobody')) {
    const withKeys = { ...row, query: { ...row.query, ...keys } };
    assert.equal(codeIn(await sendRow(nobody, withKeys, { authorization: basic })), '401 NOT_SIGNED_IN', nameOf(row));
  }
  const { status } = await (
    await signInAgain(users.owner)
  ).send('GET', `/tenant/api/pims/v1/orders/single?teamID=one&orderNum=${named.quote}`);
  assert.equal(status, 401);
});

test('each role may do exactly what the table says, in both tenants; nobody signed in may only sign in', async () => {
  for (const { users, named } of tenants) {
    const done = new Set<string>();
    for (const role of ['nobody', ...ROLES.toReversed()] as const) {
      const visitor =
        role === 'nobody'
          ? new Visitor(service, named.teamID, `nobody@${named.teamID}.example`)
          : await signInAgain(users[role]);
      const sessionId = role === 'nobody' ? named.sessionId : await openSession(visitor);
      for (const row of rowsOf({ ...named, sessionId }, visitor)) {
        const isLink = row.path === '/link';
        // The link is there for the last.
        if (isLink && role !== 'owner') continue;
        const reply = await carryOut(visitor, row);
        const code = codeIn(reply);
        const who = `${role} of ${named.teamID}: ${nameOf(row)}`;
        if (role === 'nobody' && row.role !== 'nobody') assert.equal(code, '401 NOT_SIGNED_IN', who);
        else if (role !== 'nobody' && !mayAct(role, row.role)) assert.equal(code, '403 ROLE_NOT_ALLOWED', who);
        else {
          assert.ok(reply.status < 500 && !/NOT_SIGNED_IN|ROLE_NOT_ALLOWED/.test(code), `${who}: ${reply.text}`);
          if (reply.status === 200) done.add(nameOf(row));
        }
      }
    }
    const undone = rowsOf(named, users.owner).map(nameOf).filter((name) => !done.has(name)); // prettier-ignore
    assert.deepEqual(undone, [], 'routes that nobody who may use them could use: their refusals tell nothing');
  }
});

test('what a role may not do it has not done either', async () => {
  await service.makeTenant('three');
  const owner = await Visitor.make(service, 'three', 'owner');
  const [developer, viewer] = [await owner.add('developer'), await owner.add('viewer')];
  await owner.add('viewer', 'besides@three.example');
  const named = { ...tenants[0].named, teamID: 'three', email: 'besides@three.example', calls: tenants[0].named.calls };
  const earlier = await everythingOf(owner);
  for (const visitor of [viewer, developer])
    for (const row of rowsOf(named, visitor).filter(
      ({ role }) => role !== 'nobody' && !mayAct(visitor === viewer ? 'viewer' : 'developer', role),
    ))
      assert.equal(codeIn(await sendRow(visitor, row)), '403 ROLE_NOT_ALLOWED', nameOf(row));
  assert.equal(await everythingOf(owner), earlier);
});
