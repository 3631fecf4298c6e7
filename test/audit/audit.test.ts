/** Tests that the check of an audit log finds records that were changed, removed, inserted or swapped in a store. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { hashRecord, verifyAudit } from '../../src/audit/chain.ts';
import type { AuditEntry } from '../../src/audit/audit.ts';
import { folder, newTeam, store } from '../account/people.ts';

const RECORDS = 40;
const TAMPERINGS = 1000;
const FIELDS = ['AT', 'ACTOR', 'ACTION', 'TARGET', 'CLIENT', 'DETAIL', 'HASH'] as const;

let seed = 20261120;
/** Returns a pseudo-random integer from 0 to `below` - 1. Every run gets the same sequence. */
function pick(below: number): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
}

const entryOf = (number: number): AuditEntry => ({
  at: `2026-11-20T09:30:${String(number % 60).padStart(2, '0')}.000Z`,
  actor: number % 3 === 0 ? 'command line' : `user${number % 5}@example.com`,
  action: ['signed in', 'keys.replaced', 'sign-in refused'][number % 3]!,
  target: number % 2 === 0 ? '' : 'Ünïcödé "quoted" \\ target',
  client: number % 4 === 0 ? '' : '192.0.2.1',
  detail: number % 5 === 0 ? {} : { factor: 'totp', note: `number ${number}` },
});

/** Triggers prevent mistakes, but anyone who can write to the file can drop them. The hashes reveal such changes. */
function dropTriggers(db: DatabaseSync): void {
  const triggers = `SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'AUDIT'`;
  for (const { name } of db.prepare(triggers).all()) db.exec(`DROP TRIGGER "${String(name)}"`);
}

async function writeLog(records: number): Promise<string> {
  const teamId = await newTeam();
  for (let number = 1; number <= records; number++) await store.audit.appendAudit(teamId, entryOf(number));
  return teamId;
}

/** Tampers with the log once, as someone with write access to the file could, and returns what was done. */
function tamper(db: DatabaseSync, teamId: string): string {
  const number = 1 + pick(RECORDS);
  const where = `"TEAM_ID" = '${teamId}' AND "NUMBER" = `;
  const columns = (at: string | number, action: string, hash: string): string =>
    `"TEAM_ID", ${at}, "AT", "ACTOR", ${action}, "TARGET", "CLIENT", "DETAIL", ${hash}`;
  const insert = (at: number, from: number, hash: string): void => {
    db.exec(
      `INSERT INTO "AUDIT" (${columns('"NUMBER"', '"ACTION"', '"HASH"')})
       SELECT ${columns(at, "'put in'", hash)} FROM "AUDIT" WHERE ${where}${from}`,
    );
  };
  const move = (from: number, to: number): void => {
    db.exec(`UPDATE "AUDIT" SET "NUMBER" = ${to} WHERE ${where}${from}`);
  };
  const hashAt = (at: number): string =>
    String(db.prepare(`SELECT "HASH" FROM "AUDIT" WHERE ${where}${at}`).get()?.['HASH'] ?? '');
  switch (pick(7)) {
    case 0: {
      const field = FIELDS[pick(FIELDS.length)]!;
      const value = String(db.prepare(`SELECT "${field}" FROM "AUDIT" WHERE ${where}${number}`).get()![field]);
      const at = pick(value.length);
      const changed =
        field === 'DETAIL'
          ? JSON.stringify({ ...(JSON.parse(value) as object), factor: `other${pick(9)}` })
          : `${value.slice(0, at)}${value[at] === 'x' ? 'y' : 'x'}${value.slice(at + 1)}`;
      db.prepare(`UPDATE "AUDIT" SET "${field}" = ? WHERE ${where}${number}`).run(changed);
      return `${field} of ${number} changed to ${changed}`;
    }
    case 1: {
      const which = [1, RECORDS, number][pick(3)]!;
      db.exec(`DELETE FROM "AUDIT" WHERE ${where}${which}`);
      return `${which} taken out`;
    }
    case 2: {
      // Removes a record and moves the later ones up.
      db.exec(`DELETE FROM "AUDIT" WHERE ${where}${number}`);
      for (let next = number + 1; next <= RECORDS; next++) move(next, next - 1);
      return `${number} taken out, the rest moved up`;
    }
    case 3: {
      for (let next = RECORDS; next >= number; next--) move(next, next + 1);
      insert(number, number + 1, `'${'0'.repeat(64)}'`);
      return `put in at ${number}, the rest moved down`;
    }
    case 4: {
      // The hash is right for its place, so only the head or the number shows that the record was inserted.
      const [at, before] = pick(2) === 0 ? [RECORDS + 1, hashAt(RECORDS)] : [-pick(3), ''];
      insert(at, number, `'${hashRecord(teamId, at, before, { ...entryOf(number), action: 'put in' })}'`);
      return `put in as ${at}`;
    }
    case 5: {
      const other = 1 + ((number + pick(RECORDS - 1)) % RECORDS);
      move(number, 1_000_000);
      move(other, number);
      move(1_000_000, other);
      return `${number} and ${other} swapped`;
    }
    default: {
      const [column, value] =
        pick(2) === 0
          ? ['NUMBER', String(RECORDS + (pick(2) === 0 ? 1 : -1 - pick(RECORDS)))]
          : ['HASH', `'${hashAt(1 + pick(RECORDS - 1))}'`];
      db.exec(`UPDATE "AUDIT_HEADS" SET "${column}" = ${value} WHERE "TEAM_ID" = '${teamId}'`);
      return `head: ${column} is ${value}`;
    }
  }
}

