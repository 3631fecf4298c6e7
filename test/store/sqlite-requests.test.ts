/** Tests the file of the request log: the first request makes it, its size is bounded, backups and moves include it. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { RequestLog } from '../../src/request-log/request-log.ts';
import type { RequestBlock } from '../../src/request-log/request-log-port.ts';
import { moveStore } from '../../src/store/move/move.ts';
import { openMoveStore } from '../../src/store/open-store.ts';
import { backupStore, restoreBackup } from '../../src/store/sqlite/backup/backup.ts';
import { times } from '../kit/lists.ts';
import { newDatabase } from '../kit/postgres.ts';
import { newFolder, openFolder, openForAll } from './sqlite-folder.ts';
import { accepted, assertRefused, NOW } from './store-under-test.ts';
import { LOGGED_CALL } from '../kit/logged-call.ts';
import { passing, TestClock } from '../kit/clock.ts';

const LOG_OPTIONS = { requestLogDays: 30, requestLogMb: 256, requestLogRate: 1_000_000 };
const ALL = { before: '', from: '', to: '' };
const block = (number: number, bytes: number): RequestBlock => ({
  teamId: 'team-1',
  blockId: `${NOW} boot-${String(number).padStart(6, '0')}`,
  firstAt: NOW,
  boot: 'boot',
  firstNumber: number,
  lastNumber: number,
  lines: new Uint8Array(bytes).fill(number % 256),
});

test('the file exists once a request was logged; a tenant can be removed without it', async () => {
  const folder = newFolder();
  const file = join(folder, 'requests.db');
  const store = openForAll(folder);
  const tenant = accepted(await store.tenants.createTenant('team-1', 'A tenant', NOW));
  await store.tenants.deleteTenant(tenant);
  assert.ok(!existsSync(file));
  await store.requests.addRequests([block(1, 10)], [], []);
  assert.ok(existsSync(file));
});

test('its write-ahead log restarts regularly, and freed space is used again', async () => {
  const folder = newFolder();
  const file = join(folder, 'requests.db');
  const { requests } = openForAll(folder);
  const countLogRestarts = (): number => readFileSync(`${file}-wal`).readUInt32BE(12);
  let blocks = 0;
  while (blocks < 5000 && (blocks < 300 || countLogRestarts() < 2)) {
    await requests.addRequests([block(blocks++, 100_000)], [], []);
    await nextRound();
  }
  assert.ok(countLogRestarts() >= 2, 'the log has grown and grown');
  const countPages = (): number => {
    const db = new DatabaseSync(file, { readOnly: true });
    const { page_count: pages } = db.prepare('PRAGMA page_count').get() as { page_count: number };
    db.close();
    return pages;
  };
  await requests.deleteRequestsBefore('2026-11-21');
  assert.deepEqual(await requests.loadBlocks('team-1', ALL, 10), []);
  const before = countPages();
  for (let number = 0; number < 200; number++) {
    await requests.addRequests([block(number, 100_000)], [], []);
    await nextRound();
    await requests.deleteRequestsBefore('2026-11-21');
  }
  assert.ok(countPages() <= before);
});

test('STORE_UNAVAILABLE a broken file is reported once and ends only the log', async () => {
  const folder = newFolder();
  mkdirSync(folder);
  writeFileSync(join(folder, 'requests.db'), 'no database at all'.repeat(1000));
  const reports: string[] = [];
  const store = openFolder(folder, { report: (event) => void reports.push(event) });
  for (let time = 0; time < 3; time++) await assert.rejects(store.requests.addRequests([block(1, 10)], [], []));
  assert.equal(reports.length, 1);
  assert.match(reports[0]!, /request log .*requests\.db cannot be used/);
  assert.equal(
    (await store.usage.addUsage([{ teamId: 'team-1', day: '2026-11-20', operation: 'getOrder', calls: 1 }])).get(
      'team-1 2026-11',
    ),
    1,
  );
  await store.close();
  assertRefused(await store.requests.loadKeyUses('team-1').catch((fault: unknown) => fault), 'STORE_UNAVAILABLE');
});

test('a backup and a move, to PostgreSQL and back, have the requests, refusals and uses of keys', async () => {
  const folder = newFolder();
  const store = openForAll(folder);
  accepted(await store.tenants.createTenant('team-1', 'A tenant', NOW));
  const blocks = times(300, (number) => block(number, number * 100 + 1));
  const refusals = [{ teamId: 'team-1', day: '2026-11-20', operation: 'getOrder', calls: 3 }];
  const use = { apiId: 'key', usedAt: NOW, client: '192.0.2.1', usedInUrlAt: '' };
  await store.requests.addRequests(blocks, refusals, [{ teamId: 'team-1', ...use }]);
  const [backup, restored, moved] = [newFolder(), newFolder(), newFolder()];
  await backupStore(folder, backup, NOW);
  restoreBackup(backup, restored);
  const url = await newDatabase();
  const places = [
    { data: restored, databaseUrl: '' },
    { data: '', databaseUrl: url },
    { data: moved, databaseUrl: '' },
  ];
  for (const [from, to] of [
    [places[0]!, places[1]!],
    [places[1]!, places[2]!],
  ] as const) {
    const ends = [
      { store: await openMoveStore(from, 'the source', passing), name: 'the source' },
      { store: await openMoveStore(to, 'the target', passing), name: 'the target' },
    ] as const;
    const { tables } = await moveStore(ends[0], ends[1], { start: () => undefined, advance: () => undefined });
    assert.equal(tables.find(({ table }) => table === 'REQUESTS')?.rows, 300);
    for (const { store: end } of ends) await end.close();
  }
  const { requests } = openForAll(moved);
  const read = await requests.loadBlocks('team-1', ALL, 1000);
  const plain = (one: RequestBlock) => ({ ...one, lines: Buffer.from(one.lines) });
  assert.deepEqual(read.map(plain), blocks.toReversed().map(plain));
  assert.deepEqual(await requests.loadRefusals('team-1', '2026-11'), refusals);
  assert.deepEqual(await requests.loadKeyUses('team-1'), [use]);
});

test('calls of one second that fill several pages of the log are each on one page', async () => {
  const store = openForAll(newFolder());
  const clock = new TestClock();
  const log = new RequestLog(store.requests, { ...LOG_OPTIONS, clock });
  const begun = Date.parse(NOW);
  const idOf = (n: number) => `boot-${n.toString(36)}`;
  for (const n of times(120, (at) => at))
    log.record({ ...LOGGED_CALL, requestId: idOf(n), at: new Date(begun + n * 5).toISOString() });
  await log.settled();
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: Awaited<ReturnType<RequestLog['search']>> = await log.search(
      { teamId: 'team', createdAt: '' },
      cursor ? { cursor } : {},
      begun + 1000,
    );
    found.push(...page.requests.map(({ requestID }) => requestID));
    cursor = page.next;
  }
  assert.deepEqual(
    found,
    times(120, (n) => idOf(119 - n)),
  );
});
