/**
 * Tests who may use each route of the dashboard, including the explorer and the records: four roles of two tenants, and
 * a visitor who is not signed in. A request that names data of another tenant neither returns nor changes it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import cookie from '@fastify/cookie';
import Fastify from 'fastify';
import type { Refusal } from '../../src/errors.ts';
import { ROUTES } from '../../src/http/dashboard/route-table.ts';
import { addRoute, type DashboardServices, type Route } from '../../src/http/dashboard/typed-route.ts';
import { passing } from '../kit/clock.ts';
import { basicOf } from '../kit/operations.ts';
import { IS_THOROUGH } from '../kit/trials.ts';
import { listRoutes, rowsOf, sendRow, type Row } from './routes.ts';
import { everythingOf, openScene } from './scene.ts';
import { makeMarkedTenant, openSession, type MarkedTenant } from './tenants.ts';
import { codeIn, NEW_PASSWORD, PASSWORD, ROLES, Visitor, type Reply, type Role } from './visitor.ts';

/** No team operates this service; operate.test.ts tests the team that does. */
const service = await openScene({ STOREROOM_OPERATOR_TEAM: 'none' });
const tenants = await Promise.all([makeMarkedTenant(service, 'one'), makeMarkedTenant(service, 'two')]);

/** Each tenant tries to reach the other. In `npm test` only the first one does. */
const TURNS = [tenants, tenants.toReversed()].slice(0, IS_THOROUGH ? 2 : 1) as [MarkedTenant, MarkedTenant][];

/** A user has 20 calls a second, so a row whose variants are all sent at once waits for a moment of the clock. */
const ROW_MS = 500;

const nameOf = ({ method, path }: Row): string => `${method} ${path}`;
const mayAct = (role: Role, needed: Row['role']): boolean =>
  needed === 'nobody' || ROLES.indexOf(role) <= ROLES.indexOf(needed);

/** Sends a row. If it changed the password, changes it back. */
async function carryOut(visitor: Visitor, row: Row, headers?: Record<string, string>): Promise<Reply> {
  const reply = await sendRow(visitor, row, headers);
  if (row.path === '/password' && reply.status === 200)
    await visitor.ask('POST /password', { password: NEW_PASSWORD, newPassword: PASSWORD });
  return reply;
}

/**
 * Returns variants of a row that also name the other tenant in the query or the body, the most explicit first, and then
 * the row. Under `npm test`, returns only the first of them.
 */
function variantsOf(row: Row, { named: { teamID }, keys: { apiID, apiSecret } }: MarkedTenant): Row[] {
  const body = row.body as object;
  const variants: Row[] = [
    row,
    { ...row, query: { ...row.query, teamID: 'one', teamId: teamID } },
    { ...row, query: { ...row.query, teamID } },
  ];
  if (row.body !== undefined && !Array.isArray(body))
    variants.push({ ...row, body: { ...body, teamID } }, { ...row, body: { ...body, teamID, apiID, apiSecret } });
  return IS_THOROUGH ? variants.toReversed() : variants.slice(-1);
}

test('every route of the sources and every operation has a row in the table, and the table has no others', async () => {
  const { named, users } = tenants[0];
  assert.deepEqual(rowsOf(named, users.owner).map(nameOf).toSorted(), await listRoutes(service));
});

test('401 a route that names no role needs a session, unless it is declared open', async () => {
  const app = Fastify();
  await app.register(cookie);
  app.addHook('onRequest', async (request) => void Object.assign(request, { load: { enter: () => undefined } }));
  app.setErrorHandler((fault: Refusal, _, reply) => reply.code(fault.httpStatus).send(fault.code));
  const terms = { run: async () => ({}) };
  addRoute(app, { clock: passing } as DashboardServices, 'GET /forgotten', terms);
  const headers = { 'sec-fetch-site': 'same-origin' };
  const { statusCode, body } = await app.inject({ url: '/dashboard/api/forgotten', headers });
  assert.equal(`${statusCode} ${body}`, '401 NOT_SIGNED_IN');
  const open = Object.entries<Route>(ROUTES).filter(([, { isOpen }]) => isOpen);
  const rows = rowsOf(tenants[0].named, tenants[0].users.owner).filter(({ role }) => role === 'nobody');
  assert.deepEqual(open.map(([name]) => name).toSorted(), rows.map(nameOf).toSorted());
  await app.close();
});

