/**
 * Counts every authenticated call, exactly and durably: calls that arrive while the store adds a batch share the next
 * batch, and a response waits for the batch of its call (decision 0008). Limits the calls of a tenant per month and per
 * second (there is no limit by default), and the calls of each user of the dashboard.
 */
import { formatTime, type Clock, type Timer } from '../clock.ts';
import { Refusal, refuseForNow } from '../errors.ts';
import type { CallingKey, KeyCount, Tenant, UsageCount, UsageStore } from './tenant-port.ts';

/** Returns the calls per month that a tenant may make: the lower of the limits of operator and owners, or null. */
export const quotaOf = ({ monthQuota, ownQuota }: Tenant): number | null =>
  monthQuota === null || ownQuota === null ? (monthQuota ?? ownQuota) : Math.min(monthQuota, ownQuota);

interface CountBatch {
  readonly counts: Map<string, UsageCount>;
  /** The calls in `counts` that were sent with a key. */
  readonly byKey: Map<string, KeyCount>;
  readonly committed: PromiseWithResolvers<void>;
  readonly added: PromiseWithResolvers<ReadonlyMap<string, number>>;
}

/** A counted call. `monthRequests` resolves to the tenant's total once the count is durable. Responses wait for it. */
export interface CountedCall {
  /** Rejects if the call cannot be counted. Its write begins when this has resolved. */
  mayWrite(): Promise<unknown> | undefined;
  monthRequests(): Promise<number>;
}

/** A batch that the store has not added within this time counts as failed. */
const LATE_MS = 5000;
const PROBE_MS = 1000;

