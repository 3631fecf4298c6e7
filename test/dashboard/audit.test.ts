/**
 * The audit log: each thing people and the command line do leaves one record of who, what, to what, when and from where, without secrets; and whatever is
 * done to the records by SQL is found by `storeroom audit verify` and by the page, with the number of the first record that is wrong.
 */
import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { stockShop } from '../kit/operations.ts';
import { ownService, type Keys } from '../kit/service.ts';
import { auditOf, BEHIND_PROXY, runSql } from './scene.ts';
import { codeOf, PASSWORD, Visitor } from './visitor.ts';

const NEW_PASSWORD = 'seven copper kites above';

interface Check {
  isWhole: boolean;
  records: number;
  head: string;
  fault: { number: number; reason: string } | null;
}

// Its own, as it breaks what the store keeps.
const service = await ownService({ env: BEHIND_PROXY });

suite('what is in it', () => {
  test('one record for each action: its actor, target, address and time, in order', async () => {
    const { keys } = await stockShop(service, 'shop');
    const owner = await Visitor.make(service, 'shop', 'owner');
    const began = (await auditOf(owner)).length;
    const expected: [action: string, actor: string, target: string, client: string][] = [];
    const { email, client } = owner;
    const expectRecord = (action: string, target: string, actor = email, from = client): void =>
      void expected.push([action, actor, target, from]);
    const ok = async (answering: ReturnType<Visitor['post']>): Promise<any> => { // eslint-disable-line typescript/no-explicit-any -- bodies of all kinds
      const { status, body, text } = await answering;
      assert.equal(status, 200, text);
      return body;
    }; // prettier-ignore
    const startedAt = new Date().toISOString();

    const { link } = (await ok(owner.post('/users', { email: 'ann@shop.example', role: 'viewer' }))) as {
      link: string;
    };
    expectRecord('user invited', 'ann@shop.example');
    const ann = new Visitor(service, 'shop', 'ann@shop.example');
    await ann.open(link.split('#')[1]!);
    expectRecord('password set by link', ann.email, ann.email, ann.client);
    await ok(owner.post('/users/role', { email: ann.email, role: 'developer' }));
    expectRecord('role changed', ann.email);
    await ok(ann.signIn());
    expectRecord('signed in', ann.email, ann.email, ann.client);
    assert.equal((await ann.signIn(NEW_PASSWORD)).status, 401);
    expectRecord('sign-in refused', ann.email, ann.email, ann.client);
    await ok(ann.post('/password', { password: PASSWORD, newPassword: NEW_PASSWORD }));
    expectRecord('password changed', ann.email, ann.email, ann.client);
    const { secret } = (await ok(ann.post('/second-factor/begin'))) as { secret: string };
    await ok(ann.post('/second-factor/enable', { password: NEW_PASSWORD, secret, code: codeOf(secret) }));
    expectRecord('second factor enabled', ann.email, ann.email, ann.client);
    await ok(ann.post('/second-factor/disable', { password: NEW_PASSWORD, code: codeOf(secret, 1) }));
    expectRecord('second factor disabled', ann.email, ann.email, ann.client);
    const other = ann.elsewhere();
    await ok(other.signIn(NEW_PASSWORD));
    expectRecord('signed in', ann.email, ann.email, other.client);
    await ok(ann.post('/sessions/end'));
    expectRecord('sessions ended', ann.email, ann.email, ann.client);
    const issued = (await ok(ann.post('/keys/replace', { overlap: '1h' }))) as Keys;
    expectRecord('keys replaced', issued.apiID, ann.email, ann.client);
    await ok(ann.post('/keys/end', { apiID: keys.apiID }));
    expectRecord('key ended', keys.apiID, ann.email, ann.client);
    await ok(ann.post('/fields', { recordType: 'orders', name: 'GIFT_WRAP', type: 'flag' }));
    expectRecord('field added', 'GIFT_WRAP', ann.email, ann.client);
    await ok(ann.post('/orders/approve', { ORDER_NUMBER: 'order-shop' }));
    expectRecord('order approved', 'order-shop', ann.email, ann.client);
    await ok(ann.post('/orders/invoice', { ORDER_NUMBER: 'order-shop', quantities: {}, serials: {}, tracking: [] }));
    expectRecord('order invoiced', 'order-shop', ann.email, ann.client);
    await ok(ann.post('/sign-out'));
    expectRecord('signed out', ann.email, ann.email, ann.client);
    await ok(owner.post('/settings', { name: 'Shop & Co', defaultStage: 'quote', strict: false }));
    expectRecord('tenant changed', 'shop');
    await ok(owner.post('/users/link', { email: ann.email }));
    expectRecord('link renewed', ann.email);
    await ok(owner.post('/users/remove', { email: ann.email }));
    expectRecord('user removed', ann.email);

    const commands: [words: string[], action: string, target: string][] = [
      [['user', 'create', 'shop', 'bob@shop.example', '--role', 'viewer'], 'user invited', 'bob@shop.example'],
      [['user', 'role', 'shop', 'bob@shop.example', '--role', 'developer'], 'role changed', 'bob@shop.example'],
      [['user', 'link', 'shop', 'bob@shop.example'], 'link renewed', 'bob@shop.example'],
      [['user', 'remove', 'shop', 'bob@shop.example'], 'user removed', 'bob@shop.example'],
      [['tenant', 'set', 'shop', '--quota', '1000'], 'tenant changed', 'shop'],
      [['keys', 'replace', 'shop'], 'keys replaced', ''],
    ];
    for (const [words, action, target] of commands) {
      assert.equal((await service.command(...words)).code, 0, words.join(' '));
      expectRecord(action, target, 'command line', '');
    }
    const records = (await auditOf(owner)).slice(began);
    const seen = records.map(({ action, actor, target, client: from }) => [
      action,
      actor,
      from === '' && action === 'keys replaced' ? '' : target,
      from,
    ]);
    assert.deepEqual(
      seen,
      expected.map((one) => [...one]),
    );
    const times = records.map(({ at }) => at);
    assert.ok(times[0]! >= startedAt && times.at(-1)! <= new Date().toISOString());
    assert.deepEqual(times, times.toSorted());
    const { body } = await owner.get('/audit');
    for (const hidden of [issued.apiSecret, secret, PASSWORD, NEW_PASSWORD, link.split('#')[1]!, owner.token!])
      assert.ok(!JSON.stringify(body).includes(hidden));
    assert.equal((await service.command('audit', 'verify', 'shop')).code, 0);
  });

  test('nothing that was refused, and nothing that only looks', async () => {
    await service.makeTenant('quiet');
    const owner = await Visitor.make(service, 'quiet', 'owner');
    const began = (await auditOf(owner)).length;
    for (const path of [
      '/session',
      '/sessions',
      '/keys',
      '/usage',
      '/requests',
      '/fields',
      '/settings',
      '/users',
      '/audit',
      '/audit/verify',
    ])
      assert.equal((await owner.get(path)).status, 200);
    const refused: [string, object][] = [
      ['/users', { email: owner.email, role: 'owner' }],
      ['/users/remove', { email: owner.email }],
      ['/users/role', { email: owner.email, role: 'viewer' }],
      ['/users/link', { email: 'nobody@quiet.example' }],
      ['/keys/end', { apiID: 'sr_id_x' }],
      ['/fields', { recordType: 'orders', name: 'lower', type: 'text' }],
      ['/orders/approve', { ORDER_NUMBER: 'nothing' }],
      ['/settings', { name: '', defaultStage: 'quote', strict: true }],
    ];
    for (const [path, body] of refused) assert.ok((await owner.post(path, body)).status >= 400, path);
    assert.deepEqual((await auditOf(owner)).slice(began), []);
  });

  test('it is paged newest first, and only an owner is shown it', async () => {
    await service.makeTenant('long');
    const owner = await Visitor.make(service, 'long', 'owner');
    for (let index = 0; index < 110; index++)
      await owner.post('/settings', { name: `Long ${index}`, defaultStage: 'quote', strict: false });
    const first = (await owner.get('/audit')).body as {
      records: { number: number; hash: string }[];
      next: number | null;
    };
    assert.equal(first.records.length, 100);
    const second = (await owner.get('/audit', { before: String(first.next) })).body as typeof first;
    assert.equal(second.next, null);
    const numbers = [...first.records, ...second.records].map(({ number }) => number);
    assert.deepEqual(
      numbers,
      Array.from({ length: numbers.length }, (_, index) => numbers.length - index),
    );
    for (const number of ['0', '-1', 'x', '1e3', ''])
      assert.equal((await owner.get('/audit', { before: number })).status, 400, number);
    assert.deepEqual((await owner.get('/audit', { before: '1' })).body, { records: [], next: null });
    const listed = (await service.command('audit', 'list', 'long', '--json')).json() as { records: object[] };
    assert.deepEqual(listed.records.toReversed(), [...first.records, ...second.records]);
  });
});