test('a user who names data of another tenant reads and changes none of it, in any role, on any route', async () => {
  for (const [own, other] of TURNS) {
    const watchers = await Promise.all(ROLES.map((role) => other.users[role].again()));
    const [owner] = watchers as [Visitor];
    const earlier = await everythingOf(owner);
    for (const mark of other.marks) assert.ok(earlier.toLowerCase().includes(mark), `the test would not see ${mark}`);
    let answered = 0;
    for (const role of ROLES) {
      const visitor = await own.users[role].again();
      // The token of a link lets in everyone who has it and cannot be guessed, so links are left out.
      for (const row of rowsOf(other.named, visitor).filter(({ path }) => !path.startsWith('/link'))) {
        await service.move(ROW_MS);
        for (const variant of variantsOf(row, other)) {
          const reply = await carryOut(visitor, variant);
          assert.ok(reply.status < 500 && reply.status !== 429, `${nameOf(row)}: ${reply.text}`);
          const shown = `${reply.text}${JSON.stringify([...reply.headers])}`.toLowerCase();
          for (const mark of other.marks)
            assert.ok(!shown.includes(mark), `${role} of ${own.named.teamID}, ${nameOf(row)}: ${reply.text}`);
          if (row.path === '/sign-out' && reply.status === 200) visitor.token = (await own.users[role].again()).token;
          answered++;
        }
      }
    }
    assert.ok(answered > 3 * 40 * (IS_THOROUGH ? 3 : 1), `${answered} requests`);
    assert.equal(await everythingOf(owner), earlier);
    for (const [index, role] of ROLES.entries())
      assert.equal((await watchers[index]!.ask('GET /session')).user.role, role);
    const query = { orderNum: other.named.quote };
    assert.equal((await service.call(other.keys, 'GET', '/orders/single', { query })).status, 200);
    await owner.ask('POST /link/check', { token: other.named.linkToken });
  }
});

test('keys of the API give no access to the dashboard, and a session gives none to the API', async () => {
  const [{ keys, named, users }] = tenants;
  const nobody = new Visitor(service, 'one', '');
  const headers = { authorization: basicOf(keys) };
  for (const row of rowsOf(named, nobody).filter(({ role }) => role !== 'nobody')) {
    const withKeys = { ...row, query: { ...row.query, ...keys } };
    assert.equal(codeIn(await sendRow(nobody, withKeys, headers)), '401 NOT_SIGNED_IN', nameOf(row));
  }
  const path = `/tenant/api/pims/v1/orders/single?teamID=one&orderNum=${named.quote}`;
  assert.equal((await (await users.owner.again()).send('GET', path)).status, 401);
});

test('each role may do exactly what the table says; a visitor without a session may only sign in', async () => {
  for (const [{ users, named }] of TURNS) {
    const done = new Set<string>();
    for (const role of ['nobody', ...ROLES.toReversed()] as const) {
      const nobody = new Visitor(service, named.teamID, `nobody@${named.teamID}.example`);
      const visitor = role === 'nobody' ? nobody : await users[role].again();
      const sessionId = role === 'nobody' ? named.sessionId : await openSession(visitor);
      for (const row of rowsOf({ ...named, sessionId }, visitor)) {
        if (row.path === '/link' && role !== 'owner') continue; // a link works once, so only the last role uses it
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
    const routes = rowsOf(named, users.owner).map(nameOf);
    const undone = routes.filter((name) => !done.has(name) && !name.includes('/operate'));
    assert.deepEqual(undone, [], 'routes that no allowed user could use: their refusals prove nothing');
  }
});

test('an action that a role may not do has no effect', async () => {
  await service.makeTenant('three');
  const owner = await Visitor.make(service, 'three', 'owner');
  const [developer, viewer] = [await owner.add('developer'), await owner.add('viewer')];
  await owner.add('viewer', 'besides@three.example');
  const named = { ...tenants[0].named, teamID: 'three', email: 'besides@three.example' };
  const earlier = await everythingOf(owner);
  for (const [role, visitor] of Object.entries({ viewer, developer }))
    for (const row of rowsOf(named, visitor).filter((one) => !mayAct(role as Role, one.role)))
      assert.equal(codeIn(await sendRow(visitor, row)), '403 ROLE_NOT_ALLOWED', nameOf(row));
  assert.equal(await everythingOf(owner), earlier);
});
