/** The error that a failed call throws. */
import type { ErrorCode } from './contract.ts';

/** The body of a refusal. */
export interface Refusal {
  readonly code: string;
  readonly message?: string;
  readonly field?: string;
  readonly suggestion?: string;
  readonly step?: number;
  readonly earliest?: string;
  readonly requestId?: string;
  readonly remedy?: string;
  readonly docs?: string;
}

interface Circumstances {
  readonly operation: string;
  readonly status: number;
  readonly requestId?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly etag?: string | undefined;
  readonly stepsMax?: number | undefined;
  readonly cause?: unknown;
}

/** Codes after which a wait can help. A call that gets a 5xx or no response can also be repeated. */
const REPEATED: readonly string[] = [
  'REQUEST_TIMEOUT',
  'RATE_LIMITED',
  'TOO_MANY_QUERIES',
  'TOO_MANY_WAITING',
  'IDEMPOTENCY_KEY_RUNNING',
];
/** Statuses that a balancer or proxy in front of the service may return with its own body. */
const REPEATED_STATUSES: readonly number[] = [200, 408, 425, 429];

/**
 * A call that was refused or not answered. Branch on `code`. The codes are those of docs/errors.md, and
 * - `NO_ANSWER`: the time was up or the connection ended. `status` is 0, and whether a write took effect is unknown.
 * - `UNREADABLE_ANSWER`: the response is not from Storeroom. Check `baseUrl` and the proxies in between.
 */
export class StoreroomError extends Error {
  override readonly name = 'StoreroomError';
  readonly code: ErrorCode | 'NO_ANSWER' | 'UNREADABLE_ANSWER' | (string & Record<never, never>);
  /** HTTP status, or 0 without a response. */
  readonly status: number;
  /** Name of the operation, such as `createOrder`. */
  readonly operation: string;
  /** The parameter or field that is wrong. */
  readonly field: string | undefined;
  /** The nearest known name, or the ORDER_NUMBER that a line moved to. */
  readonly suggestion: string | undefined;
  /** The step of a batch that was refused, from 0. */
  readonly step: number | undefined;
  /** The remedy, in a sentence. */
  readonly remedy: string | undefined;
  /** The path where the service documents the code, such as `/docs/errors#NOT_FOUND`. */
  readonly docs: string | undefined;
  /** The ID of the request. Quote it when you report a fault. */
  readonly requestId: string | undefined;
  /** Seconds to wait. For `QUOTA_EXCEEDED`, this can be days. */
  readonly retryAfter: number | undefined;
  /** For `RECORD_CHANGED`, the current ETag. */
  readonly etag: string | undefined;
  /** For `BATCH_TOO_LONG`, the maximum steps of a batch of this tenant, if its rate limits them. */
  readonly stepsMax: number | undefined;
  /** For `CHANGES_GONE`, the lowest `after` that the service accepts. */
  readonly earliest: string | undefined;
  /** For `createWithLines`, the order that earlier batches have written, if there is one. */
  readonly orderNumber: string | undefined = undefined;
  /** Whether the same call may succeed later. The client has then used up its tries or time. */
  readonly repeatable: boolean;

  constructor(refusal: Refusal, { operation, status, requestId, retryAfter, etag, stepsMax, cause }: Circumstances) {
    super(`${refusal.code}: ${refusal.message ?? ''}`, cause === undefined ? undefined : { cause });
    this.code = refusal.code;
    this.status = status;
    this.operation = operation;
    this.field = refusal.field;
    this.suggestion = refusal.suggestion;
    this.step = refusal.step;
    this.earliest = refusal.earliest;
    this.remedy = refusal.remedy;
    this.docs = refusal.docs;
    this.requestId = refusal.requestId ?? requestId;
    this.retryAfter = retryAfter;
    this.etag = etag;
    this.stepsMax = refusal.code === 'BATCH_TOO_LONG' ? stepsMax : undefined;
    this.repeatable =
      status === 0 ||
      status >= 500 ||
      REPEATED.includes(refusal.code) ||
      (refusal.code === 'UNREADABLE_ANSWER' && REPEATED_STATUSES.includes(status));
  }

  /** Returns every member for a log. `JSON.stringify` leaves out the message of an ordinary error. */
  toJSON(): Record<string, unknown> {
    const { name, message, code, status, operation, field, suggestion, step } = this;
    const { remedy, docs, requestId, retryAfter, etag, stepsMax, earliest, orderNumber, repeatable } = this;
    const wrong = { name, message, code, status, operation, field, suggestion, step };
    return { ...wrong, remedy, docs, requestId, retryAfter, etag, stepsMax, earliest, orderNumber, repeatable };
  }
}
