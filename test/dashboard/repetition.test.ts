/**
 * Tests that every write of the dashboard takes an Idempotency-Key: a repeated write takes effect once, and the audit
 * log says only what happened. The tests walk the table of routes, so that a new write cannot be forgotten.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { RouteTerms } from '../../src/administration/action.ts';
import { ROUTES } from '../../src/http/dashboard/route-table.ts';
import { times } from '../kit/lists.ts';
import { stockShop } from '../kit/operations.ts';
import { rowsOf, sendRow, type Row } from './routes.ts';
import { auditOf, openScene } from './scene.ts';
import { makeMarkedTenant, openSession } from './tenants.ts';
import { codeIn, expectCode, expectOk, NEW_PASSWORD, PASSWORD, Visitor, type Reply } from './visitor.ts';

const service = await openScene({ STOREROOM_WEBHOOK_PRIVATE: 'on' });
const { named, users } = await makeMarkedTenant(service, 'once');
const { owner } = users;

let used = 0;
const newKey = (): Record<string, string> => ({ 'idempotency-key': `dashboard-${++used}` });
const isReplayed = ({ headers }: Reply): boolean => headers.get('idempotent-replayed') === 'true';
const headOf = async (): Promise<number> => (await auditOf(owner)).at(-1)!.number;

/** Writes of records, whose repetition gets the first response. */
const isOfRecords = (path: string): boolean => /^\/(orders|stock|parts|imports|fields)/.test(path);
/**
 * Routes of the user's own account, which take effect once by themselves. A link and a session work once, and a response
 * that is lost takes the new token of the session with it. The codes are those of a repetition.
 */
const OF_ACCOUNT: Record<string, string> = {
  '/sign-in': '200',
  '/confirm': '401 NOT_SIGNED_IN',
  '/second-factor/begin': '200',
  '/second-factor/enable': '401 NOT_SIGNED_IN',
  '/second-factor/disable': '401 NOT_SIGNED_IN',
  '/sessions/end': '404 NOT_FOUND',
  '/password': '401 NOT_SIGNED_IN',
  '/sign-out': '401 NOT_SIGNED_IN',
  '/link/check': '200',
  '/link': '400 LINK_INVALID',
};

suite('each write of the table', () => {
  const writes = (sessionId = named.sessionId): Row[] => {
    const rows = rowsOf({ ...named, sessionId }, owner);
    return rows.filter(({ method, path }) => `${method} ${path}` in ROUTES && method === 'POST');
  };

  test('takes effect once with its Idempotency-Key, and leaves one record in the audit log', async () => {
    for (const row of writes(await openSession(owner))) {
      // No backups are scheduled; operate.test.ts has a service that makes some.
      if (row.path === '/operate/backup') continue;
      const key = newKey();
      const { token } = owner;
      const body = JSON.stringify(row.body);
      const first = await sendRow(owner, { ...row, body: JSON.parse(body) }, key);
      assert.equal(first.status, 200, `${row.path}: ${first.text}`);
      const ownCode = OF_ACCOUNT[row.path];
      const head = ownCode === undefined && (await headOf());
      const lost = owner.elsewhere();
      lost.token = token;
      const again = await sendRow(lost, { ...row, body: JSON.parse(body) }, key);
      const expected = ownCode ?? (isOfRecords(row.path) ? '200' : '422 IDEMPOTENCY_KEY_REUSED');
      assert.equal(codeIn(again), expected, `${row.path}: ${again.text}`);
      if (ownCode === undefined) assert.equal(await headOf(), head, row.path);
      if (isOfRecords(row.path)) assert.deepEqual([again.text, isReplayed(again)], [first.text, true], row.path);
      if (row.path === '/password')
        await owner.ask('POST /password', { password: NEW_PASSWORD, newPassword: PASSWORD });
      if (row.path === '/sign-out') await expectOk(owner.signIn());
      // The link signs in someone else.
      if (row.path === '/link') owner.token = token;
    }
  });

  test('400 for an invalid key, and for If-Match, which no route checks; nothing is done', async () => {
    const head = await headOf();
    for (const [name, { role }] of Object.entries(ROUTES as Record<string, RouteTerms>)) {
      const [method, path = ''] = name.split(' ');
      const row = [...rowsOf(named, owner)].find((one) => one.method === method && one.path === path)!;
      const before = codeIn(await sendRow(owner, row, { 'if-match': '"x"' }));
      if (role !== undefined) assert.equal(before, '400 PRECONDITION_NOT_ALLOWED', name);
      if (method === 'POST')
        await expectCode(sendRow(owner, row, { 'idempotency-key': 'two words' }), '400 INVALID_IDEMPOTENCY_KEY');
    }
    assert.equal(await headOf(), head);
  });
});

test('a receipt whose response was lost is booked once when the page retries it', async () => {
  const clerk = users.clerk;
  const body = { PART_CODE: named.part, QUANTITY: '100', REASON: 'DHL' };
  const key = newKey();
  const first = await expectOk(clerk.post('/records/stock/receive', body, key));
  const again = await expectOk(clerk.post('/records/stock/receive', body, key));
  assert.equal(again.text, first.text);
  const { movements } = await clerk.ask('GET /stock/movements', { PART_CODE: named.part });
  assert.equal(movements.filter(({ quantity }) => quantity === '100').length, 1);
  await expectCode(
    clerk.post('/records/stock/receive', { ...body, QUANTITY: '99' }, key),
    '422 IDEMPOTENCY_KEY_REUSED',
  );
});

test('twenty voids at once, and a cancellation of a cancelled order, leave one record', async () => {
  await stockShop(service, 'voided');
  const boss = await Visitor.make(service, 'voided', 'owner');
  await expectOk(boss.invoice('order-voided'));
  const replies = await Promise.all(
    times(20, (at) => boss.post('/records/orders/void', { ORDER_NUMBER: 'order-voided', REASON: `${at}` })),
  );
  assert.deepEqual(new Set(replies.map(codeIn)), new Set(['200']));
  const create = (): Promise<Reply> =>
    boss.send('PUT', '/dashboard/api/records/orders/create', '{"NOTES":"x"}', { 'idempotency-key': 'one' });
  const [{ body: created }] = [await expectOk(create()), await expectOk(create()), await expectOk(create())];
  for (let count = 0; count < 2; count++)
    await expectOk(boss.post('/records/orders/cancel', { ORDER_NUMBER: created.data }));
  const records = (await auditOf(boss)).map(({ action, target }) => `${action} ${target}`);
  const of = (what: string): number => records.filter((record) => record.startsWith(what)).length;
  assert.deepEqual([of('voidInvoice'), of('createOrder'), of('cancelOrder')], [1, 1, 1], records.join('\n'));
});

test('a text in the audit log has at most 2,000 characters, from every sender', async () => {
  const body = { recordType: 'inventory', file: '€'.repeat(50_000), fields: ['PART_CODE'], rows: [['CUT']] };
  await owner.ask('POST /imports', { ...body, updates: false, isDry: false });
  const { detail } = (await auditOf(owner)).at(-1)!;
  assert.equal(detail['file'], '€'.repeat(2000));
  assert.equal((await owner.ask('GET /audit/verify')).isWhole, true);
});
