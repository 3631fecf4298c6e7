/** Upgrades the files of tenants with older schemas off the event loop. Source: decision 0062. */
import type { Clock } from '../../clock.ts';
import { orThrow, refuseForNow } from '../../errors.ts';
import { plannedUpgrade, type Owner, type Upgrade } from './files/migrate.ts';
import type { WorkerPool } from './workers/worker-pool.ts';

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

export function makeUpgrades(pool: WorkerPool, clock: Clock) {
  const running = new Map<string, Promise<void>>();
  let upgraded = 0;
  /** Upgrades a file, and resolves at the end. If the upgrade failed, opening the file shows the reason. */
  const upgradeOnce = (file: string, owner: Owner) =>
    running.getOrInsertComputed(file, () =>
      pool
        .askWorker<Upgrade | undefined>({ kind: 'upgrade', file, owner })
        .then((upgrade) => void (orThrow(upgrade) && upgraded++))
        .catch(() => undefined)
        .finally(() => running.delete(file)),
    );
  return {
    upgradeOnce,
    /** The number of files upgraded so far. */
    get upgraded() {
      return upgraded;
    },
    /** Resolves when the file has been upgraded. Rejects with SERVICE_BUSY when that takes longer than a moment. */
    async waitForUpgrade(file: string, owner: Owner) {
      const tooLong = clock.sleep(WAIT_MS).then(() => true);
      if ((await Promise.race([upgradeOnce(file, owner), tooLong])) === true)
        throw refuseForNow('SERVICE_BUSY', "The tenant's data is being upgraded.");
    },
  };
}
