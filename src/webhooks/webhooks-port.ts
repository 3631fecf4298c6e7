/**
 * The port for the endpoints of the tenants, their deliveries and the lease of the sender, implemented under store/.
 * Each method except deleteDeliveriesBefore is one transaction, in which a method with an `entry` appends it to the
 * audit log.
 */
import type { AuditEntry } from '../audit/audit.ts';
import type { Outcome } from '../errors.ts';

/** The progress of an endpoint's deliveries. */
export interface Progress {
  /** The number of the change after which the deliveries continue. */
  readonly position: number;
  readonly state: 'active' | 'paused';
  /** Why the endpoint is paused, in a sentence; '' while it is active. */
  readonly reason: string;
  /** Failed attempts in a row. */
  readonly failures: number;
  /** UTC ISO 8601; '' if no retry is scheduled. */
  readonly nextTryAt: string;
  /** Time of the last successful delivery; '' before the first. */
  readonly deliveredAt: string;
}

export interface Webhook extends Progress {
  readonly teamId: string;
  readonly id: string;
  readonly url: string;
  /** Types of records, such as `orders`, and events, such as `orders.created`. */
  readonly types: readonly string[];
  readonly createdAt: string;
  /** The store encrypts secrets; undefined if it cannot decrypt this one. */
  readonly secret: Uint8Array | undefined;
  /** The replaced secrets, newest first, without anything between; null if there are none. */
  readonly oldSecret: Uint8Array | null;
  /** The times until which they also sign, in the same order, with spaces between. */
  readonly oldSecretEndsAt: string;
  /** A number that every change by a person raises. */
  readonly revision: number;
}

export type WebhookChange = Partial<Omit<Webhook, 'types' | 'oldSecret'>>;

/** An attempt to deliver a change, or a test. */
export interface Attempt {
  /** The number of the change; '' for a test. */
  readonly seq: string;
  /** `orders.updated`, for example, or `test`. */
  readonly type: string;
  readonly key: string;
  readonly at: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** HTTP status of the answer; null without an answer. */
  readonly status: number | null;
  readonly error: string | null;
  readonly durationMs: number;
  /** The body that was sent. */
  readonly request: string;
  /** The beginning of the answer's body. */
  readonly response: string;
  readonly nextTryAt: string | null;
}

export interface Delivery extends Attempt {
  /** 1, 2, 3 … for each endpoint. */
  readonly number: number;
}

/** The lease of the sender. A lease whose tick has not moved for 30 seconds is free. */
export interface SenderLease {
  /** The node that sends; '' for none. */
  readonly owner: string;
  readonly tick: number;
  /** A number that rises whenever an endpoint is added, changed by a person, or removed. */
  readonly changes: number;
  readonly hasWebhooks: boolean;
}

export interface WebhookStore {
  /** Refuses (COMMAND_REFUSED) an endpoint above the maximum. */
  addWebhook(webhook: Webhook, entry: AuditEntry): Promise<Outcome<void>>;
  /** Lists the endpoints of a tenant, oldest first; without a tenant, those of all tenants. */
  listWebhooks(teamId?: string): Promise<Webhook[]>;
  findWebhook(teamId: string, id: string): Promise<Webhook | undefined>;
  /**
   * Changes an endpoint for a person. A new secret makes the stored one an old one, which signs until
   * `oldSecretEndsAt`. Returns false when there is no endpoint with this ID. Throws COMMAND_REFUSED for too many
   * secrets.
   */
  changeWebhook(teamId: string, id: string, change: WebhookChange, entry: AuditEntry): Promise<boolean>;
  /**
   * Replaces the key that encrypts the secrets of all tenants. Appends the entry to the audit log of each tenant with
   * endpoints. Returns the number of endpoints.
   */
  replaceSealingKey(entry: AuditEntry): Promise<number>;
  removeWebhook(teamId: string, id: string, entry: AuditEntry): Promise<boolean>;

  /**
   * Saves the progress of the sender, and adds the attempts to the deliveries. Returns false, and saves nothing, when a
   * person or another node has changed the endpoint since it was loaded.
   */
  saveProgress(webhook: Webhook, progress: Progress, attempts: readonly Attempt[]): Promise<boolean>;
  addTest(webhook: Webhook, attempt: Attempt): Promise<void>;
  /** Loads deliveries with a number below `before` that are not older than `from`, newest first. */
  loadDeliveries(id: string, before: number, from: string, limit: number): Promise<Delivery[]>;
  deleteDeliveriesBefore(at: string): Promise<void>;

  loadLease(): Promise<SenderLease>;
  /** Gives the lease to `owner`, and moves its tick. Returns false when the tick is no longer `tick`. */
  takeLease(owner: string, tick: number): Promise<boolean>;
}
