/**
 * Delivers the changes of all tenants to their endpoints. One node of an installation sends at a time: it holds a lease
 * in the store. Each endpoint has a separate loop, so that no receiver delays another.
 */
import { randomUUID } from 'node:crypto';
import { every, type Clock, type Timer } from '../clock.ts';
import type { Tenant, TenantStore } from '../tenant/tenant-port.ts';
import type { WebhookServices } from './administration.ts';
import { CHANGED, EndpointLoop, wait } from './endpoint-loop.ts';
import { Lease } from './lease.ts';
import { messageOf, send, type SentMessage } from './messages.ts';
import { Places } from './places.ts';
import { Poster } from './poster.ts';
import { DELIVERY_DAYS } from './webhooks.ts';
import type { Webhook } from './webhooks-port.ts';

/** How often a node looks for changed endpoints, and at the lease. */
const LOOK_MS = 2000;
/** Time after a fault of the store until an endpoint is tried again. */
const FAULT_MS = 10_000;
/** Deliveries at the same time. Receivers that fail or are slow have separate places. */
const PROMPT_PLACES = 192;
const SLOW_PLACES = 64;
const DAY_MS = 86_400_000;

interface SenderOptions extends WebhookServices {
  readonly tenants: Pick<TenantStore, 'findTenant'>;
  /** Resolves when a change may have been committed since the call, or when the signal aborts. */
  readonly nextChange: (tenant: Tenant, ended: AbortSignal) => Promise<void>;
  readonly report: (event: string) => void;
  /** Whether no other process can send: the embedded store has one service. */
  readonly isAlone: boolean;
}

/** The loop of an endpoint. */
interface Follower {
  readonly revision: number;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class WebhookSender {
  readonly #options: SenderOptions;
  readonly #clock: Clock;
  readonly #poster: Poster;
  readonly #lease: Lease;
  readonly #prompt = new Places(PROMPT_PLACES);
  readonly #slow = new Places(SLOW_PLACES);
  readonly #followers = new Map<string, Follower>();
  /** Loops that were stopped and have not ended yet. */
  readonly #ending = new Set<Promise<void>>();
  /** The time of the oldest change that each endpoint has not received. */
  readonly #waitingSince = new Map<string, number>();
  readonly #stopped = new AbortController();
  #key: Uint8Array = new Uint8Array();
  #seenChanges = -1;
  #paused = 0;
  #failures = 0;
  #looking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isFaulty = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#poster = new Poster(options);
    this.#lease = new Lease(options.webhooks, { ...options, owner: randomUUID() });
  }

  start(): void {
    this.#look();
    this.#timer = every(this.#clock, LOOK_MS, () => this.#look());
  }

  /** Stops at once. A delivery in flight is ended, and made again by the next sender. */
  async close(): Promise<void> {
    this.#stopped.abort();
    this.#timer?.close();
    await this.#looking;
    await this.#stopAll();
    await this.#lease.release().catch(() => undefined);
    await this.#poster.close();
  }

  /** Deletes deliveries of more than 30 days ago. */
  async deleteExpired(nowMs: number): Promise<void> {
    await this.#options.webhooks.deleteDeliveriesBefore(new Date(nowMs - DELIVERY_DAYS * DAY_MS).toISOString());
  }

