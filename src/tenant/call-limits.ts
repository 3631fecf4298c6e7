/**
 * Limits of calls: of a tenant a month and a second, none by default; of a user who looks at records. metering.ts
 * counts the calls.
 */
import { Refusal } from '../errors.ts';
import type { CountedCall } from './metering.ts';
import type { Tenant } from './tenant-port.ts';

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
    bucket.tokens = this.left(key, perSecond, burst, nowMs);
    bucket.filledAt = nowMs;
    if (bucket.tokens < calls) return false;
    bucket.tokens -= calls;
    bucket.fullAt = nowMs + ((burst - bucket.tokens) / perSecond) * 1000;
    return true;
  }

  /** The calls that the key may make now. */
  left(key: string, perSecond: number, burst: number, nowMs: number): number {
    const { tokens, filledAt } = this.#buckets.get(key) ?? { tokens: burst, filledAt: nowMs };
    return Math.min(burst, tokens + (Math.max(0, nowMs - filledAt) / 1000) * perSecond);
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

/** Looking at records in the dashboard is not metered, so it has a separate limit for each user. */
export class LookLimit {
  readonly #buckets = new RateBuckets();

  /** Throws RATE_LIMITED. */
  check(user: { readonly teamId: string; readonly email: string }, nowMs: number): void {
    if (this.#buckets.take(`${user.teamId} ${user.email}`, LOOKS_PER_SECOND, LOOKS_BURST, nowMs)) return;
    const message = `More than ${LOOKS_PER_SECOND} looks at records a second.`;
    throw new Refusal('RATE_LIMITED', message, { retryAfterSeconds: 1 });
  }
}

/** The calls that a rate allows at once: those of two seconds. */
const burstOf = (perSecond: number): number => Math.max(1, perSecond * 2);

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

  /** Throws RATE_LIMITED when that many calls are too many. */
  checkRate({ storeId, callsPerSecond: perSecond }: Tenant, now: Date, calls = 1): void {
    if (perSecond === null) return;
    if (this.#buckets.take(storeId, perSecond, burstOf(perSecond), now.getTime(), calls)) return;
    const retryAfterSeconds = Math.max(1, Math.ceil(calls / perSecond));
    const message = `The rate of ${perSecond} calls a second is exceeded. Retry after ${retryAfterSeconds} s.`;
    throw new Refusal('RATE_LIMITED', message, { retryAfterSeconds });
  }

  /** Throws BATCH_TOO_LONG for more calls at once than the tenant's rate and quota ever allow: waiting never helps. */
  checkSteps({ callsPerSecond, monthQuota }: Tenant, calls: number): void {
    const refuse = (limit: string, most: number): never => {
      throw new Refusal('BATCH_TOO_LONG', `At ${limit} a batch has at most ${most} steps, not ${calls}.`);
    };
    const burst = callsPerSecond === null ? Infinity : Math.floor(burstOf(callsPerSecond));
    if (calls > burst) refuse(`the rate of ${callsPerSecond} calls a second`, burst);
    if (monthQuota !== null && calls > monthQuota) refuse(`the quota of ${monthQuota} calls a month`, monthQuota);
  }

  /**
   * The headers that tell a caller its limits, e.g. `RateLimit-Policy: "rate";q=20;w=2, "quota";q=1000;w=2592000` and
   * `RateLimit: "rate";r=19;t=1, "quota";r=999;t=86400`. Source: draft-ietf-httpapi-ratelimit-headers.
   */
  renderHeaders(tenant: Tenant, monthRequests: number, now: Date): Record<'ratelimit-policy' | 'ratelimit', string> {
    const { storeId, callsPerSecond: perSecond, monthQuota } = tenant;
    const policies: string[] = [];
    const states: string[] = [];
    if (perSecond !== null) {
      const burst = burstOf(perSecond);
      const left = this.#buckets.left(storeId, perSecond, burst, now.getTime());
      policies.push(`"rate";q=${Math.floor(burst)};w=${Math.ceil(burst / perSecond)}`);
      states.push(`"rate";r=${Math.floor(left)};t=${Math.ceil((burst - left) / perSecond)}`);
    }
    if (monthQuota !== null) {
      const [begins, ends] = [0, 1].map((months) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months)) as [
        number,
        number,
      ];
      policies.push(`"quota";q=${monthQuota};w=${(ends - begins) / 1000}`);
      states.push(`"quota";r=${Math.max(0, monthQuota - monthRequests)};t=${Math.ceil((ends - now.getTime()) / 1000)}`);
    }
    return { 'ratelimit-policy': policies.join(', '), ratelimit: states.join(', ') };
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
