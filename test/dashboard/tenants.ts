/**
 * Tenants that are told apart: each with a user of every role, a record, key, user, session and request of every kind, and a mark that is in all of them
 * and in nothing that a request names, so that whatever shows it has shown the tenant's own. Judges nothing.
 */
import assert from 'node:assert/strict';
import { stockShop } from '../kit/operations.ts';
import { succeed } from '../kit/records.ts';
import type { Keys, Service } from '../kit/service.ts';
import type { Named } from './routes.ts';
import { ROLES, Visitor, type Role } from './visitor.ts';

/** More than a page of the request log. */
const REQUESTS = 60;

export interface MarkedTenant {
  readonly users: Readonly<Record<Role, Visitor>>;
  readonly keys: Keys;
  readonly named: Named;
  /** In lower case. */
  readonly marks: readonly string[];
}

/** A session of the user at a new browser. */
export async function signInAgain(user: Visitor): Promise<Visitor> {
  const visitor = user.elsewhere();
  const { status, text } = await visitor.signIn();
  assert.equal(status, 200, text);
  return visitor;
}

/** The sessionId of a session besides the visitor's own, opened for this. */
export async function openSession(visitor: Visitor): Promise<string> {
  const other = await signInAgain(visitor);
  const { sessions } = (await other.get('/sessions')).body as { sessions: { sessionId: string; isThisOne: boolean }[] };
  return sessions.find(({ isThisOne }) => isThisOne)!.sessionId;
}

export async function makeMarkedTenant(service: Service, teamID: string): Promise<MarkedTenant> {
  const mark = `mark${Math.random().toString(36).slice(2, 10)}${teamID}`;
  const { shop, keys: firstKeys, calls } = await stockShop(service, teamID);
  const owner = await Visitor.make(service, teamID, 'owner', `owner-${mark}@example.com`);
  const users = {
    owner,
    developer: await owner.add('developer', `developer-${mark}@example.com`),
    viewer: await owner.add('viewer', `viewer-${mark}@example.com`),
  };
  for (const role of ROLES)
    assert.equal(
      (
        await users[role].post(
          '/sign-in',
          { teamID, email: users[role].email, password: users[role].password },
          { 'user-agent': mark },
        )
      ).status,
      200,
    );

  const [quote, salesOrder] = [`quote-${teamID}`, `sales-${teamID}`];
  const order = { REFERENCE_NUMBER: mark, NOTES: mark };
  await shop.load('orders', [{ ORDER_NUMBER: quote, ORDER_TYPE: 'quote', ...order }, { ORDER_NUMBER: salesOrder, ORDER_TYPE: 'sales_order', ...order }]); // prettier-ignore
  for (const ORDER_NUMBER of [`order-${teamID}`, quote, salesOrder])
    await succeed(shop.addLineItem({ ORDER_NUMBER, DESCRIPTION: mark, QUANTITY: '1' }));
  await succeed(shop.updateCustomer({ CUSTOMER_CODE: `customer-${teamID}`, NOTES: mark }));
  await expect200(owner.post('/fields', { recordType: 'orders', name: mark.toUpperCase(), type: 'text' }));
  await expect200(owner.post('/settings', { name: mark, defaultStage: 'quote', strict: false }));
  const email = `besides@${teamID}.example`;
  await expect200(owner.post('/users', { email, role: 'viewer' }));
  const { link } = (await expect200(owner.post('/users', { email: `linked@${teamID}.example`, role: 'viewer' })))
    .body as { link: string };

  const { headers } = await shop.createOrder({ NOTES: mark });
  await Promise.all(Array.from({ length: REQUESTS }, () => shop.queryOrders([{ field: 'NOTES', value: mark }])));
  const replaced = (await expect200(owner.post('/keys/replace', { overlap: '24h' }))).body as Keys;
  const keys = { teamID, apiID: replaced.apiID, apiSecret: replaced.apiSecret };
  const named: Named = {
    teamID,
    apiID: keys.apiID,
    oldApiID: firstKeys.apiID,
    email,
    sessionId: await openSession(users.developer),
    requestID: headers.get('x-request-id')!,
    cursor: ((await owner.get('/requests')).body as { next: string }).next,
    quote,
    salesOrder,
    linkToken: link.split('#')[1]!,
    calls,
  };
  return { users, keys, named, marks: [mark, `description of ${teamID}`] };
}

async function expect200(answering: ReturnType<Visitor['post']>): ReturnType<Visitor['post']> {
  const reply = await answering;
  assert.equal(reply.status, 200, reply.text);
  return reply;
}
