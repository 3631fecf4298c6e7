/** Tests that two tenants see and change nothing of each other, in every operation and every way to send keys. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendBy, stockShop, waysOf, type GoodCall, type Sent, type StockedShop } from '../kit/operations.ts';
import { expectRefusal } from '../kit/records.ts';
import { type Answer, BASE_PATH, type Keys, sharedService } from '../kit/service.ts';

const service = await sharedService();
const [alpha, beta] = [await stockShop(service, 'alpha'), await stockShop(service, 'beta')];
const records = { alpha: await alpha.shop.everything(), beta: await beta.shop.everything() };

async function expectUntouched(): Promise<void> {
  assert.equal(await beta.shop.everything(), records.beta);
}

test('the matrix has every operation of the contract', async () => {
  const document = (await (await fetch(`${service.origin}/openapi.json`)).json()) as { paths: Record<string, object> };
  const inContract = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const tried = [...alpha.calls, alpha.batch, ...alpha.reads, ...alpha.office].map(
    ({ method, path }) => `${method} ${BASE_PATH}${path}`,
  );
  assert.deepEqual(inContract.filter((one) => one.includes(BASE_PATH)).toSorted(), tried.toSorted());
});

/** Makes every call of both tenants, in every way, with these credentials. Each must be refused and change nothing. */
async function expectRefused(sent: Sent, status: number, code: string): Promise<void> {
  const mixed = [beta, alpha].flatMap(({ calls, batch, reads, office }) => [...calls, batch, ...reads, ...office]);
  for (const call of mixed)
    for (const way of waysOf(call)) {
      const answer = await sendBy(way, service, call, sent);
      expectRefusal(answer, status, code);
      const { requestId: _, ...told } = answer.body; // a random ID may contain "beta"
      assert.ok(!JSON.stringify(told).includes('beta'), answer.text);
    }
  await expectUntouched();
}

// Holds S2.2.
test("401 a tenant's keys open no other tenant", () =>
  expectRefused({ ...alpha.keys, teamID: 'beta' }, 401, 'INVALID_CREDENTIALS'));
test("401 another tenant's ID with one's own secret opens neither tenant", async () => {
  await expectRefused({ ...alpha.keys, apiID: beta.keys.apiID }, 401, 'INVALID_CREDENTIALS');
  await expectRefused({ ...alpha.keys, apiID: beta.keys.apiID, teamID: 'beta' }, 401, 'INVALID_CREDENTIALS');
});
test("401 another tenant's secret with one's own ID opens neither tenant", async () => {
  await expectRefused({ ...alpha.keys, apiSecret: beta.keys.apiSecret }, 401, 'INVALID_CREDENTIALS');
  await expectRefused({ ...alpha.keys, apiSecret: beta.keys.apiSecret, teamID: 'beta' }, 401, 'INVALID_CREDENTIALS');
});
test('400 no teamID opens no tenant', () =>
  expectRefused({ ...alpha.keys, teamID: undefined }, 400, 'MISSING_TEAM_ID'));

test('400 one tenant in the query and another in the body is neither', async () => {
  for (const { method, path, fields } of [...alpha.calls, ...beta.calls, ...alpha.office].filter(
    ({ kind }) => kind === 'write',
  ))
    for (const [teamID, other] of [
      ['alpha', 'beta'],
      ['beta', 'alpha'],
    ] as const)
      for (const keys of [alpha.keys, beta.keys]) {
        const body = { ...fields, ...keys, teamID: other };
        const answer = await service.request(method, path, { query: { teamID }, body });
        expectRefusal(answer, 400, 'PARAMETER_CONFLICT', 'teamID');
      }
  await expectUntouched();
});

/** Checks the answer to alpha when it names a record that only beta has. */
function expectNothingFound({ kind, operation }: GoodCall, { status, body }: Answer): void {
  if (operation === 'findOrdersByStorefrontReference') assert.deepEqual([status, body.orders], [200, []]);
  else if (kind === 'single') assert.equal(`${status} ${body.code}`, '404 NOT_FOUND');
  else if (kind === 'query') assert.deepEqual([status, body.data], [200, []]);
  else assert.match(`${status} ${body.code}`, /^400 (ORDER|LINE|CUSTOMER|PART)_NOT_FOUND$/);
}

test("a tenant that names another's records gets a not-found error and changes none", async () => {
  const made = await service.command(...'keys create alpha --name office --scope office --json'.split(' '));
  const keys = made.json() as Keys;
  const naming = [...beta.calls, ...beta.office].filter(({ operation }) => !operation.startsWith('create'));
  assert.equal(naming.length, 22);
  for (const call of [...naming, beta.batch])
    for (const way of waysOf(call)) expectNothingFound(call, await sendBy(way, service, call, keys));
  const ownOrder = { ...beta.call('updateLineItem').fields, ORDER_NUMBER: 'order-alpha' };
  expectRefusal(await alpha.shop.updateLineItem(ownOrder), 400, 'LINE_NOT_FOUND', 'LINE_REF_LOCK_CODE');
  await expectUntouched();
  assert.equal(await alpha.shop.everything(), records.alpha);
});

test('a query for everything returns no record of another tenant, on any page', async () => {
  const any = [{ field: 'CREATE_DATE', value: '2', contains: true }];
  for (const [query, count] of [
    [alpha.shop.queryOrders, 2],
    [alpha.shop.queryLines, 1],
    [alpha.shop.queryCustomers, 1],
    [alpha.shop.queryInventoryItems, 1],
  ] as const) {
    const { status, text, body } = await query(any, { maxReturn: '5000' });
    assert.deepEqual([status, body.data.length], [200, count]);
    assert.ok(text.includes('alpha') && !text.includes('beta'));
  }
});

test("the same numbers, codes and keys in two tenants are two tenants' records", async () => {
  const both = [alpha.shop, beta.shop];
  const headers = { 'idempotency-key': 'the-same' };
  const create = (teamOf: StockedShop, NOTES: string): Promise<Answer> =>
    service.call(teamOf.keys, 'PUT', '/orders/create', { headers, body: { NOTES } });
  const [ofAlpha, ofBeta] = [await create(alpha, 'of alpha'), await create(beta, 'of beta')];
  assert.deepEqual([ofAlpha.status, ofBeta.status], [200, 200]);
  assert.equal(ofAlpha.body.data, ofBeta.body.data, 'each tenant counts its own orders');
  for (const shop of both) await shop.createCustomer({ CUSTOMER_CODE: 'SAME', NOTES: shop.keys.teamID });
  for (const [name, shop] of Object.entries({ alpha: alpha.shop, beta: beta.shop })) {
    assert.equal((await shop.order(ofAlpha.body.data as string))['NOTES'], `of ${name}`);
    assert.equal((await shop.getCustomer('SAME')).body.data.NOTES, name);
  }
});
