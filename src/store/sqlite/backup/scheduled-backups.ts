/**
 * Backups that the running service makes on a schedule. Each backup is written under another name, checked and then
 * renamed, so that it is complete or does not exist. The newest one of this store decides when the next is due. Source:
 * decision 0021.
 */
import { globSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { startThread } from '../../../assets.ts';
import type { Clock, Timer } from '../../../clock.ts';
import type { BackupJob, BackupReply } from './backup-worker.ts';
import { identityOf } from './backup.ts';
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
const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;
/** Memory of the thread: it holds one order at a time, and the parts that orders commit. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 };

export class ScheduledBackups {
  readonly #options: BackupOptions;
  /** Earliest time of the next try after a failure. */
  #retryAt = 0;
  #lastSuccessMs = 0;
  #failures = 0;
  #running: Promise<void> | undefined;
  #look: Timer | undefined;
  readonly #stop = new AbortController();
  readonly #identities = new Map<string, string | undefined>();

  constructor(options: BackupOptions) {
    this.#options = options;
  }

  /** Deletes the rest of an interrupted backup, and makes backups when they are due until it is closed. */
  start(): this {
    const { backupDir, clock, report } = this.#options;
    try {
      makeFolder(backupDir);
      for (const name of readdirSync(backupDir))
        if (name.startsWith(UNFINISHED)) rmSync(join(backupDir, name), { recursive: true });
    } catch (fault) {
      this.#fail(fault);
    }
    const at = Math.max(this.#findDue(), clock.now() + FIRST_LOOK_MS);
    report(`The next backup into ${backupDir} is due at ${new Date(at).toISOString()}.`, false);
    this.#lookAfter(FIRST_LOOK_MS);
    return this;
  }

  /** Makes a backup, or waits for the one that is being made. If it fails, reports the failure and returns false. */
  async makeNow(): Promise<boolean> {
    const failures = this.#failures;
    await (this.#running ??= this.#make()
      .catch((fault: unknown) => this.#fail(fault))
      .finally(() => (this.#running = undefined)));
    return this.#failures === failures;
  }

  /** Returns figures for /metrics. */
  get reading(): { everySeconds: number; lastSuccessSeconds: number; failures: number; isRunning: boolean } {
    const everySeconds = (this.#options.backupHours * HOUR_MS) / 1000;
    return {
      everySeconds,
      lastSuccessSeconds: this.#lastSuccessMs / 1000,
      failures: this.#failures,
      isRunning: this.#running !== undefined,
    };
  }

  /** Makes no more backups, and ends a running backup. */
  async close(): Promise<void> {
    this.#look?.close();
    this.#stop.abort();
    await this.#running;
  }

  #lookAfter(ms: number): void {
    const { clock } = this.#options;
    this.#look = clock.after(ms, () => {
      if (clock.now() < this.#findDue()) return this.#lookAfter(LOOK_MS);
      void this.makeNow().then(() => this.#stop.signal.aborted || this.#lookAfter(LOOK_MS));
    });
  }

  /**
   * Returns when the next backup is due, in milliseconds since 1970. Looks at the folder each time, because the clock
   * may have been set back, and another process may have made a backup.
   */
  #findDue(): number {
    const { backupHours, clock } = this.#options;
    this.#retryAt = Math.min(this.#retryAt, clock.now() + HOUR_MS);
    const [last, lastGood] = [this.#list().at(-1), this.#list(false).at(-1)];
    this.#lastSuccessMs = lastGood === undefined ? 0 : timeOf(lastGood);
    return Math.max(last === undefined ? 0 : timeOf(last) + backupHours * HOUR_MS, this.#retryAt);
  }

  async #make(): Promise<void> {
    const { folder, backupDir, report, clock } = this.#options;
    const now = clock.now();
    const name = `storeroom-${new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
    const target = join(backupDir, UNFINISHED + name);
    try {
      makeFolder(backupDir);
      await this.#checkSpace();
      this.#stop.signal.throwIfAborted();
      const madeAt = new Date(now).toISOString();
      const { findings, count, notes } = await this.#run({ folder, target, madeAt });
      const damage = findings.find(({ isDamage }) => isDamage);
      if (damage) throw new Error(`it is incomplete, or the store is damaged. ${damage.place}: ${damage.what}`);
      const disagrees = count > 0;
      renameSync(target, join(backupDir, disagrees ? name + DISAGREES : name));
      sync(backupDir);
      this.#deleteOldest(disagrees);
      for (const note of notes) report(note, true);
      if (disagrees) {
        this.#failures++;
        const [first] = findings;
        report(
          `Records disagree (${count} findings), so the backup is kept as ${name}${DISAGREES} and replaces no other. ` +
            `\`storeroom check\` lists them. ${first!.place}: ${first!.what}.`,
          true,
        );
      } else {
        this.#lastSuccessMs = now;
        report(`The backup ${name} was made and verified in ${((clock.now() - now) / 1000).toFixed(1)} s.`, false);
      }
    } finally {
      rmSync(target, { recursive: true, force: true });
    }
  }

  #run(job: BackupJob): Promise<BackupReply> {
    const { promise, resolve, reject } = Promise.withResolvers<BackupReply>();
    const options = { workerData: job, resourceLimits: HEAP };
    const thread = startThread(new URL('backup-worker.ts', import.meta.url), options);
    const end = (): void => void thread.terminate();
    this.#stop.signal.addEventListener('abort', end);
    thread.once('message', resolve).once('error', reject);
    thread.once('exit', () => reject(new Error('it was ended')));
    return promise.finally(() => this.#stop.signal.removeEventListener('abort', end));
  }

  /** Throws unless the disk will have as much free space after the backup as the service needs to be ready. */
  async #checkSpace(): Promise<void> {
    const { folder, backupDir, readyFreeMb } = this.#options;
    const files = globSync(['*.db', '*.db-wal', 'tenants/*.db', 'tenants/*.db-wal'], { cwd: folder });
    const sizes = files.map((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0);
    const needed = sizes.reduce((sum, size) => sum + size, readyFreeMb * MIB);
    const { bavail, bsize } = await statfs(backupDir);
    const free = bavail * bsize;
    if (free < needed) throw new Error(`its disk has ${free} free bytes, but the backup needs ${needed}`);
  }

  /** Deletes the oldest backups of one kind, so that one whose records disagree never replaces a good one. */
  #deleteOldest(disagrees: boolean): void {
    const { backupDir, backupKeep } = this.#options;
    for (const name of this.#list(disagrees).slice(0, -backupKeep)) rmSync(join(backupDir, name), { recursive: true });
  }

  /** Lists the names of this store's backups, oldest first, without names in the future. */
  #list(disagrees?: boolean): string[] {
    const { backupDir, identity, clock } = this.#options;
    const isWanted = (name: string): boolean =>
      NAME.test(name) &&
      (disagrees === undefined || name.endsWith(DISAGREES) === disagrees) &&
      timeOf(name) <= clock.now() &&
      this.#identityOf(name) === identity;
    try {
      return readdirSync(backupDir)
        .filter(isWanted)
        .toSorted((a, b) => timeOf(a) - timeOf(b));
    } catch {
      // The next backup fails, and reports why.
      return [];
    }
  }

  /** Returns the identity in a manifest. It is cached, because a manifest never changes and can be long. */
  #identityOf(name: string): string | undefined {
    if (!this.#identities.has(name)) this.#identities.set(name, identityOf(join(this.#options.backupDir, name)));
    return this.#identities.get(name);
  }

  /** Reports a failure, and schedules the next try in an hour. */
  #fail(fault: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#failures++;
    this.#retryAt = this.#options.clock.now() + HOUR_MS;
    const reason = (fault instanceof Error ? fault.message : String(fault)).replace(/\.$/, '');
    this.#options.report(
      `No backup was made in ${this.#options.backupDir}: ${reason}. The service tries again in an hour.`,
      true,
    );
  }
}

function timeOf(name: string): number {
  const [, day, hours, minutes, seconds] = NAME.exec(name)!;
  return Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`);
}
