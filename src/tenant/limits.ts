/** The limits of a tenant: calls a month and calls a second, none by default. metering.ts counts the calls. */
import { Refusal } from '../errors.ts';
import type { CountedCall } from './metering.ts';
import type { Tenant } from './port.ts';

interface Bucket {
  tokens: number;
  filledAt: number;
}

export class Limits {
  readonly #buckets = new Map<string, Bucket>();

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
    const most = Math.max(1, perSecond * 2);
    const bucket = this.#buckets.get(storeId) ?? { tokens: most, filledAt: nowMs };
    this.#buckets.set(storeId, bucket);
    bucket.tokens = Math.min(most, bucket.tokens + (Math.max(0, nowMs - bucket.filledAt) / 1000) * perSecond);
    bucket.filledAt = nowMs;
    if (bucket.tokens < 1) return false;
    bucket.tokens--;
    return true;
  }
}
