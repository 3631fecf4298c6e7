/**
 * Delivers the changes of all tenants to their endpoints. One node of an installation sends at a time: it holds a lease
 * in the store. Each endpoint has a separate loop, so that no receiver delays another.
 */
import { randomUUID } from 'node:crypto';
import { DAY_MS, every, formatTime, type Clock, type Timer } from '../clock.ts';
import { EndpointLoop, type LoopServices } from './endpoint-loop.ts';
import { Poster, type Message, type SentMessage } from './poster.ts';
import type { SenderLease, Webhook, WebhookStore } from './webhooks-port.ts';
import { DELIVERY_DAYS } from './webhooks.ts';

const FREE_MS = 30_000;
const RENEW_MS = 5000;
/** The holder begins no delivery later than this after its last renewal, so that each has ended before a takeover. */
const BEGIN_MS = 12_000;

interface LeaseOptions {
  readonly webhooks: Pick<WebhookStore, 'loadLease' | 'takeLease'>;
  readonly clock: Clock;
  /** Whether no other process can send: the embedded store has one service, which needs no lease. */
  readonly isAlone: boolean;
}

/**
 * Moves a tick in the store while this node holds the lease. A node that has not seen the tick move for 30 seconds
 * takes the lease over. No time is stored, so the clocks of nodes may differ.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #owner = randomUUID();
  #isOwn = false;
  /** The last tick seen, and the time at which it was first seen. */
  #tick = -1;
  #movedAt = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Whether this node holds the lease, as far as it knows. */
  get isHeld(): boolean {
    return this.#isWithin(FREE_MS);
  }

  get mayBegin(): boolean {
    return this.#isWithin(BEGIN_MS);
  }

  /** Takes the lease if it is free, or renews it. Does neither while there are no endpoints. */
  async keep(): Promise<SenderLease> {
    const { webhooks, clock, isAlone } = this.#options;
    const at = clock.elapsed();
    const lease = await webhooks.loadLease();
    const { owner, tick, hasWebhooks } = lease;
    if (tick !== this.#tick) {
      this.#isOwn = false;
      this.#saw(tick, at);
    }
    const isFree = at - this.#movedAt >= (this.#isOwn ? RENEW_MS : FREE_MS) || owner === '';
    if (isFree && hasWebhooks && !isAlone) {
      this.#isOwn = await webhooks.takeLease(this.#owner, tick);
      if (this.#isOwn) this.#saw(tick + 1, at);
    }
    return lease;
  }

  async release(): Promise<void> {
    if (this.#isOwn) await this.#options.webhooks.takeLease('', this.#tick);
    this.#isOwn = false;
  }

  /** Returns whether this node renewed the lease within this time; true if no other process can send. */
  #isWithin(ms: number): boolean {
    const { isAlone, clock } = this.#options;
    return isAlone || (this.#isOwn && clock.elapsed() - this.#movedAt < ms);
  }

  #saw(tick: number, at: number) {
    this.#tick = tick;
    this.#movedAt = at;
  }
}

/** How often a node looks for changed endpoints and checks the lease. */
const LOOK_MS = 2000;
/** Maximum concurrent deliveries. Receivers that fail or are slow have separate places. */
const PROMPT_PLACES = 192;
const SLOW_PLACES = 64;
/** A receiver whose last answer took this long is slow. */
const SLOW_MS = 2000;

interface SenderOptions extends LoopServices {
  /** Whether no other process can send: the embedded store has one service. */
  readonly isAlone: boolean;
}

export class WebhookSender {
  readonly #options: SenderOptions;
  readonly #poster: Poster;
  readonly #lease: Lease;
  readonly #prompt = new Places(PROMPT_PLACES);
  readonly #slow = new Places(SLOW_PLACES);
  readonly #loops = new Map<string, EndpointLoop>();
  #seenChanges = -1;
  #failures = 0;
  #looking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isFaulty = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#poster = new Poster(options);
    this.#lease = new Lease(options);
  }

  startSending(): void {
    this.#look();
    this.#timer = every(this.#options.clock, LOOK_MS, () => this.#look());
  }

  /** Stops at once. Aborts deliveries in flight, which the next sender repeats. */
  async close(): Promise<void> {
    this.#timer?.close();
    await this.#looking;
    await this.#stopAll();
    await this.#lease.release().catch(() => undefined);
    this.#poster.close();
  }

  /** Deletes deliveries that are older than 30 days. */
  async deleteExpired(nowMs: number): Promise<void> {
    await this.#options.webhooks.deleteDeliveriesBefore(formatTime(nowMs - DELIVERY_DAYS * DAY_MS));
  }

  /** Measures the deliveries of this node; zeros for a node that does not send. */
  measureDeliveries() {
    const loops = [...this.#loops.values()];
    const now = this.#options.clock.now();
    const lagMs = Math.max(0, ...loops.map(({ waitingSince = now }) => now - waitingSince));
    const paused = loops.filter(({ webhook }) => webhook.state === 'paused').length;
    return { lagSeconds: lagMs / 1000, failures: this.#failures, paused };
  }

  #look() {
    this.#looking ??= this.#lookAndReport().finally(() => (this.#looking = undefined));
  }

  async #lookAndReport() {
    try {
      const { changes } = await this.#lease.keep();
      if (this.#lease.isHeld && changes !== this.#seenChanges) await this.#startAll();
      this.#seenChanges = changes;
      this.#isFaulty = false;
    } catch (fault) {
      if (!this.#isFaulty) this.#options.report(`Webhooks wait for the store: ${(fault as Error).message}`);
      this.#isFaulty = true;
    }
    if (!this.#lease.isHeld) await this.#stopAll();
  }

  /** Starts the loops of new endpoints, and wakes those of changed and removed ones. */
  async #startAll() {
    const found = new Map((await this.#options.webhooks.listWebhooks()).map((webhook) => [webhook.id, webhook]));
    for (const [id, loop] of this.#loops) {
      if (found.get(id)?.revision !== loop.webhook.revision) loop.wake();
      if (!found.has(id)) this.#loops.delete(id);
    }
    for (const [id, webhook] of found)
      if (!this.#loops.has(id)) this.#loops.set(id, new EndpointLoop(webhook, this.#options, this.#deliver));
  }

  async #stopAll() {
    await Promise.all([...this.#loops.values()].map((loop) => loop.stop()));
    this.#loops.clear();
    this.#seenChanges = -1;
  }

  readonly #deliver = (
    webhook: Webhook,
    message: Message,
    last: SentMessage | undefined,
    ended: AbortSignal,
  ): Promise<SentMessage> => {
    const isSlow = webhook.failures > 0 || (last !== undefined && last.durationMs >= SLOW_MS);
    return (isSlow ? this.#slow : this.#prompt).runInPlace(async () => {
      ended.throwIfAborted();
      if (!this.#lease.mayBegin) throw new Error('the store has not confirmed in time that this node sends webhooks');
      const sent = await this.#poster.sendMessage(webhook, message, ended);
      ended.throwIfAborted();
      if (sent.error !== null) this.#failures++;
      return sent;
    });
  };
}

/** Limits how many deliveries run at the same time. Waiting deliveries start in order of arrival. */
class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  async runInPlace<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
