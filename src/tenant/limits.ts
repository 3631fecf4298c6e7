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

  /** False when the call is one too many: the key has used its burst and `perSecond` since. */
  take(key: string, perSecond: number, burst: number, nowMs: number): boolean {
    const bucket = this.#buckets.get(key) ?? this.#add(key, burst, nowMs);
    bucket.tokens = Math.min(burst, bucket.tokens + (Math.max(0, nowMs - bucket.filledAt) / 1000) * perSecond);
    bucket.filledAt = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens--;
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

  /** Throws QUOTA_EXCEEDED or RATE_LIMITED. The rate allows a burst of two seconds' calls. */
  async check(tenant: Tenant, counted: CountedCall, now: Date): Promise<void> {
    if (tenant.callsPerSecond !== null && !this.#take(tenant.storeId, tenant.callsPerSecond, now.getTime()))
      throw new Refusal('RATE_LIMITED', `More than ${tenant.callsPerSecond} calls a second.`, {
        retryAfterSeconds: Math.max(1, Math.ceil(1 / tenant.callsPerSecond)),
      });
    if (tenant.monthQuota !== null && (await counted.monthRequests()) > tenant.monthQuota) {
      const nextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
      const begins = new Date(nextMonth).toISOString();
      const message = `The monthly quota of ${tenant.monthQuota} requests is used up; the next month begins ${begins}.`;
      const retryAfterSeconds = Math.ceil((nextMonth - now.getTime()) / 1000);
      throw new Refusal('QUOTA_EXCEEDED', message, { retryAfterSeconds });
    }
  }

  #take(storeId: string, perSecond: number, nowMs: number): boolean {
    return this.#buckets.take(storeId, perSecond, Math.max(1, perSecond * 2), nowMs);
  }
}
