/**
 * Tests when the service backs up its store by schedule, on a clock that the test moves, and that existing backups are
 * kept if a new one cannot be made or the store is damaged.
 */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import {
  closeSync,
  cpSync,
  globSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, test } from 'node:test';
import { setImmediate as nextRound } from 'node:timers/promises';
import {
  makeScheduledBackups,
  type BackupOptions,
  type ScheduledBackups,
} from '../../src/store/sqlite/backup/scheduled-backups.ts';
import { withDatabase } from '../../src/store/sqlite/files/database.ts';
import { migrate } from '../../src/store/sqlite/files/migrate.ts';
import { TestClock } from '../kit/clock.ts';
import { times } from '../kit/lists.ts';
import { newFolder, openFolder } from './sqlite-folder.ts';
import { accepted, NOW, Pims } from './store-under-test.ts';

const [START, SECOND, HOUR, DAY] = [Date.parse(NOW), 1000, 3_600_000, 86_400_000];
/** Time from the start to the first check for a due backup, and from one check to the next. */
const [FIRST_LOOK, LOOK] = [2 * SECOND, 30 * SECOND];
const data = newFolder();
let identity = '';

before(async () => {
  const store = openFolder(data);
  const pims = new Pims(store.pims(accepted(await store.tenants.createTenant('shop', 'A tenant', NOW))));
  identity = (await store.installation.loadInstalled('identity'))!;
  await Promise.all(times(400, (at) => pims.createOrder({ NOTES: `note ${at} `.repeat(20) })));
  await store.close();
});

const nameOf = (ms: number): string => `storeroom-${new Date(ms).toISOString().slice(0, 19).replaceAll(':', '-')}Z`;

interface Told {
  readonly event: string;
  readonly isFault: boolean;
}

class Schedule {
  readonly clock = new TestClock({ at: START });
  readonly backupDir = newFolder();
  readonly backups: ScheduledBackups;
  readonly told: Told[] = [];
  readonly #events = new EventEmitter();

  /** Makes a schedule with backups of these times, and folders with these names. */
  constructor({ made = [], names = [], ...more }: Partial<BackupOptions> & { made?: number[]; names?: string[] } = {}) {
    for (const name of names) mkdirSync(join(this.backupDir, name), { recursive: true });
    for (const ms of made) this.add(ms);
    const report = (event: string, isFault: boolean): void => {
      this.told.push({ event, isFault });
      this.#events.emit('told');
    };
    const bounds = { backupHours: 24, backupKeep: 2, readyFreeMb: 0 };
    const { clock, backupDir } = this;
    this.backups = makeScheduledBackups({
      folder: data,
      identity,
      backupDir,
      ...bounds,
      clock,
      report,
      ...more,
    }).startBackups();
    after(() => this.backups.close());
  }

  /** Adds a backup of this time, of this store unless another identity is given. */
  add(ms: number, of = identity): void {
    mkdirSync(join(this.backupDir, nameOf(ms)), { recursive: true });
    writeFileSync(
      join(this.backupDir, nameOf(ms), 'storeroom-backup.json'),
      JSON.stringify({ files: {}, identity: of }),
    );
  }

  /** Moves the clock, and checks that no backup begins. */
  wait(ms: number): void {
    const { length } = this.told;
    this.clock.move(ms);
    assert.equal(this.clock.waiting, 1, 'it waits for its next look');
    assert.equal(this.told.length, length);
  }