interface MeterOptions {
  readonly clock: Clock;
  /** Reports that calls cannot be counted, and that they can be counted again. */
  readonly report: (event: string) => void;
  /** Returns whether the store answers. */
  readonly isUsable: () => boolean;
  /** Whether each write waits until its count is committed, which costs no time if only the sync takes long. */
  readonly isCountFirst?: boolean;
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
    // Once the whole store is lost, an earlier fault of counting says nothing about the store when it is back.
    this.#isFailing &&= this.#options.isUsable();
    return !this.#isFailing && this.#options.clock.elapsed() - this.#begunAt < LATE_MS;
  }

  /**
   * Counts calls at this time (UTC ISO 8601, `2026-11-20T…`). Calls from the explorer have no key. A negative number
   * cancels calls that were counted.
   */
  countCall(teamId: string, operation: string, now: string, caller: CallingKey | null, calls = 1): CountedCall {
    const { counts, byKey, committed, added } = (this.#open ??= this.#openBatch());
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
    return {
      mayWrite: () => {
        if (this.#isFailing) return added.promise;
        return this.#options.isCountFirst === true ? committed.promise : undefined;
      },
      monthRequests: async () => (await added.promise).get(`${teamId} ${month}`) ?? 0,
    };
  }

  async monthTotal(teamId: string, now: string): Promise<number> {
    return (await this.#store.loadUsage(teamId, now.slice(0, 7))).total;
  }

  /** Resolves when everything counted so far is on disk. */
  async settled(): Promise<void> {
    const ignoreFault = () => undefined;
    while (this.#open ?? this.#adding) await (this.#open?.added.promise.then(ignoreFault, ignoreFault) ?? this.#adding);
  }

  #openBatch(): CountBatch {
    const [committed, added] = [Promise.withResolvers<void>(), Promise.withResolvers<ReadonlyMap<string, number>>()];
    // All callers of a batch may have disconnected, so that no one awaits it.
    for (const { promise } of [committed, added]) promise.catch(() => undefined);
    // A probe may have taken the batch by then. Without one, #addBatches would end before it is assigned.
    if (!this.#adding) setImmediate(() => void (this.#open && (this.#adding ??= this.#addBatches())));
    return { counts: new Map(), byKey: new Map(), committed, added };
  }

  async #addBatches() {
    for (let batch = this.#open; batch; batch = this.#open) {
      const { counts, byKey, committed, added } = batch;
      this.#open = undefined;
      try {
        added.resolve(await this.#addCounted([...counts.values()], [...byKey.values()], committed.resolve));
      } catch (fault) {
        this.failures++;
        for (const { reject } of [committed, added]) reject(fault);
      }
    }
    this.#adding = undefined;
  }

  async #addCounted(...counts: Parameters<UsageStore['addUsage']>): ReturnType<UsageStore['addUsage']> {
    const { clock, report, isUsable } = this.#options;
    this.#begunAt = clock.elapsed();
    try {
      const totals = await this.#store.addUsage(...counts);
      if (this.#isFailing) report('Calls are counted again.');
      this.#isFailing = false;
      return totals;
    } catch (fault) {
      // While the whole store is lost, the node is not ready anyway, and the store is probed elsewhere.
      const isOwn = isUsable();
      if (isOwn && !this.#isFailing) {
        report(`Calls cannot be counted, so the service refuses them until it can count again: ${explainFault(fault)}`);
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
   * Adds an empty batch, to find out whether the store counts again. A node that is not ready gets no calls from which
   * it could find out.
   */
  async #probe() {
    if (!this.#isFailing) return;
    const addBatches = () => this.#addBatches();
    this.#adding ??= this.#addCounted([], []).then(addBatches, addBatches);
    await this.#adding;
    this.#probeAfter(PROBE_MS);
  }
}

function explainFault(fault: unknown): string {
  const { message, cause } = fault as Error;
  return typeof cause === 'string' ? `${message} (${cause})` : message;
}

const SWEPT_LEAST = 10_000;

interface Bucket {
  tokens: number;
  filledAt: number;
  /** The time from which the bucket equals an unused one. */
  fullAt: number;
}

/** Limits the calls per second of each tenant or user, with a burst. Deletes full buckets from time to time. */
class RateBuckets {
  readonly #buckets = new Map<string, Bucket>();
  #sweepAt = SWEPT_LEAST;

  /** Takes calls out of the bucket of a key. Returns false when the bucket has fewer left. */
  takeCalls(key: string, perSecond: number, burst: number, nowMs: number, calls = 1): boolean {
    const tokens = this.left(key, perSecond, burst, nowMs);
    const isWithin = tokens >= calls;
    const left = isWithin ? tokens - calls : tokens;
    if (!this.#buckets.has(key)) this.#sweep(nowMs);
    this.#buckets.set(key, { tokens: left, filledAt: nowMs, fullAt: nowMs + ((burst - left) / perSecond) * 1000 });
    return isWithin;
  }

  /** Returns the number of calls that the key may make now. */
  left(key: string, perSecond: number, burst: number, nowMs: number): number {
    const { tokens, filledAt } = this.#buckets.get(key) ?? { tokens: burst, filledAt: nowMs };
    return Math.min(burst, tokens + (Math.max(0, nowMs - filledAt) / 1000) * perSecond);
  }

  #sweep(nowMs: number) {
    if (this.#buckets.size < this.#sweepAt) return;
    for (const [other, { fullAt }] of this.#buckets) if (fullAt <= nowMs) this.#buckets.delete(other);
    this.#sweepAt = Math.max(SWEPT_LEAST, 2 * this.#buckets.size);
  }
}

const USER_CALLS_PER_SECOND = 20;
const USER_CALLS_BURST = 200;

/** Returns the number of calls that a rate allows at once: the calls of two seconds. */
const burstOf = (perSecond: number) => Math.max(1, perSecond * 2);

export class Limits {
  readonly #buckets = new RateBuckets();
  readonly #users = new RateBuckets();
  readonly #latestWork = new Map<string, Promise<void>>();

  /** Runs work of a tenant after its earlier work has ended. */
  async runAfterEarlier({ storeId }: Tenant, work: () => Promise<void>): Promise<void> {
    const before = this.#latestWork.get(storeId);
    const done = (before ?? Promise.resolve()).then(work, work);
    this.#latestWork.set(storeId, done);
    try {
      await done;
    } finally {
      if (this.#latestWork.get(storeId) === done) this.#latestWork.delete(storeId);
    }
  }

  /** Checks the rate, then the quota. Throws RATE_LIMITED or QUOTA_EXCEEDED. */
  async checkLimits(tenant: Tenant, counted: CountedCall, now: Date): Promise<void> {
    this.checkRate(tenant, now);
    if (quotaOf(tenant) !== null) this.checkQuota(tenant, await counted.monthRequests(), now);
  }

  /** Throws RATE_LIMITED when the tenant may not make this many calls now. */
  checkRate({ storeId, callsPerSecond: perSecond }: Tenant, now: Date, calls = 1): void {
    if (perSecond === null) return;
    if (this.#buckets.takeCalls(storeId, perSecond, burstOf(perSecond), now.getTime(), calls)) return;
    const retryAfterSeconds = Math.max(1, Math.ceil(calls / perSecond));
    const message = `Rate limit exceeded (${perSecond} per second). Retry after ${retryAfterSeconds} s.`;
    throw new Refusal('RATE_LIMITED', message, { retryAfterSeconds });
  }

  /** Throws RATE_LIMITED when the user of the dashboard may not make a call now. */
  checkUser({ teamId }: Tenant, email: string, nowMs: number): void {
    if (this.#users.takeCalls(`${teamId} ${email}`, USER_CALLS_PER_SECOND, USER_CALLS_BURST, nowMs)) return;
    const message = `Rate limit exceeded (${USER_CALLS_PER_SECOND} calls per second for a user). Retry after 1 s.`;
    throw refuseForNow('RATE_LIMITED', message);
  }

  /** Throws BATCH_TOO_LONG for a batch that the tenant's limits never allow, since waiting would not help. */
  checkSteps(tenant: Tenant, calls: number): void {
    const { callsPerSecond } = tenant;
    const monthQuota = quotaOf(tenant);
    const refuseBatch = (limit: string, most: number): never => {
      throw new Refusal(
        'BATCH_TOO_LONG',
        `With ${limit}, a batch can have at most ${most} steps, not ${calls}. Send fewer steps.`,
      );
    };
    const burst = callsPerSecond === null ? Infinity : Math.floor(burstOf(callsPerSecond));
    if (calls > burst) refuseBatch(`a rate of ${callsPerSecond} calls per second`, burst);
    if (monthQuota !== null && calls > monthQuota) refuseBatch(`a quota of ${monthQuota} calls per month`, monthQuota);
  }

  /**
   * Renders the headers with a tenant's limits, such as `RateLimit-Policy: "rate";q=20;w=2, "quota";q=1000;w=2592000`
   * and `RateLimit: "rate";r=19;t=1, "quota";r=999;t=86400`. Source: draft-ietf-httpapi-ratelimit-headers.
   */
  renderHeaders(tenant: Tenant, monthRequests: number, now: Date) {
    const { storeId, callsPerSecond: perSecond } = tenant;
    const monthQuota = quotaOf(tenant);
    const policies: string[] = [];
    const states: string[] = [];
    if (perSecond !== null) {
      const burst = burstOf(perSecond);
      const left = this.#buckets.left(storeId, perSecond, burst, now.getTime());
      policies.push(`"rate";q=${Math.floor(burst)};w=${Math.ceil(burst / perSecond)}`);
      states.push(`"rate";r=${Math.floor(left)};t=${Math.ceil((burst - left) / perSecond)}`);
    }
    if (monthQuota !== null) {
      const [begins, ends] = [startOfMonth(now, 0), startOfMonth(now, 1)];
      policies.push(`"quota";q=${monthQuota};w=${(ends - begins) / 1000}`);
      states.push(`"quota";r=${Math.max(0, monthQuota - monthRequests)};t=${Math.ceil((ends - now.getTime()) / 1000)}`);
    }
    return { 'ratelimit-policy': policies.join(', '), ratelimit: states.join(', ') };
  }

  /** Throws QUOTA_EXCEEDED when the month has too many calls. `monthRequests` includes the `calls` of a batch. */
  checkQuota(tenant: Tenant, monthRequests: number, now: Date, calls = 1): void {
    const monthQuota = quotaOf(tenant);
    if (monthQuota === null || monthRequests <= monthQuota) return;
    const nextMonth = startOfMonth(now, 1);
    const begins = formatTime(nextMonth);
    const left = Math.max(0, monthQuota + calls - monthRequests);
    const used = left === 0 ? 'is used up' : `has ${left} left, fewer than the batch has steps`;
    const message = `The monthly quota of ${monthQuota} requests ${used}. It is renewed at ${begins}.`;
    const retryAfterSeconds = Math.ceil((nextMonth - now.getTime()) / 1000);
    throw new Refusal('QUOTA_EXCEEDED', message, { retryAfterSeconds });
  }
}

const startOfMonth = (now: Date, monthsAhead: number) =>
  Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + monthsAhead);
