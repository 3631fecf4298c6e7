/** Upgrades tenants' files of an older schema off the event loop, one after the other. Source: decision 0062. */
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import { orThrow, Refusal } from '../../../errors.ts';
import { isFileThere } from './folder.ts';
import { plannedUpgrade, type SqliteSchema, type Upgrade } from './migrate.ts';
import type { WorkerPool } from '../workers/worker-pool.ts';

/** Time that a call waits while its tenant is being upgraded. */
const WAIT_MS = 50;

export class Upgrades {
  readonly #pool: WorkerPool;
  readonly #clock: Clock;
  readonly #report: (event: string) => void;
  readonly #running = new Map<string, Promise<void>>();

  constructor(pool: WorkerPool, clock: Clock, report: (event: string) => void) {
    this.#pool = pool;
    this.#clock = clock;
    this.#report = report;
  }

  /** Returns whether a file has to be upgraded. If it cannot be read, opening it shows the reason. */
  isNeeded(file: string): boolean {
    try {
      return plannedUpgrade(file, 'pims') !== undefined;
    } catch {
      return false;
    }
  }

  /** Resolves when the file has been upgraded. Rejects with SERVICE_BUSY when that takes longer than a moment. */
  async wait(file: string): Promise<void> {
    const tooLong = this.#clock.sleep(WAIT_MS).then(() => true);
    if ((await Promise.race([this.run(file), tooLong])) === true)
      throw new Refusal('SERVICE_BUSY', "The tenant's data is being upgraded.", { retryAfterSeconds: 1 });
  }

  /** Upgrades a file, and resolves at the end. If the upgrade failed, opening the file shows the reason. */
  run(file: string): Promise<void> {
    const begun = this.#running.get(file);
    if (begun) return begun;
    const startedAt = this.#clock.elapsed();
    const tell = (upgrade: Upgrade | undefined): void => {
      const seconds = ((this.#clock.elapsed() - startedAt) / 1000).toFixed(3);
      if (upgrade) this.#report(`Upgraded ${file} from schema ${upgrade.from} to ${upgrade.to} in ${seconds} s.`);
    };
    const running = this.#pool
      .run<Upgrade | undefined>({ kind: 'upgrade', file })
      .then((upgrade) => tell(orThrow(upgrade)))
      .catch(() => undefined)
      .finally(() => this.#running.delete(file));
    this.#running.set(file, running);
    return running;
  }
}

/** Lists the files of a store whose schemas are not those of this version, with their bytes. */
export function listUpgrades(folder: string): (Upgrade & { readonly file: string; readonly bytes: number })[] {
  const tenants = globSync('tenants/*.db', { cwd: folder }).toSorted();
  const files = [
    ...(['control', 'usage', 'requests'] as const).map((schema) => [`${schema}.db`, schema] as const),
    ...tenants.map((file) => [file, 'pims'] as const),
  ];
  return files.flatMap(([file, schema]: readonly [string, SqliteSchema]) => {
    const path = join(folder, file);
    const upgrade = isFileThere(path) ? plannedUpgrade(path, schema) : undefined;
    return upgrade ? [{ file, ...upgrade, bytes: statSync(path).size }] : [];
  });
}