suite('tampering', () => {
  const teamID = 'tampered';
  let owner: Visitor;
  let whole: Check;
  /** The log as it was written. */
  let kept: { records: Row[]; heads: Row[] };
  type Row = Record<string, string | number | bigint>;
  const loadRows = async (table: string): Promise<Row[]> =>
    (await runSql(service, `SELECT * FROM @${table} WHERE ${mine()}`)) as Row[];
  before(async () => {
    await service.makeTenant(teamID);
    owner = await Visitor.make(service, teamID, 'owner');
    for (let index = 0; index < 6; index++)
      await owner.post('/settings', { name: `Name ${index}`, defaultStage: 'quote', strict: false });
    kept = { records: await loadRows('AUDIT'), heads: await loadRows('AUDIT_HEADS') };
    whole = await verify(0);
    assert.equal(whole.fault, null);
  });

  async function restore(): Promise<void> {
    for (const [table, rows] of [
      ['AUDIT', kept.records],
      ['AUDIT_HEADS', kept.heads],
    ] as const) {
      // prettier-ignore
      await runSql(service, `DELETE FROM @${table} WHERE ${mine()}`);
      const literal = (value: Row[string]): string =>
        typeof value === 'string' && !/^\d+$/.test(value) ? `'${value.replaceAll("'", "''")}'` : String(value);
      for (const row of rows)
        await runSql(service, `INSERT INTO @${table} VALUES (${Object.values(row).map(literal).join(', ')})`);
    }
  }

  /** What the page says. */
  const look = async (): Promise<Check> => (await owner.get('/audit/verify')).body as Check;
  /** What the command and the page say, which has to be the same. */
  async function verify(exitCode: number): Promise<Check> {
    const { code, stdout } = await service.command('audit', 'verify', teamID, '--json');
    const { teamID: of, ...check } = JSON.parse(stdout) as Check & { teamID: string };
    assert.equal(of, teamID);
    assert.deepEqual(await look(), check, 'the page says something else than the command');
    assert.equal(code, exitCode, stdout);
    assert.equal(check.isWhole, exitCode === 0);
    return check;
  }

  const mine = (): string => `"TEAM_ID" = '${teamID}'`;
  async function dropTriggers(): Promise<void> {
    if (service.databaseUrl !== undefined) await runSql(service, 'DROP TRIGGER IF EXISTS "AUDIT_KEPT" ON @AUDIT');
    else for (const name of ['AUDIT_KEPT', 'AUDIT_WHOLE']) await runSql(service, `DROP TRIGGER IF EXISTS "${name}"`);
  }

  test('a whole log is said to be so, with the hash of its last record, by both', async () => {
    const { body } = await owner.get('/audit');
    assert.deepEqual(whole, { isWhole: true, records: body.records.length, head: body.records[0].hash, fault: null });
    const { stdout } = await service.command('audit', 'verify', teamID);
    assert.ok(stdout.includes(whole.head) && / is intact/.test(stdout), stdout);
    assert.match(whole.head, /^[0-9a-f]{64}$/);
  });

  test('records are not changed and not removed as long as the store’s own guards are there', async () => {
    await assert.rejects(runSql(service, `UPDATE @AUDIT SET "ACTOR" = 'x' WHERE ${mine()}`), /never changed/);
    await assert.rejects(runSql(service, `DELETE FROM @AUDIT WHERE ${mine()}`), /never changed/);
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
  test('a change of any column of a record is found, and where', async () => {
    await dropTriggers();
    for (const [column, value] of Object.entries(CHANGES)) {
      const at = `${mine()} AND "NUMBER" = 5`;
      const [row] = await runSql(service, `SELECT "${column}" AS kept FROM @AUDIT WHERE ${at}`);
      await runSql(service, `UPDATE @AUDIT SET "${column}" = '${value}' WHERE ${at}`);
      const { fault, records } = await look();
      assert.deepEqual([fault?.number, records], [5, 4], column);
      await runSql(service, `UPDATE @AUDIT SET "${column}" = '${row!['kept'] as string}' WHERE ${at}`);
    }
    assert.deepEqual(await verify(0), whole);
    await runSql(service, `UPDATE @AUDIT SET "ACTOR" = 'eve@example.com' WHERE ${mine()} AND "NUMBER" = 3`);
    const { stdout } = await service.command('audit', 'verify', teamID);
    await restore();
    assert.match(stdout, /NOT intact\. Record 3: it is not as it was written/);
  });

  const TAMPERINGS: Record<string, [sql: () => string[], number: (last: number) => number]> = {
    'the first record taken out': [() => [`DELETE FROM @AUDIT WHERE ${mine()} AND "NUMBER" = 1`], () => 1],
    'a record in the middle taken out': [() => [`DELETE FROM @AUDIT WHERE ${mine()} AND "NUMBER" = 4`], () => 4],
    'the last record cut off': [() => [`DELETE FROM @AUDIT WHERE ${mine()} AND "NUMBER" = (SELECT max("NUMBER") FROM @AUDIT WHERE ${mine()})`], (last) => last],
    'all records taken out': [() => [`DELETE FROM @AUDIT WHERE ${mine()}`], () => 1],
    'a record taken out and the gap closed': [
      () => [`DELETE FROM @AUDIT WHERE ${mine()} AND "NUMBER" = 4`, ...[5, 6, 7].map((number) => `UPDATE @AUDIT SET "NUMBER" = ${number - 1} WHERE ${mine()} AND "NUMBER" = ${number}`)],
      () => 4,
    ],
    'a record put in at the end': [
      () => [`INSERT INTO @AUDIT SELECT "TEAM_ID", "NUMBER" + 1, "AT", "ACTOR", "ACTION", "TARGET", "CLIENT", "DETAIL", "HASH" FROM @AUDIT WHERE ${mine()} ORDER BY "NUMBER" DESC LIMIT 1`],
      (last) => last + 1,
    ],
    'a record put in before the first': [
      () => [`INSERT INTO @AUDIT SELECT "TEAM_ID", 0, "AT", "ACTOR", "ACTION", "TARGET", "CLIENT", "DETAIL", "HASH" FROM @AUDIT WHERE ${mine()} AND "NUMBER" = 1`],
      () => 0,
    ],
    'two records swapped': [
      () => [[3, -3], [4, 3], [-3, 4]].map(([from, to]) => `UPDATE @AUDIT SET "NUMBER" = ${to} WHERE ${mine()} AND "NUMBER" = ${from}`),
      () => 3,
    ],
    'the hash of the head changed': [() => [`UPDATE @AUDIT_HEADS SET "HASH" = '${'0'.repeat(64)}' WHERE ${mine()}`], (last) => last],
    'the number of the head put back': [() => [`UPDATE @AUDIT_HEADS SET "NUMBER" = "NUMBER" - 1 WHERE ${mine()}`], (last) => last],
    'the head taken away': [() => [`DELETE FROM @AUDIT_HEADS WHERE ${mine()}`], () => 1],
  }; // prettier-ignore
  for (const [what, [sql, number]] of Object.entries(TAMPERINGS))
    test(`${what} is found, and where`, async () => {
      await dropTriggers();
      for (const statement of sql()) await runSql(service, statement);
      const { fault } = await verify(1);
      await restore();
      assert.deepEqual(await look(), whole);
      assert.equal(fault?.number, number(whole.records), fault?.reason ?? what);
    });
});
