/**
 * Tests the audit log: each action of a person or the command line leaves one record without secrets. `storeroom audit
 * verify` and the page find every change that SQL makes to the records, and name the first wrong record.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import type { AnswerOf } from '../../src/http/dashboard/interface.ts';
import { pick, range, valuesOf } from '../kit/lists.ts';
import { stockShop } from '../kit/operations.ts';
import { ownService, temporaryFolder } from '../kit/service.ts';
import { auditOf, BEHIND_PROXY, runSql } from './scene.ts';
import { codeOf, expectCode, expectOk, NEW_PASSWORD, PASSWORD, tokenOf, Visitor } from './visitor.ts';

type Check = AnswerOf<'GET /audit/verify'>;

// The file has its own service because it damages stored data.
const service = await ownService({ env: BEHIND_PROXY });

suite('its records', () => {
  test('one record for each action: its actor, target, address and time, in order', async () => {
    const { keys } = await stockShop(service, 'shop');
    const owner = await Visitor.make(service, 'shop', 'owner');
    const began = (await auditOf(owner)).length;
    const expected: Record<'action' | 'target' | 'actor' | 'client', string>[] = [];
    const expectRecord = (action: string, target: string, by = { email: 'command line', client: '' }): void =>
      void expected.push({ action, target, actor: by.email, client: by.client });
    const startedAt = service.timeAt();

    const token = tokenOf(await owner.ask('POST /users', { email: 'ann@shop.example', role: 'viewer' }));
    expectRecord('user invited', 'ann@shop.example', owner);
    const ann = new Visitor(service, 'shop', 'ann@shop.example');
    await ann.open(token);
    expectRecord('password set by link', ann.email, ann);
    await owner.ask('POST /users/role', { email: ann.email, role: 'developer' });
    expectRecord('role changed', ann.email, owner);
    await expectOk(ann.signIn());
    expectRecord('signed in', ann.email, ann);
    await expectCode(ann.signIn(NEW_PASSWORD), '401 SIGN_IN_REFUSED');
    expectRecord('sign-in refused', ann.email, ann);
    await ann.ask('POST /password', { password: PASSWORD, newPassword: NEW_PASSWORD });
    expectRecord('password changed', ann.email, ann);
    const password = NEW_PASSWORD;
    const { secret } = await ann.ask('POST /second-factor/begin');
    await ann.ask('POST /second-factor/enable', { password, secret, code: codeOf(secret, service) });
    expectRecord('second factor enabled', ann.email, ann);
    await ann.ask('POST /second-factor/disable', { password, code: codeOf(secret, service, 1) });
    expectRecord('second factor disabled', ann.email, ann);
    const other = ann.elsewhere();
    await expectOk(other.signIn(password));
    expectRecord('signed in', ann.email, other);
    await ann.ask('POST /sessions/end');
    expectRecord('sessions ended', ann.email, ann);
    const issued = await ann.ask('POST /keys/replace', { overlap: '1h' });
    expectRecord('keys replaced', issued.apiID, ann);
    await ann.ask('POST /keys/end', { apiID: keys.apiID });
    expectRecord('key ended', keys.apiID, ann);
    const created = await ann.ask('POST /keys', { name: 'reports', scope: 'read' });
    expectRecord('keys created', created.apiID, ann);
    await ann.ask('POST /fields', { recordType: 'orders', name: 'GIFT_WRAP', type: 'flag' });
    expectRecord('field added', 'GIFT_WRAP', ann);
    await expectOk(ann.post('/records/orders/approve', { ORDER_NUMBER: 'order-shop' }));
    expectRecord('approveOrder', 'order-shop', ann);
    await expectOk(ann.invoice('order-shop'));
    expectRecord('invoiceOrder', 'order-shop', ann);
    await ann.ask('POST /sign-out');
    expectRecord('signed out', ann.email, ann);
    await owner.ask('POST /settings', { name: 'Shop & Co', defaultStage: 'quote', strict: false });
    expectRecord('tenant changed', 'shop', owner);
    await owner.ask('POST /users/link', { email: ann.email });
    expectRecord('link renewed', ann.email, owner);
    await owner.ask('POST /users/remove', { email: ann.email });
    expectRecord('user removed', ann.email, owner);

    const commands: [line: string, action: string, target: string][] = [
      ['user create shop bob@shop.example --role viewer', 'user invited', 'bob@shop.example'],
      ['user role shop bob@shop.example --role developer', 'role changed', 'bob@shop.example'],
      ['user link shop bob@shop.example', 'link renewed', 'bob@shop.example'],
      ['user remove shop bob@shop.example', 'user removed', 'bob@shop.example'],
      ['tenant set shop --quota 1000', 'tenant changed', 'shop'],
      ['keys replace shop', 'keys replaced', ''],
    ];
    for (const [line, action, target] of commands) {
      assert.equal((await service.command(...line.split(' '))).code, 0, line);
      expectRecord(action, target);
    }
    const records = (await auditOf(owner)).slice(began);
    expected.at(-1)!.target = records.at(-1)!.target; // the new API ID, which this test does not know
    assert.deepEqual(pick(records, 'action', 'target', 'actor', 'client'), expected);
    const at = valuesOf(records, 'at');
    assert.ok(at[0]! >= startedAt && at.at(-1)! <= service.timeAt());
    assert.deepEqual(at, at.toSorted());
    const { body } = await owner.get('/audit');
    for (const hidden of [issued.apiSecret, secret, PASSWORD, NEW_PASSWORD, token, owner.token!])
      assert.ok(!JSON.stringify(body).includes(hidden));
    assert.equal((await service.command('audit', 'verify', 'shop')).code, 0);
  });

  test('a command that creates a tenant or imports rows has a record, and an empty import has none', async () => {
    await service.makeTenant('made');
    const folder = temporaryFolder();
    const importRows = async (csv: string, ...options: string[]): Promise<number | null> => {
      const file = join(folder, 'parts.csv');
      writeFileSync(file, csv);
      return (await service.command('import', 'made', 'inventory', file, ...options)).code;
    };
    assert.equal(await importRows('PART_CODE,UNIT_PRICE\nA,1\nB,1\n'), 0);
    assert.equal(await importRows('PART_CODE,UNIT_PRICE\nC,1\nA,1\nD,x\n', '--partial'), 1);
    assert.equal(await importRows('PART_CODE,UNIT_PRICE\nE,1\nA,1\n'), 1);
    assert.equal(await importRows('PART_CODE,WRONG\nE,1\n'), 1);
    assert.equal((await service.command('tenant', 'create', 'made')).code, 1);
    const records = await auditOf(await Visitor.make(service, 'made', 'owner'));
    const told = records.filter(({ action }) => /created|imported/.test(action));
    const actor = { actor: 'command line', client: '' };
    const imported = { ...actor, action: 'records imported', target: 'inventory' };
    assert.deepEqual(pick(told, 'action', 'target', 'actor', 'client', 'detail'), [
      { ...actor, action: 'tenant created', target: 'made', detail: { name: 'Tenant made' } },
      { ...imported, detail: { file: 'parts.csv', imported: '2', updated: '0', rejected: '0' } },
      { ...imported, detail: { file: 'parts.csv', imported: '1', updated: '0', rejected: '2' } },
    ]);
    assert.equal((await service.command('audit', 'verify', 'made')).code, 0);
  });

  test('refused actions and reads have no record', async () => {
    await service.makeTenant('quiet');
    const owner = await Visitor.make(service, 'quiet', 'owner');
    const began = (await auditOf(owner)).length;
    for (const path of 'session sessions keys usage requests fields settings users audit audit/verify'.split(' '))
      await expectOk(owner.get(`/${path}`));
    const refused: [string, object][] = [
      ['/users', { email: owner.email, role: 'owner' }],
      ['/users/remove', { email: owner.email }],
      ['/users/role', { email: owner.email, role: 'viewer' }],
      ['/users/link', { email: 'nobody@quiet.example' }],
      ['/keys/end', { apiID: 'sr_id_x' }],
      ['/keys', { name: 'default', scope: 'read' }],
      ['/fields', { recordType: 'orders', name: 'lower', type: 'text' }],
      ['/records/orders/approve', { ORDER_NUMBER: 'nothing' }],
      ['/settings', { name: '', defaultStage: 'quote', strict: true }],
    ];
    for (const [path, body] of refused) assert.ok((await owner.post(path, body)).status >= 400, path);
    assert.deepEqual((await auditOf(owner)).slice(began), []);
  });

  test('it is paged newest first, and only owners can read it', async () => {
    await service.makeTenant('long');
    const owner = await Visitor.make(service, 'long', 'owner');
    for (let index = 0; index < 110; index++)
      await owner.post('/settings', { name: `Long ${index}`, defaultStage: 'quote', strict: false });
    const first = await owner.ask('GET /audit');
    assert.equal(first.records.length, 100);
    const second = await owner.ask('GET /audit', { before: String(first.next) });
    assert.equal(second.next, null);
    const records = [...first.records, ...second.records];
    assert.deepEqual(valuesOf(records, 'number'), range(records.length).toReversed());
    for (const number of ['0', '-1', 'x', '1e3', ''])
      assert.equal((await owner.get('/audit', { before: number })).status, 400, number);
    assert.deepEqual(await owner.ask('GET /audit', { before: '1' }), { records: [], next: null });
    const listed = (await service.command('audit', 'list', 'long', '--json')).json() as { records: object[] };
    assert.deepEqual(listed.records.toReversed(), records);
  });
});

suite('tampering', () => {
  const teamID = 'tampered';
  const MINE = `"TEAM_ID" = '${teamID}'`;
  let owner: Visitor;
  let whole: Check;
  /** The rows of the log before the tests change them. */
  let kept: Record<'AUDIT' | 'AUDIT_HEADS', Row[]>;
  type Row = Record<string, string | number | bigint>;
  const loadRows = async (table: string): Promise<Row[]> =>
    (await runSql(service, `SELECT * FROM @${table} WHERE ${MINE}`)) as Row[];
  before(async () => {
    await service.makeTenant(teamID);
    owner = await Visitor.make(service, teamID, 'owner');
    for (let index = 0; index < 6; index++)
      await owner.post('/settings', { name: `Name ${index}`, defaultStage: 'quote', strict: false });
    kept = { AUDIT: await loadRows('AUDIT'), AUDIT_HEADS: await loadRows('AUDIT_HEADS') };
    whole = await verify(0);
    assert.equal(whole.fault, null);
  });

  async function restore(): Promise<void> {
    for (const [table, rows] of Object.entries(kept)) {
      await runSql(service, `DELETE FROM @${table} WHERE ${MINE}`);
      const literal = (value: Row[string]): string =>
        typeof value === 'string' && !/^\d+$/.test(value) ? `'${value.replaceAll("'", "''")}'` : String(value);
      for (const row of rows)
        await runSql(service, `INSERT INTO @${table} VALUES (${Object.values(row).map(literal).join(', ')})`);
    }
  }

  /** Returns the result that the page shows. */
  const look = (): Promise<Check> => owner.ask('GET /audit/verify');
  /** Returns the result of the command, and checks that the page shows the same. */
  async function verify(exitCode: number): Promise<Check> {
    const { code, stdout } = await service.command('audit', 'verify', teamID, '--json');
    const { teamID: of, ...check } = JSON.parse(stdout) as Check & { teamID: string };
    assert.equal(of, teamID);
    assert.deepEqual(await look(), check, 'the page says something else than the command');
    assert.equal(code, exitCode, stdout);
    assert.equal(check.isWhole, exitCode === 0);
    return check;
  }

  async function dropTriggers(): Promise<void> {
    if (service.databaseUrl !== undefined) await runSql(service, 'DROP TRIGGER IF EXISTS "AUDIT_KEPT" ON @AUDIT');
    else for (const name of ['AUDIT_KEPT', 'AUDIT_WHOLE']) await runSql(service, `DROP TRIGGER IF EXISTS "${name}"`);
  }

  test('page and command both report a whole log, with the hash of its last record', async () => {
    const { records } = await owner.ask('GET /audit');
    assert.deepEqual(whole, { isWhole: true, records: records.length, head: records[0]!.hash, fault: null });
    const { stdout } = await service.command('audit', 'verify', teamID);
    assert.ok(stdout.includes(whole.head) && / is intact/.test(stdout), stdout);
    assert.match(whole.head, /^[0-9a-f]{64}$/);
  });

  test('records cannot be changed or deleted while the triggers of the store exist', async () => {
    await assert.rejects(runSql(service, `UPDATE @AUDIT SET "ACTOR" = 'x' WHERE ${MINE}`), /never changed/);
    await assert.rejects(runSql(service, `DELETE FROM @AUDIT WHERE ${MINE}`), /never changed/);
    assert.deepEqual(await verify(0), whole);
  });

  const CHANGES = {
    AT: '2020-01-01T00:00:00.000Z',
    ACTOR: 'eve@example.com',
    ACTION: 'signed in',
    TARGET: 'x',
    CLIENT: '10.9.9.9',
    DETAIL: '{}',
    HASH: 'f'.repeat(64),
  };
  test('a change of any column of a record is found, with its place', async () => {
    await dropTriggers();
    for (const [column, value] of Object.entries(CHANGES)) {
      const at = `${MINE} AND "NUMBER" = 5`;
      const [row] = await runSql(service, `SELECT "${column}" AS kept FROM @AUDIT WHERE ${at}`);
      await runSql(service, `UPDATE @AUDIT SET "${column}" = '${value}' WHERE ${at}`);
      const { fault, records } = await look();
      assert.deepEqual([fault?.number, records], [5, 4], column);
      await runSql(service, `UPDATE @AUDIT SET "${column}" = '${row!['kept'] as string}' WHERE ${at}`);
    }
    assert.deepEqual(await verify(0), whole);
    await runSql(service, `UPDATE @AUDIT SET "ACTOR" = 'eve@example.com' WHERE ${MINE} AND "NUMBER" = 3`);
    const { stdout } = await service.command('audit', 'verify', teamID);
    await restore();
    assert.match(stdout, /NOT intact\. Record 3: it was changed after it was written/);
  });

  const last = `(SELECT max("NUMBER") FROM @AUDIT WHERE ${MINE})`;
  const copy = (at: string, from: string): string =>
    `INSERT INTO @AUDIT SELECT "TEAM_ID", ${at}, "AT", "ACTOR", "ACTION", "TARGET", "CLIENT", "DETAIL", "HASH", NULL
     FROM @AUDIT WHERE ${MINE} AND "NUMBER" = ${from}`;
  const setHead = (what: string): string => `UPDATE @AUDIT_HEADS SET ${what} WHERE ${MINE}`;
  /** The statements of each change, and the number of the first wrong record that the check has to report. */
  const TAMPERINGS: Record<string, [sql: string[], number: number | `last${'' | ' + 1'}`]> = {
    'the last record cut off': [[`DELETE FROM @AUDIT WHERE ${MINE} AND "NUMBER" = ${last}`], 'last'],
    'all records taken out': [[`DELETE FROM @AUDIT WHERE ${MINE}`], 1],
    'a record put in at the end': [[copy('"NUMBER" + 1', last)], 'last + 1'],
    'a record put in before the first': [[copy('0', '1')], 0],
    'the number of the head put back': [[setHead('"NUMBER" = "NUMBER" - 1')], 'last'],
    'the head taken away': [[`DELETE FROM @AUDIT_HEADS WHERE ${MINE}`], 1],
  };
  for (const [what, [sql, number]] of Object.entries(TAMPERINGS))
    test(`${what} is found, with its place`, async () => {
      await dropTriggers();
      for (const statement of sql) await runSql(service, statement);
      const { fault } = await verify(1);
      await restore();
      assert.deepEqual(await look(), whole);
      const told = typeof number === 'number' ? number : whole.records + (number === 'last' ? 0 : 1);
      assert.equal(fault?.number, told, fault?.reason ?? what);
    });
});
