/**
 * Tests that `storeroom check` finds what is wrong and nothing else: a store in use has no findings, each kind of
 * damage planted in its tables is reported with its place and a remedy, and what cannot be checked is no finding.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, suite, test } from 'node:test';
import { times } from '../kit/lists.ts';
import { createOrder } from '../kit/orders.ts';
import { runStatement } from '../kit/postgres.ts';
import { ownService, runCommand, STORE, temporaryFolder } from '../kit/service.ts';

interface Report {
  isWhole: boolean;
  findings: { place: string; what: string; remedy: string }[];
  count: number;
  notes: string[];
  orders: number;
  lines: number;
}

const service = await ownService();
const keys = await service.makeTenant('shop');

async function check(): Promise<{ code: number | null; report: Report }> {
  const { code, json, stderr } = await service.command('check', '--json');
  assert.equal(stderr, '');
  return { code, report: json() as Report };
}

async function write(path: string, body: object, key?: string): Promise<unknown> {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  const answer = await service.call(keys, 'PUT', path, { body, headers });
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data;
}

/** Runs a statement with the store's own tools. `control`, `usage` and `requests` are files of the embedded store. */
async function damage(part: 'control' | 'usage' | 'requests' | 'tenant', statement: (table: string) => string) {
  if (STORE === 'sqlite') {
    const control = new DatabaseSync(join(service.place, 'control.db'));
    const [{ STORE_ID }] = control.prepare('SELECT STORE_ID FROM TENANTS').all() as [{ STORE_ID: string }];
    control.close();
    const file = part === 'tenant' ? join('tenants', `${STORE_ID}.db`) : `${part}.db`;
    const db = new DatabaseSync(join(service.place, file), { timeout: 5000 });
    db.exec(statement(''));
    db.close();
    return;
  }
  const [tenant] = await runStatement(service.place, 'SELECT "STORE_ID" FROM storeroom."TENANTS"');
  await runStatement(service.place, statement(part === 'tenant' ? `${tenant!['STORE_ID'] as string}.` : 'storeroom.'));
}

