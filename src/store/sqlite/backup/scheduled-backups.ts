/**
 * Backups that the running service makes on a schedule. Each backup is written under another name, checked and then
 * renamed, so that it is complete or does not exist. The newest one of this store decides when the next is due. Source:
 * decision 0021.
 */
import { globSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { startThread } from '../../../assets.ts';
import { HOUR_MS, type Clock, type Timer } from '../../../clock.ts';
import type { Finding } from '../../check/checked-store.ts';
import type { BackupJob, BackupReply } from './backup-worker.ts';
import { readIdentity } from './backup.ts';
import { makeFolder, sync } from '../files/folder.ts';

export interface BackupOptions {
  /** Folder of the data. */
  readonly folder: string;
  /** Identity of the store. Backups of other stores are ignored. */
  readonly identity: string;
  readonly backupDir: string;
  readonly backupHours: number;
  readonly backupKeep: number;
  /** Megabytes that must be free on the disk after a backup. */
  readonly readyFreeMb: number;
  readonly report: (event: string, isFault: boolean) => void;
  readonly clock: Clock;
}

const UNFINISHED = '.unfinished-';
/** End of the name of a backup whose files are intact, but whose records disagree, like those of the store. */
const DISAGREES = '-disagrees';
const NAME = /^storeroom-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z(-disagrees)?$/;
const FIRST_LOOK_MS = 2000;
const LOOK_MS = 30_000;
const MIB = 1024 * 1024;
/** Memory of the thread: it holds one order at a time, and the parts that orders commit. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 };

export type ScheduledBackups = ReturnType<typeof makeScheduledBackups>;

export function makeScheduledBackups(options: BackupOptions) {
  const { backupDir, backupHours, report, clock } = options;
  const { listOurs, deleteOldest, deleteUnfinished } = lookInto(options);
  const stop = new AbortController();
  /** `retryAt` is the earliest time of the next try after a failure. */
  let [retryAt, lastSuccessMs, failures] = [0, 0, 0];
  let running: Promise<void> | undefined;
  let look: Timer | undefined;
  /**
   * Returns when the next backup is due, in milliseconds since 1970. Looks at the folder each time, because the clock
   * may have been set back, and another process may have made a backup.
   */
  const findDue = () => {
    retryAt = Math.min(retryAt, clock.now() + HOUR_MS);
    const [last, lastGood] = [listOurs().at(-1), listOurs(false).at(-1)];
    lastSuccessMs = lastGood === undefined ? 0 : timeOf(lastGood);
    return Math.max(last === undefined ? 0 : timeOf(last) + backupHours * HOUR_MS, retryAt);
  };
  /** Reports a failure, and schedules the next try in an hour. */
  const fail = (fault: unknown) => {
    if (stop.signal.aborted) return;
    failures++;
    retryAt = clock.now() + HOUR_MS;
    const reason = (fault instanceof Error ? fault.message : String(fault)).replace(/\.$/, '');
    report(`No backup was made in ${backupDir}: ${reason}. After a failure, a service tries again in an hour.`, true);
  };
  const make = async () => {
    const now = clock.now();
    const { name, findings, count, notes } = await makeBackup(options, now, stop.signal);
    deleteOldest(count > 0);
    for (const note of notes) report(note, true);
    if (count > 0) {
      failures++;
      report(describeDisagreement(name, count, findings[0]!), true);
    } else {
      lastSuccessMs = now;
      report(`The backup ${name} was made and verified in ${((clock.now() - now) / 1000).toFixed(1)} s.`, false);
    }
  };
  const lookAfter = (ms: number) => {
    look = clock.after(ms, () => {
      if (clock.now() < findDue()) return lookAfter(LOOK_MS);
      void backups.makeNow().then(() => stop.signal.aborted || lookAfter(LOOK_MS));
    });
  };
  const backups = {
    /** Deletes the rest of an interrupted backup, and makes backups when they are due, until `close` is called. */
    startBackups() {
      try {
        deleteUnfinished();
      } catch (fault) {
        fail(fault);
      }
      const at = Math.max(findDue(), clock.now() + FIRST_LOOK_MS);
      report(`The next backup into ${backupDir} is due at ${new Date(at).toISOString()}.`, false);
      lookAfter(FIRST_LOOK_MS);
      return backups;
    },
    /** Makes a backup, or waits for the one that is being made. If it fails, reports the failure and returns false. */
    async makeNow() {
      const before = failures;
      await (running ??= make()
        .catch(fail)
        .finally(() => (running = undefined)));
      return failures === before;
    },
    /** Returns figures for /metrics. */
    get reading() {
      const everySeconds = (backupHours * HOUR_MS) / 1000;
      return { everySeconds, lastSuccessSeconds: lastSuccessMs / 1000, failures, isRunning: running !== undefined };
    },
    /** Makes no more backups, and ends a running backup. */
    async close() {
      look?.close();
      stop.abort();
      await running;
    },
  };
  return backups;
}

