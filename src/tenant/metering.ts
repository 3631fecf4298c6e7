/**
 * Counts every authenticated call, exactly and durably. Calls that arrive while the store adds a batch share the next
 * batch, and a response waits for the batch of its call. Source: decision 0008.
 */
import type { Clock, Timer } from '../clock.ts';
import type { CallingKey, KeyCount, UsageCount, UsageStore } from './tenant-port.ts';

interface CountBatch {
  readonly counts: Map<string, UsageCount>;
  /** The calls in `counts` that were sent with a key. */
  readonly byKey: Map<string, KeyCount>;
  readonly added: PromiseWithResolvers<ReadonlyMap<string, number>>;
}

/** A counted call. `monthRequests` resolves to the tenant's total once the count is durable and the response may go. */
export interface CountedCall {
  monthRequests(): Promise<number>;
}

/** A batch that the store has not added within this time counts as failed. */
const LATE_MS = 5000;
const PROBE_MS = 1000;

export interface MeterOptions {
  readonly clock: Clock;
  /** Reports that calls cannot be counted, and that they can be counted again. */
  readonly report: (event: string) => void;
  /** Returns whether the store answers. */
  readonly isUsable: () => boolean;
}

export class Meter {
  readonly #store: UsageStore;
  readonly #options: MeterOptions;
  /** Start time of the batch that is being added; Infinity when there is none. */
  #begunAt = Infinity;
  #isFailing = false;
  #nextProbe: Timer | undefined;
  #open: CountBatch | undefined;
  #adding: Promise<void> | undefined;
  /** The number of batches that the store failed to add. Their calls were answered with the fault. */
  failures = 0;

  constructor(store: UsageStore, options: MeterOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Whether the next call can be counted, as far as is known. If not, calls are refused. */
  get isCounting(): boolean {
    // A fault from before the whole store was lost says nothing about the store once it is back.
    this.#isFailing &&= this.#options.isUsable();
    return !this.#isFailing && this.#options.clock.elapsed() - this.#begunAt < LATE_MS;
  }

  /**
   * Counts calls at this time (UTC ISO 8601, `2026-11-20T…`). Calls from the explorer have no key. A negative number
   * cancels calls that were counted.
   */
  count(teamId: string, operation: string, now: string, caller: CallingKey | null, calls = 1): CountedCall {
    const { counts, byKey, added } = (this.#open ??= this.#openBatch());
    const [day, month] = [now.slice(0, 10), now.slice(0, 7)];
    const place = `${teamId} ${day} ${operation}`;
    counts.getOrInsertComputed(place, () => ({ teamId, day, operation, calls: 0 })).calls += calls;
    if (caller) {
      const { apiId, name } = caller;
      const unused = () => ({ teamId, month, apiId, name, calls: 0, usedAt: now });
      const ofKey = byKey.getOrInsertComputed(`${apiId} ${month}`, unused);
      ofKey.calls += calls;
      if (now > ofKey.usedAt) ofKey.usedAt = now;
    }
    return { monthRequests: async () => (await added.promise).get(`${teamId} ${month}`) ?? 0 };
  }

  /** Returns the tenant's calls of the month so far. */
  async monthTotal(teamId: string, now: string): Promise<number> {
    return (await this.#store.loadUsage(teamId, now.slice(0, 7))).total;
  }

  /** Resolves when everything counted so far is on disk. */
  async settled(): Promise<void> {
    const ignoreFault = () => undefined;
    while (this.#open ?? this.#adding) await (this.#open?.added.promise.then(ignoreFault, ignoreFault) ?? this.#adding);
  }

  #openBatch(): CountBatch {
    const added = Promise.withResolvers<ReadonlyMap<string, number>>();
    // All callers of a batch may have gone, so that no one awaits it.
    added.promise.catch(() => undefined);
    if (!this.#adding) setImmediate(() => void (this.#adding ??= this.#addBatches()));
    return { counts: new Map(), byKey: new Map(), added };
  }

  async #addBatches() {
    for (let batch = this.#open; batch; batch = this.#open) {
      this.#open = undefined;
      try {
        batch.added.resolve(await this.#add([...batch.counts.values()], [...batch.byKey.values()]));
      } catch (fault) {
        this.failures++;
        batch.added.reject(fault);
      }
    }
    this.#adding = undefined;
  }

  async #add(counts: readonly UsageCount[], byKey: readonly KeyCount[]): ReturnType<UsageStore['addUsage']> {
    const { clock, report, isUsable } = this.#options;
    this.#begunAt = clock.elapsed();
    try {
      const totals = await this.#store.addUsage(counts, byKey);
      if (this.#isFailing) report('Calls are counted again.');
      this.#isFailing = false;
      return totals;
    } catch (fault) {
      // While the whole store is lost, the node is not ready anyway, and others probe the store.
      const isOwn = isUsable();
      if (isOwn && !this.#isFailing) {
        report(`Calls cannot be counted, so the service refuses them until it can count again: ${describe(fault)}`);
        this.#probeAfter(0);
      }
      this.#isFailing = isOwn;
      throw fault;
    } finally {
      this.#begunAt = Infinity;
    }
  }

  #probeAfter(ms: number) {
    this.#nextProbe?.close();
    this.#nextProbe = this.#options.clock.after(ms, () => void this.#probe());
  }

  /**
   * Adds an empty batch, to find out whether the store counts again. A node that is not ready gets no calls that would
   * show it.
   */
  async #probe() {
    if (!this.#isFailing) return;
    const addBatches = () => this.#addBatches();
    this.#adding ??= this.#add([], []).then(addBatches, addBatches);
    await this.#adding;
    this.#probeAfter(PROBE_MS);
  }
}

function describe(fault: unknown): string {
  const { message, cause } = fault as Error;
  return typeof cause === 'string' ? `${message} (${cause})` : message;
}