  /** Measures the deliveries of this node; zeros for a node that does not send. */
  measure(): { lagSeconds: number; failures: number; paused: number } {
    const oldest = Math.min(...this.#waitingSince.values());
    const lagMs = this.#waitingSince.size === 0 ? 0 : Math.max(0, this.#clock.now() - oldest);
    return { lagSeconds: lagMs / 1000, failures: this.#failures, paused: this.#paused };
  }

  #look(): void {
    this.#looking ??= this.#lookAndReport().finally(() => (this.#looking = undefined));
  }

  async #lookAndReport(): Promise<void> {
    try {
      await this.#lookOnce();
      this.#isFaulty = false;
    } catch (fault) {
      if (!this.#isFaulty) this.#options.report(`Webhooks wait for the store: ${(fault as Error).message}`);
      this.#isFaulty = true;
    }
    if (!this.#lease.isHeld) await this.#stopAll();
  }

  async #lookOnce(): Promise<void> {
    const { changes } = await this.#lease.keep();
    if (!this.#lease.isHeld || changes === this.#seenChanges || this.#stopped.signal.aborted) return;
    const { webhooks } = this.#options;
    this.#key = await webhooks.loadSealingKey();
    const found = await webhooks.listWebhooks();
    this.#paused = found.filter(({ state }) => state === 'paused').length;
    const byId = new Map(found.map((webhook) => [webhook.id, webhook]));
    for (const [id, { revision }] of this.#followers)
      if (byId.get(id)?.revision !== revision || byId.get(id)?.state === 'paused') this.#stop(id);
    for (const webhook of found) if (webhook.state === 'active') this.#start(webhook);
    this.#seenChanges = changes;
  }

  #start(webhook: Webhook): void {
    if (this.#followers.has(webhook.id) || this.#stopped.signal.aborted) return;
    const stop = new AbortController();
    // The loop that went before may still end a delivery.
    const ended = Promise.all(this.#ending).then(() => this.#follow(webhook, stop.signal));
    this.#followers.set(webhook.id, { revision: webhook.revision, stop, ended });
  }

  #stop(id: string): void {
    const { stop, ended } = this.#followers.get(id)!;
    this.#followers.delete(id);
    this.#waitingSince.delete(id);
    stop.abort();
    this.#ending.add(ended);
    void ended.then(() => this.#ending.delete(ended));
  }

  async #stopAll(): Promise<void> {
    for (const id of this.#followers.keys()) this.#stop(id);
    await Promise.all(this.#ending);
    this.#seenChanges = -1;
    this.#paused = 0;
  }

  /** Runs the loop of an endpoint until it is paused, removed or stopped. Never throws. */
  async #follow(first: Webhook, signal: AbortSignal): Promise<void> {
    const { teamId, id } = first;
    for (let webhook: Webhook | undefined = first; !signal.aborted; webhook = undefined) {
      try {
        webhook ??= await this.#options.webhooks.findWebhook(teamId, id);
        if (webhook?.state !== 'active') break;
        await this.#runLoop(webhook, signal);
      } catch (fault) {
        if (signal.aborted || fault === CHANGED) continue;
        this.#options.report(`The webhook ${id} waits for 10 seconds after a fault: ${(fault as Error).message}`);
        await wait(this.#clock, FAULT_MS, signal);
      }
    }
    if (!signal.aborted) this.#waitingSince.delete(id);
  }

  async #runLoop(webhook: Webhook, signal: AbortSignal): Promise<void> {
    const { webhooks, tenants, pims, nextChange } = this.#options;
    const clock = this.#clock;
    const tenant = await tenants.findTenant(webhook.teamId);
    if (!tenant) throw CHANGED;
    const noteOldest = (at: number | undefined): void => {
      if (at === undefined || signal.aborted) this.#waitingSince.delete(webhook.id);
      else this.#waitingSince.set(webhook.id, at);
    };
    const deliver = (message: ReturnType<typeof messageOf>, isSlow: boolean): Promise<SentMessage> =>
      (isSlow ? this.#slow : this.#prompt).run(signal, async () => {
        if (!this.#lease.mayBegin) throw new Error('the store has not renewed the lease of the sender');
        const sent = await send({ poster: this.#poster, clock, key: this.#key }, webhook, message, signal);
        signal.throwIfAborted();
        if (sent.error !== null) this.#failures++;
        return sent;
      });
    const source = { open: () => pims(tenant), nextChange: (ended: AbortSignal) => nextChange(tenant, ended) };
    await new EndpointLoop(webhook, { webhooks, source, clock, deliver, noteOldest }, signal).run();
    if (!signal.aborted) this.#paused++;
  }
}
