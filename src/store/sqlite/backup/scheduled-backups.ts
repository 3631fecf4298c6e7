/**
 * Backups that the running service makes by itself: written beside the others under another name, checked, and only
 * then renamed, so that a backup is there whole or not at all. The newest of this store tells when the next is due.
 * Source: decision 0021.
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
  /** Of the data. */
  readonly folder: string;
  /** Of the store. Backups of another are not looked at. */
  readonly identity: string;
  readonly backupDir: string;
  readonly backupHours: number;
  readonly backupKeep: number;
  /** Free megabytes that a backup leaves on its disk. */
  readonly readyFreeMb: number;
  readonly report: (event: string, isFault: boolean) => void;
  readonly clock: Clock;
}

const UNFINISHED = '.unfinished-';
/** What makes the name of a backup whose files are whole while its records disagree, as the store's do. */
const DISAGREES = '-disagrees';
const NAME = /^storeroom-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z(-disagrees)?$/;
const FIRST_LOOK_MS = 2000;
const LOOK_MS = 30_000;
const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;
/** Of the thread: it holds one order at a time, and the parts that orders commit. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 };

export class ScheduledBackups {
  readonly #options: BackupOptions;
  /** After a failure. */
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

  /** Looks what is there, and then by itself whether a backup is due. */
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

  /** Makes one that is not due. False when it failed, which has been reported. */
  async makeNow(): Promise<boolean> {
    await this.#make().catch((fault: unknown) => this.#fail(fault));
    return this.#failures === 0;
  }

  /** In seconds. */
  get reading(): { everySeconds: number; lastSuccessSeconds: number; failures: number } {
    const everySeconds = (this.#options.backupHours * HOUR_MS) / 1000;
    return { everySeconds, lastSuccessSeconds: this.#lastSuccessMs / 1000, failures: this.#failures };
  }

  /** Ends a backup that is being made. */
  async close(): Promise<void> {
    this.#look?.close();
    this.#stop.abort();
    await this.#running;
  }

  #lookAfter(ms: number): void {
    const { clock } = this.#options;
    this.#look = clock.after(ms, () => {
      if (clock.now() < this.#findDue()) return this.#lookAfter(LOOK_MS);
      this.#running = this.#make().catch((fault: unknown) => this.#fail(fault));
      void this.#running.then(() => this.#stop.signal.aborted || this.#lookAfter(LOOK_MS));
    });
  }

  /** Milliseconds since 1970. The clock may have been set back meanwhile, and another process have made a backup. */
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
      if (damage) throw new Error(`it was not written whole, or the store is damaged. ${damage.place}: ${damage.what}`);
      const disagrees = count > 0;
      renameSync(target, join(backupDir, disagrees ? name + DISAGREES : name));
      sync(backupDir);
      this.#deleteOldest(disagrees);
      for (const note of notes) report(note, true);
      if (disagrees) {
        this.#failures++;
        const [first] = findings;
        report(
          `Records disagree (${count} findings), so the backup is kept as ${name}${DISAGREES} and pushes none out. ` +
            `\`storeroom check\` tells more. ${first!.place}: ${first!.what}.`,
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

  /** Throws unless there will be as much free space afterwards as the service needs to be ready. */
  async #checkSpace(): Promise<void> {
    const { folder, backupDir, readyFreeMb } = this.#options;
    const files = globSync(['*.db', '*.db-wal', 'tenants/*.db', 'tenants/*.db-wal'], { cwd: folder });
    const sizes = files.map((file) => statSync(join(folder, file), { throwIfNoEntry: false })?.size ?? 0);
    const needed = sizes.reduce((sum, size) => sum + size, readyFreeMb * MIB);
    const { bavail, bsize } = await statfs(backupDir);
    const free = bavail * bsize;
    if (free < needed) throw new Error(`its disk has ${free} free bytes, and ${needed} are needed`);
  }

  /** Of those of one kind, so that none that agrees is pushed out by one that does not. */
  #deleteOldest(disagrees: boolean): void {
    const { backupDir, backupKeep } = this.#options;
    for (const name of this.#list(disagrees).slice(0, -backupKeep)) rmSync(join(backupDir, name), { recursive: true });
  }

  /** Names of this store's backups, oldest first; not of those that a clock made that was ahead. */
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
      // Making one tells why.
      return [];
    }
  }

  /** A manifest never changes, and can be long. */
  #identityOf(name: string): string | undefined {
    if (!this.#identities.has(name)) this.#identities.set(name, identityOf(join(this.#options.backupDir, name)));
    return this.#identities.get(name);
  }

  /** The next try is in an hour. */
  #fail(fault: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#failures++;
    this.#retryAt = this.#options.clock.now() + HOUR_MS;
    const reason = (fault instanceof Error ? fault.message : String(fault)).replace(/\.$/, '');
    this.#options.report(
      `No backup was made in ${this.#options.backupDir}: ${reason}. The next try is in an hour.`,
      true,
    );
  }
}

function timeOf(name: string): number {
  const [, day, hours, minutes, seconds] = NAME.exec(name)!;
  return Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`);
}