  /** Moves the clock, and waits until the backup that is due then has ended. */
  async moveTo(ms: number): Promise<Told> {
    const told = once(this.#events, 'told');
    this.clock.move(ms);
    assert.equal(this.clock.waiting, 0, 'one is being made');
    await told;
    await nextRound(); // the schedule sets its next check
    return this.told.at(-1)!;
  }

  get names(): string[] {
    return readdirSync(this.backupDir).toSorted();
  }
}

/** Copies the data. Returns the folder and the file of its tenant. */
function copyData(): { folder: string; file: string } {
  const folder = newFolder();
  cpSync(data, folder, { recursive: true });
  return { folder, file: join(folder, globSync('tenants/*.db', { cwd: folder })[0]!) };
}

suite('scheduled backups of a store', () => {
  test('the first is made two seconds after the start, the next after its hours, and the oldest deleted', async () => {
    const schedule = new Schedule({ backupHours: 1, names: ['not ours', `.unfinished-${nameOf(START - DAY)}`] });
    assert.match(schedule.told[0]!.event, /is due at 2026-11-20T09:30:02\.000Z\.$/);
    assert.deepEqual(schedule.names, ['not ours'], 'what was left unfinished is gone');
    assert.deepEqual(schedule.backups.reading, {
      everySeconds: 3600,
      lastSuccessSeconds: 0,
      failures: 0,
      isRunning: false,
    });
    const at = times(3, (index) => START + FIRST_LOOK + index * HOUR);
    for (const [index, ms] of at.entries()) {
      schedule.wait((index === 0 ? FIRST_LOOK : HOUR) - 1);
      const { event, isFault } = await schedule.moveTo(1);
      assert.ok(event.startsWith(`The backup ${nameOf(ms)} was made and verified`) && !isFault, event);
      assert.equal(schedule.backups.reading.lastSuccessSeconds, ms / SECOND);
    }
    assert.deepEqual(schedule.names, ['not ours', ...at.slice(-2).map(nameOf)]);
  });

  test('one requested while another is being made is the same one, and one requested later is another', async () => {
    const schedule = new Schedule();
    const both = [schedule.backups.makeNow(), schedule.backups.makeNow()];
    assert.equal(schedule.backups.reading.isRunning, true);
    assert.deepEqual(await Promise.all(both), [true, true]);
    assert.deepEqual([schedule.backups.reading.isRunning, schedule.names], [false, [nameOf(START)]]);
    schedule.clock.move(SECOND);
    assert.equal(await schedule.backups.makeNow(), true);
    assert.deepEqual(schedule.names, [nameOf(START), nameOf(START + SECOND)]);
  });

  test('at a start an overdue one is made, and another one when it is due', async () => {
    const overdue = new Schedule({ backupHours: 2, made: [START - 3 * HOUR] });
    await overdue.moveTo(FIRST_LOOK);
    assert.deepEqual(overdue.names, [nameOf(START - 3 * HOUR), nameOf(START + FIRST_LOOK)]);

    const made = START - DAY + FIRST_LOOK + SECOND;
    const due = new Schedule({ made: [made] });
    assert.match(due.told[0]!.event, /is due at 2026-11-20T09:30:03\.000Z\.$/);
    assert.equal(due.backups.reading.lastSuccessSeconds, made / SECOND, 'the success of an earlier process is known');
    due.wait(FIRST_LOOK + LOOK - 1);
    await due.moveTo(1);
    assert.deepEqual(due.names, [nameOf(made), nameOf(START + FIRST_LOOK + LOOK)]);
  });

  test('a disk without enough room is reported and counted, and tried again an hour later', async () => {
    const schedule = new Schedule({ readyFreeMb: 999_999_999, made: [START - 3 * DAY] });
    schedule.wait(FIRST_LOOK - 1);
    for (const [failures, ms] of [1, HOUR].entries()) {
      if (failures > 0) schedule.wait(ms - 1);
      const { event, isFault } = await schedule.moveTo(1);
      assert.match(event, /has \d+ free bytes, but the backup needs \d+\. After a failure, a service tries again/);
      const lastSuccessSeconds = (START - 3 * DAY) / SECOND;
      assert.ok(isFault);
      assert.deepEqual(schedule.backups.reading, {
        everySeconds: 86_400,
        lastSuccessSeconds,
        failures: failures + 1,
        isRunning: false,
      });
    }
    assert.deepEqual(schedule.names, [nameOf(START - 3 * DAY)]);
  });

  test('a read-only folder is reported and counted at the start, and tried again an hour later', async () => {
    const file = newFolder();
    writeFileSync(file, '');
    const schedule = new Schedule({ backupDir: join(file, 'below') });
    for (const failures of [1, 2]) {
      assert.match(schedule.told.at(failures === 1 ? 0 : -1)!.event, /ENOTDIR|EEXIST/);
      assert.equal(schedule.backups.reading.failures, failures);
      if (failures > 1) break;
      schedule.wait(HOUR - 1);
      await schedule.moveTo(FIRST_LOOK + 1);
    }
  });

  test('a damaged file is found and counted: no backup of it is kept, and no other is deleted for it', async () => {
    const { folder, file } = copyData();
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(4096, 7), 0, 4096, Math.floor(statSync(file).size / 8192) * 4096);
    closeSync(descriptor);
    const schedule = new Schedule({ folder, backupKeep: 1, made: [START - 2 * DAY] });
    const { event, isFault } = await schedule.moveTo(FIRST_LOOK);
    assert.match(event, /^No backup was made in .*tenants\/shop.*\.db: /);
    assert.deepEqual([isFault, schedule.names], [true, [nameOf(START - 2 * DAY)]]);
    assert.equal(schedule.backups.reading.failures, 1);
  });

  test('a lost file is reported in one sentence, and the next try in another', async () => {
    const { folder, file } = copyData();
    rmSync(file);
    const { event } = await new Schedule({ folder }).moveTo(FIRST_LOOK);
    assert.match(event, /is missing or empty\. After a failure, a service tries again in an hour\.$/);
  });

  test('inconsistent records are reported: the copy is kept under another name, and replaces no good one', async () => {
    const { folder, file } = copyData();
    const db = new DatabaseSync(file);
    db.exec("UPDATE COUNTERS SET NEXT = 1 WHERE NAME = 'orders'");
    db.close();
    const good = START - 2 * DAY;
    const schedule = new Schedule({ folder, backupKeep: 1, made: [good] });
    const { event, isFault } = await schedule.moveTo(FIRST_LOOK);
    assert.match(event, /^Records disagree .*numbers of shop/);
    assert.deepEqual([isFault, schedule.names], [true, [nameOf(good), `${nameOf(START + FIRST_LOOK)}-disagrees`]]);
    schedule.wait(LOOK); // the schedule reads the folder again
    const { failures, lastSuccessSeconds } = schedule.backups.reading;
    assert.deepEqual([failures, lastSuccessSeconds], [1, good / SECOND], 'the last good one is the old one');
  });

  test('backups of another store, or without an identity, are neither counted nor deleted', async () => {
    const schedule = new Schedule({ backupKeep: 1, made: [START - 3 * DAY], names: [nameOf(START - DAY)] });
    schedule.add(START - HOUR, 'another');
    await schedule.moveTo(FIRST_LOOK);
    const [unknown, other, own] = [START - DAY, START - HOUR, START + FIRST_LOOK].map(nameOf);
    assert.deepEqual(schedule.names, [unknown, other, own]);
    const manifest = JSON.parse(readFileSync(join(schedule.backupDir, own!, 'storeroom-backup.json'), 'utf8'));
    const { madeAt, tenants, orders } = manifest as { madeAt: string; tenants: number; orders: number };
    assert.deepEqual([madeAt, tenants, orders], [new Date(START + FIRST_LOOK).toISOString(), 1, 400]);
    assert.equal(manifest.identity, identity);
  });

  test('a backup made by a clock 40 days ahead neither delays the next one nor counts as a success', async () => {
    const [real, ahead] = [START - 2 * DAY, START + 40 * DAY];
    const schedule = new Schedule({ backupKeep: 1, made: [real, ahead] });
    assert.equal(schedule.backups.reading.lastSuccessSeconds, real / SECOND);
    await schedule.moveTo(FIRST_LOOK);
    assert.deepEqual(schedule.names, [nameOf(START + FIRST_LOOK), nameOf(ahead)]);
  });

  test('one made by another process ends the wait, and is a success', async () => {
    const schedule = new Schedule({ readyFreeMb: 999_999_999 });
    await schedule.moveTo(FIRST_LOOK);
    schedule.add(START + FIRST_LOOK);
    for (let looks = 0; looks < HOUR / LOOK; looks++) schedule.wait(LOOK);
    assert.equal(schedule.backups.reading.lastSuccessSeconds, (START + FIRST_LOOK) / SECOND);
  });

  test('an unreadable block of the request log is reported, and does not fail the backup', async () => {
    const { folder } = copyData();
    withDatabase(join(folder, 'requests.db'), { mode: 'make', busyTimeoutMs: 0 }, (db) => {
      migrate(db, 'requests', { identity, teamId: '' });
      db.exec(`INSERT INTO REQUESTS (TEAM_ID, BLOCK_ID, BOOT, FIRST_NUMBER, LAST_NUMBER, FIRST_AT, LINES)
        VALUES ('shop', 'a', 'b', 1, 1, '', x'00')`);
    });
    const schedule = new Schedule({ folder });
    await schedule.moveTo(FIRST_LOOK);
    assert.deepEqual(schedule.names, [nameOf(START + FIRST_LOOK)]);
    assert.deepEqual(
      schedule.told.slice(1).map(({ isFault }) => isFault),
      [true, false],
    );
    assert.match(schedule.told[1]!.event, /^Request log of shop: block a, b: it cannot be read/);
    assert.equal(schedule.backups.reading.failures, 0);
  });

  test('one that is being made ends when the store is closed, and leaves no file', async () => {
    const schedule = new Schedule();
    schedule.clock.move(FIRST_LOOK);
    await schedule.backups.close();
    assert.deepEqual(schedule.names, []);
    assert.equal(schedule.clock.waiting, 0);
    assert.equal(schedule.told.length, 1, 'and tells nothing');
  });
});