suite('the audit log', () => {
  test('an untouched log passes the check, whether empty, short or of several pages', async () => {
    for (const records of [0, 1, 3, 501]) {
      const teamId = await writeLog(records);
      const { number, hash } = await store.audit.loadAuditHead(teamId);
      const found = [number, await verifyAudit(store.audit, teamId)];
      assert.deepEqual(found, [records, { records, head: hash, fault: null }]);
    }
  });

  test('its check ends when no caller waits for it', async () => {
    const checking = verifyAudit(store.audit, await writeLog(1), { ended: AbortSignal.abort() });
    await assert.rejects(checking, { name: 'AbortError' });
  });

  test('it passes the check while it is being written', async () => {
    const teamId = await writeLog(3);
    const writing = (async () => {
      for (let number = 4; number <= 60; number++) await store.audit.appendAudit(teamId, entryOf(number));
    })();
    for (let count = 0; count < 60; count++) assert.equal((await verifyAudit(store.audit, teamId)).fault, null);
    await writing;
    assert.equal((await verifyAudit(store.audit, teamId)).records, 60);
  });

  test(`all of ${TAMPERINGS} tamperings are found: changed, taken out, put in, swapped, another head`, async () => {
    const teamId = await writeLog(RECORDS);
    using db = new DatabaseSync(join(folder, 'control.db'));
    dropTriggers(db);
    const tables = ['AUDIT', 'AUDIT_HEADS'];
    for (const table of tables)
      db.exec(`CREATE TEMP TABLE "KEPT_${table}" AS SELECT * FROM main."${table}" WHERE "TEAM_ID" = '${teamId}'`);
    const kinds = new Set<string>();
    for (let count = 0; count < TAMPERINGS; count++) {
      db.exec('BEGIN IMMEDIATE');
      const what = tamper(db, teamId);
      db.exec('COMMIT');
      const { fault } = await verifyAudit(store.audit, teamId);
      assert.ok(fault, `Not found: ${what}`);
      kinds.add(fault.reason.replaceAll(/\d+/g, 'n'));
      db.exec('BEGIN IMMEDIATE');
      for (const table of tables) {
        db.exec(`DELETE FROM main."${table}" WHERE "TEAM_ID" = '${teamId}'`);
        db.exec(`INSERT INTO main."${table}" SELECT * FROM "KEPT_${table}"`);
      }
      db.exec('COMMIT');
    }
    assert.equal(kinds.size, 6, [...kinds].join('; '));
    assert.equal((await verifyAudit(store.audit, teamId)).fault, null);
  });

  test('a kept hash detects a log that was rewritten as a whole, and one whose last records were deleted', async () => {
    const [one, other] = [await writeLog(5), await writeLog(5)];
    const { head: kept } = await verifyAudit(store.audit, one);
    assert.deepEqual((await verifyAudit(store.audit, other, { kept })).fault?.number, 6);
    await store.audit.appendAudit(one, entryOf(6));
    assert.equal((await verifyAudit(store.audit, one, { kept })).fault, null, 'the log has grown since');
    const teamId = await writeLog(23);
    const last = (await verifyAudit(store.audit, teamId)).head;
    using db = new DatabaseSync(join(folder, 'control.db'));
    dropTriggers(db);
    db.exec(`DELETE FROM AUDIT WHERE TEAM_ID = '${teamId}' AND NUMBER > 20`);
    db.exec(`UPDATE AUDIT_HEADS SET NUMBER = 20, HASH = (SELECT HASH FROM AUDIT WHERE TEAM_ID = '${teamId}' AND NUMBER = 20)
      WHERE TEAM_ID = '${teamId}'`);
    assert.equal((await verifyAudit(store.audit, teamId)).fault, null, 'no one can see it without the hash');
    const { records, fault } = await verifyAudit(store.audit, teamId, { kept: last });
    assert.deepEqual([records, fault?.number], [20, 21]);
    assert.match(fault!.reason, /^it is missing, or .*: none has the hash/);
  });
});
