/**
 * Makes tenants with users of every role, records, keys, sessions and requests. All their data has a mark that no
 * request contains, so a response with the mark shows data of that tenant.
 */
import { stockShop } from '../kit/operations.ts';
import { times } from '../kit/lists.ts';
import { succeed } from '../kit/records.ts';
import type { Keys, Service } from '../kit/service.ts';
import type { Named } from './routes.ts';
import { expectOk, ROLES, tokenOf, Visitor, type Role } from './visitor.ts';

/** More than a page of the request log. */
const REQUESTS = 60;

export interface MarkedTenant {
  readonly users: Readonly<Record<Role, Visitor>>;
  readonly keys: Keys;
  readonly named: Named;
  /** Texts in lowercase that only data of this tenant has. */
  readonly marks: readonly string[];
}

/** Opens another session of the visitor and returns its ID. */
export async function openSession(visitor: Visitor): Promise<string> {
  const { sessions } = await (await visitor.again()).ask('GET /sessions');
  return sessions.find(({ isThisOne }) => isThisOne)!.sessionId;
}

export async function makeMarkedTenant(service: Service, teamID: string): Promise<MarkedTenant> {
  const mark = `mark${Math.random().toString(36).slice(2, 10)}${teamID}`;
  const { shop, keys: firstKeys, calls, batch, reads } = await stockShop(service, teamID);
  const owner = await Visitor.make(service, teamID, 'owner', `owner-${mark}@example.com`);
  const users = {
    owner,
    developer: await owner.add('developer', `developer-${mark}@example.com`),
    clerk: await owner.add('clerk', `clerk-${mark}@example.com`),
    viewer: await owner.add('viewer', `viewer-${mark}@example.com`),
  };
  for (const user of ROLES.map((role) => users[role])) {
    const { email, password } = user;
    await expectOk(user.post('/sign-in', { teamID, email, password }, { 'user-agent': mark }));
  }

  const [quote, salesOrder, invoice] = [`quote-${teamID}`, `sales-${teamID}`, `invoice-${teamID}`];
  const returned = `returned-${teamID}`;
  const part = `part-own-${teamID}`;
  const order = { REFERENCE_NUMBER: mark, NOTES: mark };
  await shop.load('orders', [
    { ORDER_NUMBER: quote, ORDER_TYPE: 'quote', ...order },
    { ORDER_NUMBER: salesOrder, ORDER_TYPE: 'sales_order', ...order },
    // The explorer has its own orders, because an order is approved and invoiced once.
    { ORDER_NUMBER: `${quote}-2`, ORDER_TYPE: 'quote', ...order },
    { ORDER_NUMBER: `${salesOrder}-2`, ORDER_TYPE: 'sales_order', ...order },
    { ORDER_NUMBER: invoice, ORDER_TYPE: 'invoice', ...order },
    { ORDER_NUMBER: returned, ORDER_TYPE: 'invoice', ...order },
  ]);
  const line = { ORDER_NUMBER: returned, LINE_REF_LOCK_CODE: returned, QUANTITY: '9', NUMBER_SHIPPED: '9' };
  await shop.load('lines', [{ ...line, DESCRIPTION: mark }]);
  await shop.load('inventory', [{ PART_CODE: part, PART_DESCRIPTION: mark, QTY_ONHAND: '5' }]);
  for (const ORDER_NUMBER of [`order-${teamID}`, quote, salesOrder, `${salesOrder}-2`])
    await succeed(shop.addLineItem({ ORDER_NUMBER, DESCRIPTION: mark, QUANTITY: '1' }));
  await succeed(shop.updateCustomer({ CUSTOMER_CODE: `customer-${teamID}`, NOTES: mark }));
  await owner.ask('POST /fields', { recordType: 'orders', name: mark.toUpperCase(), type: 'text' });
  await owner.ask('POST /settings', { name: mark, defaultStage: 'quote', strict: false });
  const email = `besides@${teamID}.example`;
  await owner.ask('POST /users', { email, role: 'viewer' });
  const linkToken = tokenOf(await owner.ask('POST /users', { email: `linked@${teamID}.example`, role: 'viewer' }));

  const { headers } = await shop.createOrder({ NOTES: mark });
  await Promise.all(times(REQUESTS, () => shop.queryOrders([{ field: 'NOTES', value: mark }])));
  const issued = await owner.ask('POST /keys/replace', { overlap: '24h' });
  const keys = { teamID, apiID: issued.apiID, apiSecret: issued.apiSecret };
  const { id: webhook } = await owner.ask('POST /webhooks', { url: `https://receiver.invalid/${mark}`, types: [] });
  await owner.ask('POST /webhooks/pause', { id: webhook });
  const named: Named = {
    teamID,
    apiID: keys.apiID,
    oldApiID: firstKeys.apiID,
    email,
    sessionId: await openSession(users.developer),
    requestID: headers.get('x-request-id')!,
    cursor: (await owner.ask('GET /requests')).next!,
    quote,
    salesOrder,
    invoice,
    returned,
    part,
    webhook,
    linkToken,
    calls: [...calls, batch, ...reads],
  };
  return { users, keys, named, marks: [mark, `description of ${teamID}`] };
}
