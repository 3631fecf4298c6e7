/**
 * Limits of calls: of a tenant a month and a second, none by default; of a user who looks at records. metering.ts
 * counts the calls.
 */
import { Refusal } from '../errors.ts';
import type { CountedCall } from './metering.ts';
import type { Tenant } from './port.ts';

const SWEPT_LEAST = 10_000;

interface Bucket {
  tokens: number;
  filledAt: number;
  /** From then on it is as good as one never used. */
  fullAt: number;
}

/** Calls a second by key, with a burst. Buckets that are full again are forgotten now and then. */
class RateBuckets {
  readonly #buckets = new Map<string, Bucket>();
  #sweepAt = SWEPT_LEAST;

  /** False when the calls are too many: the key has used its burst and `perSecond` since. */
  take(key: string, perSecond: number, burst: number, nowMs: number, calls = 1): boolean {
    const bucket = this.#buckets.get(key) ?? this.#add(key, burst, nowMs);
    bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.filledAt) / 1000) * perSecond);
    bucket.filledAt = nowMs;
    if (bucket.tokens < calls) return false;
    bucket.tokens -= calls;
    bucket.fullAt = nowMs + ((burst - bucket.tokens) / perSecond) * 1000;
    return true;
  }

  #add(key: string, tokens: number, nowMs: number): Bucket {
    const bucket = { tokens, filledAt: nowMs, fullAt: nowMs };
    if (this.#buckets.size >= this.#sweepAt) {
      for (const [other, { fullAt }] of this.#buckets) if (fullAt <= nowMs) this.#buckets.delete(other);
      this.#sweepAt = Math.max(SWEPT_LEAST, 2 * this.#buckets.size);
    }
    this.#buckets.set(key, bucket);
    return bucket;
  }
}

const LOOKS_PER_SECOND = 20;
const LOOKS_BURST = 200;

/** Looking at records in the dashboard is not metered, so it has a limit of its own, for each user. */
export class LookLimit {
  readonly #buckets = new RateBuckets();

  /** Throws RATE_LIMITED. */
  check(user: { readonly teamId: string; readonly email: string }, nowMs: number): void {
    if (this.#buckets.take(`${user.teamId} ${user.email}`, LOOKS_PER_SECOND, LOOKS_BURST, nowMs)) return;
    const message = `More than ${LOOKS_PER_SECOND} looks at records a second.`;
    throw new Refusal('RATE_LIMITED', message, { retryAfterSeconds: 1 });
  }
}

export class Limits {
  readonly #buckets = new RateBuckets();
  readonly #turns = new Map<string, Promise<void>>();

  /** Does work of a tenant after what it was asked for before. */
  async inTurn({ storeId }: Tenant, work: () => Promise<void>): Promise<void> {
    const before = this.#turns.get(storeId);
    const done = (before ?? Promise.resolve()).then(work, work);
    this.#turns.set(storeId, done);
    try {
      await done;
    } finally {
      if (this.#turns.get(storeId) === done) this.#turns.delete(storeId);
    }
  }

  /** Throws QUOTA_EXCEEDED or RATE_LIMITED. */
  async check(tenant: Tenant, counted: CountedCall, now: Date): Promise<void> {
    this.checkRate(tenant, now);
    if (tenant.monthQuota !== null) this.checkQuota(tenant, await counted.monthRequests(), now);
  }

  /** Throws RATE_LIMITED when so many calls are too many. The rate allows a burst of two seconds' calls. */
  checkRate({ storeId, callsPerSecond: perSecond }: Tenant, now: Date, calls = 1): void {
    if (perSecond === null) return;
    const burst = Math.max(1, perSecond * 2);
    if (this.#buckets.take(storeId, perSecond, burst, now.getTime(), calls)) return;
    const fewer = calls > burst ? ` A batch has at most ${Math.floor(burst)} steps.` : '';
    throw new Refusal('RATE_LIMITED', `More than ${perSecond} calls a second.${fewer}`, {
      retryAfterSeconds: Math.max(1, Math.ceil(Math.min(calls, burst) / perSecond)),
    });
  }

  /** Throws QUOTA_EXCEEDED when the calls of the month, those of a batch among them, are too many. */
  checkQuota({ monthQuota }: Tenant, monthRequests: number, now: Date, calls = 1): void {
    if (monthQuota === null || monthRequests <= monthQuota) return;
    const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
    const begins = new Date(nextMonth).toISOString();
    const left = Math.max(0, monthQuota + calls - monthRequests);
    const used = left === 0 ? 'is used up' : `has ${left} left, fewer than the batch has steps`;
    const message = `The monthly quota of ${monthQuota} requests ${used}; the next month begins ${begins}.`;
    const retryAfterSeconds = Math.ceil((nextMonth - now.getTime()) / 1000);
    throw new Refusal('QUOTA_EXCEEDED', message, { retryAfterSeconds });
  }
}