const describeDisagreement = (name: string, count: number, { place, what }: Finding) =>
  `Records disagree (findings: ${count}), so the backup is kept as ${name} and replaces no other. ` +
  `\`storeroom check\` lists them. ${place}: ${what}.`;

/** Makes and checks a backup, and returns its name and what the check found. Throws if it is damaged. */
async function makeBackup(options: BackupOptions, now: number, ended: AbortSignal) {
  const { folder, backupDir } = options;
  const madeAt = new Date(now).toISOString();
  const stem = `storeroom-${madeAt.slice(0, 19).replaceAll(':', '-')}Z`;
  const target = join(backupDir, UNFINISHED + stem);
  try {
    makeFolder(backupDir);
    await checkSpace(options);
    ended.throwIfAborted();
    const reply = await runBackup({ folder, target, madeAt }, ended);
    const damage = reply.findings.find(({ isDamage }) => isDamage);
    if (damage) throw new Error(`it is incomplete, or the store is damaged. ${damage.place}: ${damage.what}`);
    const name = reply.count > 0 ? stem + DISAGREES : stem;
    renameSync(target, join(backupDir, name));
    sync(backupDir);
    return { name, ...reply };
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

/** Makes a backup in a thread. If the signal aborts, ends the thread and rejects. */
function runBackup(workerData: BackupJob, ended: AbortSignal): Promise<BackupReply> {
  const { promise, resolve, reject } = Promise.withResolvers<BackupReply>();
  const thread = startThread(new URL('backup-worker.ts', import.meta.url), { workerData, resourceLimits: HEAP });
  const end = () => void thread.terminate();
  ended.addEventListener('abort', end);
  thread.once('message', resolve).once('error', reject);
  thread.once('exit', () => reject(new Error('the backup ended before it was complete')));
  return promise.finally(() => ended.removeEventListener('abort', end));
}

/** Throws unless the disk will have as much free space after the backup as the service needs to be ready. */
async function checkSpace({ folder, backupDir, readyFreeMb }: BackupOptions): Promise<void> {
  const files = globSync(['*.db', '*.db-wal', 'tenants/*.db', 'tenants/*.db-wal'], { cwd: folder });
  const sizes = files.map((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0);
  const needed = sizes.reduce((sum, size) => sum + size, readyFreeMb * MIB);
  const { bavail, bsize } = await statfs(backupDir);
  const free = bavail * bsize;
  if (free < needed) throw new Error(`its disk has ${free} free bytes, but the backup needs ${needed}`);
}

/** Makes the functions that list and delete this store's backups. */
function lookInto({ backupDir, backupKeep, identity, clock }: BackupOptions) {
  /** Identities, kept by the name of the backup, because a manifest never changes and can be long. */
  const identities = new Map<string, string | undefined>();
  const isOurs = (name: string) =>
    identities.getOrInsertComputed(name, () => readIdentity(join(backupDir, name))) === identity;
  /** Lists the names of this store's backups, oldest first, without dates in the future. */
  const listOurs = (disagrees?: boolean) => {
    const isWanted = (name: string) =>
      NAME.test(name) &&
      (disagrees === undefined || name.endsWith(DISAGREES) === disagrees) &&
      timeOf(name) <= clock.now() &&
      isOurs(name);
    try {
      return readdirSync(backupDir)
        .filter(isWanted)
        .toSorted((a, b) => timeOf(a) - timeOf(b));
    } catch {
      // The next backup fails, and reports why.
      return [];
    }
  };
  return {
    listOurs,
    deleteUnfinished: (): void => {
      makeFolder(backupDir);
      for (const name of readdirSync(backupDir))
        if (name.startsWith(UNFINISHED)) rmSync(join(backupDir, name), { recursive: true });
    },
    /** Deletes the oldest backups of one kind, so that one whose records disagree never replaces a good one. */
    deleteOldest: (disagrees: boolean): void => {
      for (const name of listOurs(disagrees).slice(0, -backupKeep)) rmSync(join(backupDir, name), { recursive: true });
    },
  };
}

function timeOf(name: string): number {
  const [, day, hours, minutes, seconds] = NAME.exec(name)!;
  return Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`);
}
