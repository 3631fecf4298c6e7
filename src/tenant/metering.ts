/**
 * Counts every authenticated call, exactly and durably. Calls that arrive while the store adds a batch share the next
 * one, and an answer waits for the batch of its call. Source: decision 0008.
 */
import type { Clock, Timer } from '../clock.ts';
import type { CallingKey, KeyCount, UsageCount, UsageStore } from './tenant-port.ts';

interface CountBatch {
  readonly counts: Map<string, UsageCount>;
  /** The calls of `counts` that came with a key. */
  readonly byKey: Map<string, KeyCount>;
  readonly added: Promise<ReadonlyMap<string, number>>;
  readonly settle: { resolve: (totals: ReadonlyMap<string, number>) => void; reject: (fault: unknown) => void };
}

/** `monthRequests` resolves to the tenant's total when the count is durable; then the answer may leave. */
export interface CountedCall {
  monthRequests(): Promise<number>;
}

/** A batch that waits for so long is as good as one that was not taken. */
const LATE_MS = 5000;
const PROBE_MS = 1000;

export interface MeterOptions {
  readonly clock: Clock;
  /** Called when calls cannot be counted, and when they can again. */
  readonly report: (event: string) => void;
  /** Whether the store answers. */
  readonly isUsable: () => boolean;
}

export class Meter {
  readonly #store: UsageStore;
  readonly #options: MeterOptions;
  /** When the batch that is being added was begun. */
  #begunAt = Infinity;
  #isFailing = false;
  #nextProbe: Timer | undefined;
  #open: CountBatch | undefined;
  #adding: Promise<void> | undefined;
  /** Batches that the store did not take. Their calls were answered with the fault. */
  failures = 0;

  constructor(store: UsageStore, options: MeterOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Whether the next call can be counted, as far as is known. Where it cannot, it is refused. */
  get isCounting(): boolean {
    // What was wrong before a store was gone as a whole says nothing of it once it is back.
    this.#isFailing &&= this.#options.isUsable();
    return !this.#isFailing && this.#options.clock.elapsed() - this.#begunAt < LATE_MS;
  }

  /**
   * Counts calls at this time (UTC ISO 8601, `2026-11-20T…`). Those of the explorer have no key. Fewer than none takes
   * counted ones back.
   */
  count(teamId: string, operation: string, now: string, caller: CallingKey | null, calls = 1): CountedCall {
    const batch = (this.#open ??= this.#openBatch());
    const day = now.slice(0, 10);
    const key = `${teamId} ${day} ${operation}`;
    const entry = batch.counts.get(key);
    if (entry) entry.calls += calls;
    else batch.counts.set(key, { teamId, day, operation, calls });
    if (caller) countKey(batch.byKey, teamId, now, caller, calls);
    return { monthRequests: async () => (await batch.added).get(`${teamId} ${day.slice(0, 7)}`) ?? 0 };
  }

  /** The tenant's calls of the month so far. */
  async monthTotal(teamId: string, now: string): Promise<number> {
    return (await this.#store.loadUsage(teamId, now.slice(0, 7))).total;
  }

  /** Resolves when everything counted so far is on disk. */
  async settled(): Promise<void> {
    const ignoreFault = (): void => undefined;
    while (this.#open ?? this.#adding) await (this.#open?.added.then(ignoreFault, ignoreFault) ?? this.#adding);
  }

  #openBatch(): CountBatch {
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, number>>();
    // A batch may have no one waiting, as its callers can be gone.
    promise.catch(() => undefined);
    if (!this.#adding) setImmediate(() => void (this.#adding ??= this.#addBatches()));
    return { counts: new Map(), byKey: new Map(), added: promise, settle: { resolve, reject } };
  }

  async #addBatches(): Promise<void> {
    for (let batch = this.#open; batch; batch = this.#open) {
      this.#open = undefined;
      try {
        batch.settle.resolve(await this.#add([...batch.counts.values()], [...batch.byKey.values()]));
      } catch (fault) {
        this.failures++;
        batch.settle.reject(fault);
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
      // A store that is gone as a whole is not ready without this, and is asked by others.
      const isOwn = isUsable();
      if (isOwn && !this.#isFailing) {
        report(`Calls cannot be counted, and are refused until they can: ${describe(fault)}`);
        this.#probeAfter(0);
      }
      this.#isFailing = isOwn;
      throw fault;
    } finally {
      this.#begunAt = Infinity;
    }
  }

  #probeAfter(ms: number): void {
    this.#nextProbe?.close();
    this.#nextProbe = this.#options.clock.after(ms, () => void this.#probe());
  }

  /** A node that is not ready gets no calls, by whose counts it would see that they are taken again. */
  async #probe(): Promise<void> {
    if (!this.#isFailing) return;
    this.#adding ??= this.#add([], []).then(
      () => this.#addBatches(),
      () => this.#addBatches(),
    );
    await this.#adding;
    this.#probeAfter(PROBE_MS);
  }
}

function describe(fault: unknown): string {
  const { message, cause } = fault as Error;
  return typeof cause === 'string' ? `${message} (${cause})` : message;
}

function countKey(
  byKey: Map<string, KeyCount>,
  teamId: string,
  now: string,
  { apiId, name }: CallingKey,
  calls: number,
): void {
  const month = now.slice(0, 7);
  const first = byKey.get(apiId);
  // A text made for each call would cost more than the rest. In the batch that spans two months the second has one.
  const place = first === undefined || first.month === month ? apiId : `${apiId} ${month}`;
  const entry = place === apiId ? first : byKey.get(place);
  if (!entry) {
    byKey.set(place, { teamId, month, apiId, name, calls, usedAt: now });
    return;
  }
  entry.calls += calls;
  if (now > entry.usedAt) entry.usedAt = now;
}
