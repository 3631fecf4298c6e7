/**
 * The lease of the sender. The holder moves a tick in the store; a node that has not seen the tick move for 30 seconds
 * takes the lease over. No time is stored, so the clocks of nodes may differ.
 */
import type { Clock } from '../clock.ts';
import type { SenderLease, WebhookStore } from './webhooks-port.ts';

const FREE_MS = 30_000;
const RENEW_MS = 5000;
/** The holder begins no delivery later than this after its last renewal, so that each has ended before a takeover. */
const BEGIN_MS = 12_000;

interface LeaseOptions {
  readonly owner: string;
  readonly clock: Clock;
  /** Whether no other process can hold the lease. */
  readonly isAlone: boolean;
}

export class Lease {
  readonly #store: Pick<WebhookStore, 'loadLease' | 'takeLease'>;
  readonly #options: LeaseOptions;
  /** The lease of another node as it was when its tick last moved. */
  #seen: { readonly owner: string; readonly tick: number; readonly at: number } | undefined;
  #heldTick: number | undefined;
  #renewedAt = -Infinity;

  constructor(store: Pick<WebhookStore, 'loadLease' | 'takeLease'>, options: LeaseOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Whether this node holds the lease, as far as it knows. */
  get isHeld(): boolean {
    return this.#heldTick !== undefined && this.#isWithin(FREE_MS);
  }

  /** Whether a delivery may begin. */
  get mayBegin(): boolean {
    return this.#heldTick !== undefined && this.#isWithin(BEGIN_MS);
  }

  /** Takes the lease when it is free, and renews it. No node holds it while there are no endpoints. */
  async keep(): Promise<SenderLease> {
    const { clock, owner } = this.#options;
    const at = clock.elapsed();
    const lease = await this.#store.loadLease();
    const isOwn = lease.owner === owner && lease.tick === this.#heldTick;
    if (!isOwn) this.#heldTick = undefined;
    if (!lease.hasWebhooks) {
      await this.release();
      return lease;
    }
    if (isOwn ? at - this.#renewedAt >= RENEW_MS : this.#isFree(lease, at)) {
      const isTaken = await this.#store.takeLease(owner, lease.tick);
      this.#heldTick = isTaken ? lease.tick + 1 : undefined;
      this.#renewedAt = at;
    }
    return lease;
  }

  async release(): Promise<void> {
    const tick = this.#heldTick;
    this.#heldTick = undefined;
    if (tick !== undefined) await this.#store.takeLease('', tick);
  }

  /** Whether the last renewal was within this time, if another process could take the lease. */
  #isWithin(ms: number): boolean {
    const { clock, isAlone } = this.#options;
    return isAlone || clock.elapsed() - this.#renewedAt < ms;
  }

  #isFree({ owner, tick }: SenderLease, at: number): boolean {
    if (owner === '' || this.#options.isAlone) return true;
    if (this.#seen?.owner !== owner || this.#seen.tick !== tick) this.#seen = { owner, tick, at };
    return at - this.#seen.at >= FREE_MS;
  }
}