suite('check', () => {
  before(async () => {
    const parts = join(temporaryFolder(), 'parts.csv');
    writeFileSync(parts, 'PART_CODE,QTY_ONHAND,UNIT_PRICE\nLAMP,10,2.5\nBULB,100,0.1\n');
    assert.equal((await service.command('import', 'shop', 'inventory', parts)).code, 0);
    for (let count = 0; count < 6; count++) {
      const sent = { ORDER_TYPE: count % 2 ? 'sales_order' : 'quote', FREIGHT: '1.25' };
      const ORDER_NUMBER = (await write('/orders/create', sent, `key-${count}`)) as string;
      for (const PART_CODE of ['LAMP', 'BULB'])
        await write('/orders/line_item', { ORDER_NUMBER, PART_CODE, QUANTITY: `${count + 1}`, DISCOUNT: '10' });
    }
    await write('/customers/create', { CUSTOMER_NAME: 'Ann' }, 'customer');
    assert.equal((await service.command('order', 'approve', 'shop', '10001')).code, 0);
    assert.equal((await service.command('order', 'invoice', 'shop', '10002', '--line', '1=1')).code, 0);
  });

  test('of a store that is being written finds nothing, and says what it has checked', async () => {
    const stop = new AbortController();
    const writing = (async (): Promise<void> => {
      while (!stop.signal.aborted) await createOrder(service, keys, { ORDER_TYPE: 'sales_order' });
    })();
    const { code, report } = await check();
    stop.abort();
    await writing;
    assert.deepEqual([code, report.findings, report.count, report.isWhole], [0, [], 0, true]);
    assert.ok(report.orders >= 7 && report.lines === 13, JSON.stringify(report));
    const { stdout } = await service.command('check');
    assert.match(stdout, /^Checked \d+ orders with 13 lines \(tenants: 1\) in .* s: all is well\.\n$/);
  });

  if (STORE === 'postgres')
    test('reports an invalid index', async () => {
      const whole = (await service.command('check', '--json')).json() as Report;
      assert.deepEqual([whole.count, whole.notes], [0, []]);
      const index = `'storeroom."API_KEYS_TEAM_ID"'::regclass`;
      const setValid = (isValid: boolean) =>
        runStatement(service.place, `UPDATE pg_index SET indisvalid = ${isValid} WHERE indexrelid = ${index}`);
      await setValid(false);
      const { code, report } = await check();
      await setValid(true);
      assert.deepEqual([code, report.count], [1, 1]);
      assert.match(report.findings[0]!.what, /not valid/);
      assert.match(report.findings[0]!.remedy, /^REINDEX INDEX CONCURRENTLY storeroom\."API_KEYS_TEAM_ID"/);
    });

  test('finds each kind of damage, with its place and what to do', async () => {
    // The service writes its counts and its log before it ends.
    await service.stop();
    const orders = (set: string, number: string) => (schema: string) =>
      `UPDATE ${schema}"ORDERS" SET ${set} WHERE "ORDER_NUMBER" = '${number}'`;
    await damage(
      'usage',
      (schema) => `UPDATE ${schema}"USAGE" SET "CALLS" = "CALLS" + 1 WHERE "OPERATION" = 'addLineItem'`,
    );
    const pairs = STORE === 'sqlite' ? `"MONTH_USAGE"` : '"KEY_USAGE"';
    await damage('usage', (schema) => `UPDATE ${schema}${pairs} SET "CALLS" = "CALLS" + 5000 WHERE "API_ID" <> ''`);
    await damage('control', (schema) => `UPDATE ${schema}"AUDIT_HEADS" SET "HASH" = 'another'`);
    const broken = STORE === 'sqlite' ? "x'5b00'" : "'\\x5b00'";
    await damage('requests', (schema) => `UPDATE ${schema}"REQUESTS" SET "LINES" = ${broken}`);
    await damage('tenant', orders('"SUBTOTAL" = \'999\'', '10001'));
    await damage('tenant', orders('"ORDER_TYPE" = \'sold\'', '10003'));
    await damage('tenant', orders('"SORT_KEY" = \'elsewhere\'', '10004'));
    await damage(
      'tenant',
      (schema) =>
        `UPDATE ${schema}"ORDER_LINEITEMS" SET "SORT_KEY" = 'x' WHERE "ORDER_NUMBER" = '10002' AND "LINE_NUMBER" = 1`,
    );
    await damage('tenant', (schema) => `DELETE FROM ${schema}"ORDERS" WHERE "ORDER_NUMBER" = '10006'`);
    await damage(
      'tenant',
      (schema) => `UPDATE ${schema}"ORDER_LINEITEMS" SET "LINE_REF_LOCK_CODE" = 'one' WHERE "ORDER_NUMBER" = '10005'`,
    );
    await damage(
      'tenant',
      (schema) => `UPDATE ${schema}"INVENTORY" SET "QTY_COMMITTED" = '77' WHERE "PART_CODE" = 'LAMP'`,
    );
    await damage('tenant', (schema) => `UPDATE ${schema}"MOVEMENTS" SET "QUANTITY" = '11' WHERE "PART_CODE" = 'LAMP'`);
    await damage(
      'tenant',
      (schema) => `UPDATE ${schema}"INVENTORY" SET "QTY_AVAILABLE" = '1' WHERE "PART_CODE" = 'BULB'`,
    );
    await damage('tenant', (schema) => `UPDATE ${schema}"INVENTORY" SET "SORT_KEY" = 'x' WHERE "PART_CODE" = 'BULB'`);
    await damage('tenant', (schema) => `UPDATE ${schema}"INVENTORY" SET "SERIALIZED" = 'Y' WHERE "PART_CODE" = 'LAMP'`);
    const serials = [...times(20, (at) => `('LAMP', 'S${at}', '')`), `('BULB', 'S', '10001')`].join();
    await damage('tenant', (schema) => `INSERT INTO ${schema}"SERIALS" VALUES ${serials}`);
    await damage('tenant', (schema) => `UPDATE ${schema}"COUNTERS" SET "NEXT" = 10003 WHERE "NAME" = 'orders'`);
    // This is the number of the only customer, so the next one would get it again.
    await damage('tenant', (schema) => `UPDATE ${schema}"COUNTERS" SET "NEXT" = 10001 WHERE "NAME" = 'customers'`);
    await damage(
      'tenant',
      (schema) => `UPDATE ${schema}"IDEMPOTENCY" SET "ANSWER" = 'x' WHERE "IDEMPOTENCY_KEY" = 'customer'`,
    );

    const { code, report } = await check();
    assert.deepEqual([code, report.isWhole], [1, false]);
    const told = report.findings.map(({ place, what }) => `${place}: ${what}`);
    for (const expected of [
      /^counts of shop: the days of \d{4}-\d\d add up to \d+ calls, but the month has \d+$/,
      /^counts of shop: its keys have \d+ calls in .*, but the tenant has \d+$/,
      /^audit log of shop: record \d+: it is not the last record that the service wrote$/,
      /^order 10001 of shop: SUBTOTAL is 999, but its lines add up to 2\.34$/,
      /^order 10002 of shop: its line 1 cannot be found$/,
      /^order 10003 of shop: its stage 'sold' does not exist$/,
      /^order 10004 of shop: it cannot be found by its number$/,
      /^order 10005 of shop: two lines have the same lock code$/,
      /^order 10006 of shop: the order is missing, but 2 of its lines exist$/,
      /^part LAMP of shop: QTY_COMMITTED is 77, but open sales orders hold \d+$/,
      /^part LAMP of shop: QTY_ONHAND is \d+, but its movements add up to \d+$/,
      /^part BULB of shop: QTY_AVAILABLE is 1, but on hand minus committed is \d+$/,
      /^part BULB of shop: it cannot be found by its code$/,
      /^part LAMP of shop: QTY_ONHAND is \d+, but 20 serial numbers are in stock$/,
      /^part BULB of shop: its serial number S is sold on order 10001, which is no valid invoice$/,
      /^numbers of shop: the next number of orders is 10003, but \d+ is already in use$/,
      /^numbers of shop: the next number of customers is 10001, but 10001 is already in use$/,
      /^stored responses of shop: the response to createCustomer with the key "customer" is not JSON$/,
      /^stored responses of shop: createOrder returned "10006", which does not exist$/,
    ])
      assert.ok(
        told.some((one) => expected.test(one)),
        `${expected.source} in\n${told.join('\n')}`,
      );
    for (const noted of [
      /^Request log of shop: block .*: it cannot be read/,
      /^Request log of shop: its blocks have \d+ bytes/,
    ])
      assert.ok(
        report.notes.some((note) => noted.test(note)),
        report.notes.join('\n'),
      );
    for (const { place, remedy } of report.findings) assert.ok(remedy.length > 10, place);
    const { stdout, code: again } = await service.command('check');
    assert.equal(again, 1);
    assert.match(stdout, /part LAMP of shop: QTY_COMMITTED is 77.*\n {2}Correct the record/);
  });

  test('ends with 2 and says why if there is nothing to check, or the store has a newer version', async () => {
    const folder = temporaryFolder();
    const none = await runCommand(STORE === 'sqlite' ? folder : 'postgres://shop:x@127.0.0.1:1/none', ['check']);
    assert.deepEqual([none.code, none.stdout], [2, '']);
    assert.match(none.stderr, STORE === 'sqlite' ? /There is no data in/ : /cannot be used: .*ECONNREFUSED/);
    const newer = (schema: string): string => `UPDATE ${schema}"SCHEMA" SET "VERSION" = 9999`;
    await damage('usage', STORE === 'sqlite' ? () => 'PRAGMA user_version=9999' : newer);
    const { code, stdout, stderr } = await service.command('check');
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /written by a newer version/);
  });
});
