/** Upgrades tenants' files of an older schema off the event loop, one after the other. Source: decision 0062. */
import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import { orThrow, refuseForNow } from '../../../errors.ts';
import { isFileThere } from './folder.ts';
import { plannedUpgrade, type SqliteSchema, type Upgrade } from './migrate.ts';
import type { WorkerPool } from '../workers/worker-pool.ts';

/** Time that a call waits while its tenant is being upgraded. */
const WAIT_MS = 50;

/** Returns whether a file has to be upgraded. If it cannot be read, opening it shows the reason. */
export function isUpgradeNeeded(file: string): boolean {
  try {
    return plannedUpgrade(file, 'pims') !== undefined;
  } catch {
    return false;
  }
}

export function makeUpgrades(pool: WorkerPool, clock: Clock, report: (event: string) => void) {
  const running = new Map<string, Promise<void>>();
  /** Upgrades a file, and resolves at the end. If the upgrade failed, opening the file shows the reason. */
  const run = (file: string) =>
    running.getOrInsertComputed(file, () => {
      const startedAt = clock.elapsed();
      const tell = (upgrade: Upgrade | undefined) => {
        const seconds = ((clock.elapsed() - startedAt) / 1000).toFixed(3);
        if (upgrade) report(`Upgraded ${file} from schema ${upgrade.from} to ${upgrade.to} in ${seconds} s.`);
      };
      return pool
        .run<Upgrade | undefined>({ kind: 'upgrade', file })
        .then((upgrade) => tell(orThrow(upgrade)))
        .catch(() => undefined)
        .finally(() => running.delete(file));
    });
  return {
    run,
    /** Resolves when the file has been upgraded. Rejects with SERVICE_BUSY when that takes longer than a moment. */
    async wait(file: string) {
      const tooLong = clock.sleep(WAIT_MS).then(() => true);
      if ((await Promise.race([run(file), tooLong])) === true)
        throw refuseForNow('SERVICE_BUSY', "The tenant's data is being upgraded.");
    },
  };
}

/** Lists the files of a store whose schemas are not those of this version, with their bytes. */
export function listUpgrades(folder: string): (Upgrade & { readonly file: string; readonly bytes: number })[] {
  const tenants = globSync('tenants/*.db', { cwd: folder }).toSorted();
  const files: (readonly [file: string, schema: SqliteSchema])[] = [
    ...(['control', 'usage', 'requests'] as const).map((schema) => [`${schema}.db`, schema] as const),
    ...tenants.map((file) => [file, 'pims'] as const),
  ];
  return files.flatMap(([file, schema]) => {
    const path = join(folder, file);
    const upgrade = isFileThere(path) ? plannedUpgrade(path, schema) : undefined;
    return upgrade ? [{ file, ...upgrade, bytes: statSync(path).size }] : [];
  });
}
