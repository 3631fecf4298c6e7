/**
 * When the service backs up its store by itself, to the millisecond of a clock that is moved; and what happens to the
 * backups that are there when one cannot be made, or is of a store that is damaged.
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
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ScheduledBackups, type BackupOptions } from '../../src/store/sqlite/scheduled-backups.ts';
import { TestClock } from '../kit/clock.ts';
import { times } from '../kit/lists.ts';
import { newFolder, openFolder } from './sqlite-folder.ts';
import { accepted, NOW, Pims } from './store-under-test.ts';

const [START, SECOND, HOUR, DAY] = [Date.parse(NOW), 1000, 3_600_000, 86_400_000];
/** After the start, and between the looks that follow. */
const [FIRST_LOOK, LOOK] = [2 * SECOND, 30 * SECOND];
const data = newFolder();

before(async () => {
  const store = openFolder(data);
  const pims = new Pims(store.pims(accepted(await store.tenants.createTenant('shop', 'A tenant', NOW))));
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

  /** With backups of these times, and files of these names. */
  constructor({ made = [], names = [], ...more }: Partial<BackupOptions> & { made?: number[]; names?: string[] } = {}) {
    for (const name of [...made.map(nameOf), ...names]) mkdirSync(join(this.backupDir, name), { recursive: true });
    const report = (event: string, isFault: boolean): void => {
      this.told.push({ event, isFault });
      this.#events.emit('told');
    };
    const bounds = { backupHours: 24, backupKeep: 2, readyFreeMb: 0 };
    const { clock, backupDir } = this;
    this.backups = new ScheduledBackups({ folder: data, backupDir, ...bounds, clock, report, ...more });
    after(() => this.backups.close());
  }

  /** So much passes, and nothing is begun. */
  wait(ms: number): void {
    const { length } = this.told;
    this.clock.move(ms);
    assert.equal(this.clock.waiting, 1, 'it waits for its next look');
    assert.equal(this.told.length, length);
  }

  /** So much passes, and what is begun by then ends. */
  async moveTo(ms: number): Promise<Told> {
    const told = once(this.#events, 'told');
    this.clock.move(ms);
    assert.equal(this.clock.waiting, 0, 'one is being made');
    await told;
    await nextTurn(); // it sets the next look
    return this.told.at(-1)!;
  }

  get names(): string[] {
    return readdirSync(this.backupDir).toSorted();
  }
}

/** A copy of the data, and the file of its tenant. */
function copyData(): { folder: string; file: string } {
  const folder = newFolder();
  cpSync(data, folder, { recursive: true });
  return { folder, file: join(folder, globSync('tenants/*.db', { cwd: folder })[0]!) };
}

suite('backups by themselves', () => {
  test('the first is made two seconds after the start, each next one when its hours are over, and the oldest goes', async () => {
    const schedule = new Schedule({ backupHours: 1, names: ['not ours', `.unfinished-${nameOf(START - DAY)}`] });
    assert.match(schedule.told[0]!.event, /is due at 2026-11-20T09:30:02\.000Z\.$/);
    assert.deepEqual(schedule.names, ['not ours'], 'what was left unfinished is gone');
    assert.deepEqual(schedule.backups.reading, { everySeconds: 3600, lastSuccessSeconds: 0, failures: 0 });
    const at = times(3, (index) => START + FIRST_LOOK + index * HOUR);
    for (const [index, ms] of at.entries()) {
      schedule.wait((index === 0 ? FIRST_LOOK : HOUR) - 1);
      const { event, isFault } = await schedule.moveTo(1);
      assert.ok(event.startsWith(`The backup ${nameOf(ms)} was made and verified`) && !isFault, event);
      assert.equal(schedule.backups.reading.lastSuccessSeconds, ms / SECOND);
    }
    assert.deepEqual(schedule.names, ['not ours', ...at.slice(-2).map(nameOf)]);
  });

  test('at a start one that is overdue is made, and one that is not is made when it is', async () => {
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

  test('a disk that has not enough room is told and counted, and tried again an hour later', async () => {
    const schedule = new Schedule({ readyFreeMb: 999_999_999, made: [START - 3 * DAY] });
    schedule.wait(FIRST_LOOK - 1);
    for (const [failures, ms] of [1, HOUR].entries()) {
      if (failures > 0) schedule.wait(ms - 1);
      const { event, isFault } = await schedule.moveTo(1);
      assert.match(event, /has \d+ free bytes, and \d+ are needed\. The next try is in an hour\.$/);
      const lastSuccessSeconds = (START - 3 * DAY) / SECOND;
      assert.ok(isFault);
      assert.deepEqual(schedule.backups.reading, { everySeconds: 86_400, lastSuccessSeconds, failures: failures + 1 });
    }
    assert.deepEqual(schedule.names, [nameOf(START - 3 * DAY)]);
  });

  test('a folder that cannot be written is told and counted at the start, and tried again an hour later', async () => {
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

  test('a damaged file is found: no backup is kept of it, none goes for it, and it is counted', async () => {
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

  test('records that disagree are told: the copy is kept under another name, and pushes no good one out', async () => {
    const { folder, file } = copyData();
    const db = new DatabaseSync(file);
    db.exec("UPDATE COUNTERS SET NEXT = 1 WHERE NAME = 'orders'");
    db.close();
    const good = START - 2 * DAY;
    const schedule = new Schedule({ folder, backupKeep: 1, made: [good] });
    const { event, isFault } = await schedule.moveTo(FIRST_LOOK);
    assert.match(event, /^Records disagree .*numbers of shop/);
    assert.deepEqual([isFault, schedule.names], [true, [nameOf(good), `${nameOf(START + FIRST_LOOK)}-disagrees`]]);
    const { failures, lastSuccessSeconds } = schedule.backups.reading;
    assert.deepEqual([failures, lastSuccessSeconds], [1, good / SECOND], 'the last good one is the old one');
  });

  test('one that is being made ends when it is closed, and leaves nothing', async () => {
    const schedule = new Schedule();
    schedule.clock.move(FIRST_LOOK);
    await schedule.backups.close();
    assert.deepEqual(schedule.names, []);
    assert.equal(schedule.clock.waiting, 0);
    assert.equal(schedule.told.length, 1, 'and tells nothing');
  });
});
