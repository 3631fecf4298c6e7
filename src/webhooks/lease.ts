/**
 * The lease of the sender. The holder moves a tick in the store; a node that has not seen the tick move for 30 seconds
 * takes the lease over. No time is stored, so the clocks of nodes may differ.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { SenderLease, WebhookStore } from './webhooks-port.ts';

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

export class Lease {
  readonly #options: LeaseOptions;
  readonly #owner = randomUUID();
  #isOwn = false;
  /** The tick as it was last seen, and when it had moved. */
  #tick = -1;
  #movedAt = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Whether this node holds the lease, as far as it knows. */
  get isHeld(): boolean {
    return this.#isWithin(FREE_MS);
  }

  /** Whether a delivery may begin. */
  get mayBegin(): boolean {
    return this.#isWithin(BEGIN_MS);
  }

  /** Takes the lease when it is free, and renews it. It is not renewed while there are no endpoints. */
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

  /** Returns whether the last renewal was within this time, if another process could take the lease. */
  #isWithin(ms: number): boolean {
    const { isAlone, clock } = this.#options;
    return isAlone || (this.#isOwn && clock.elapsed() - this.#movedAt < ms);
  }

  #saw(tick: number, at: number) {
    this.#tick = tick;
    this.#movedAt = at;
  }
}
