/**
 * Counts every authenticated call, exactly and durably: calls that arrive while a batch is being written go out together in the next one, and an
 * answer waits for the batch its call is in. Keeps no total of its own. Source: specification section 8, decisions "Metering", decision 0008.
 */
import type { UsageCount, UsageStore } from './port.ts';

interface Batch {
  readonly counts: Map<string, UsageCount>;
  readonly written: Promise<ReadonlyMap<string, number>>;
  readonly settle: { resolve: (totals: ReadonlyMap<string, number>) => void; reject: (fault: unknown) => void };
}

/** A counted call. The answer may leave once `monthRequests` has resolved: to the tenant's total of the month, this call included. */
export interface CountedCall {
  monthRequests(): Promise<number>;
}

export class Meter {
  readonly #store: UsageStore;
  #open: Batch | undefined;
  #writing: Promise<void> | undefined;

  constructor(store: UsageStore) {
    this.#store = store;
  }

  /** Counts one call at this time (UTC ISO 8601, `2026-11-20T…`). */
  count(teamId: string, operation: string, now: string): CountedCall {
    const batch = (this.#open ??= this.#openBatch());
    const day = now.slice(0, 10);
    const key = `${teamId} ${day} ${operation}`;
    const entry = batch.counts.get(key);
    if (entry) entry.calls++;
    else batch.counts.set(key, { teamId, day, operation, calls: 1 });
    return { monthRequests: async () => (await batch.written).get(`${teamId} ${day.slice(0, 7)}`) ?? 0 };
  }

  /** Resolves when everything counted so far is on disk. */
  async settled(): Promise<void> {
    const ignoreFault = (): void => undefined;
    while (this.#open ?? this.#writing) await (this.#open?.written.then(ignoreFault, ignoreFault) ?? this.#writing);
  }

  #openBatch(): Batch {
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, number>>();
    // The batch of a call whose client has gone may have nobody waiting for it.
    promise.catch(() => undefined);
    if (!this.#writing)
      setImmediate(() => {
        this.#writing ??= this.#writeBatches();
      });
    return { counts: new Map(), written: promise, settle: { resolve, reject } };
  }

  async #writeBatches(): Promise<void> {
    for (let batch = this.#open; batch; batch = this.#open) {
      this.#open = undefined;
      try {
        batch.settle.resolve(await this.#store.addUsage([...batch.counts.values()]));
      } catch (fault) {
        batch.settle.reject(fault);
      }
    }
    this.#writing = undefined;
  }
}
