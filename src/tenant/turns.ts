/**
 * Turns for costly work: so much runs at the same time, and what waits is taken tenant by tenant, so that no queue
 * delays another's. Work ends, waiting or running, when its caller is gone. Source: decision 0029.
 */
import { every, type Clock, type Timer } from '../clock.ts';
import { Refusal, type Outcome } from '../errors.ts';
import type { Tenant } from './tenant-port.ts';

export interface TurnBounds {
  /** Maximum running for all tenants. One more place is for a tenant that has nothing running. */
  readonly running: number;
  readonly tenantRunning: number;
  readonly tenantWaiting: number;
}

/** The work of one call. */
export interface Turn {
  /** Set by work that can be ended early; its outcome then does not matter. */
  end: (() => void) | undefined;
}

/** Runs work in the tenant's turn, as `Turns.run` does. */
export type TakeTurn = <T>(
  tenant: Tenant,
  signal: () => AbortSignal,
  work: (turn: Turn) => Promise<Outcome<T>>,
) => Promise<Outcome<T>>;

interface Job extends Turn {
  readonly signal: () => AbortSignal;
  start: (() => void) | undefined;
  /** Why it was ended. */
  refusal: Refusal | undefined;
  /** Whether a look has found it before: short work is never asked for its signal. */
  isSeen: boolean;
}

interface Queue {
  running: number;
  readonly waiting: Job[];
}

/** Never sent; the request log shows it. */
const GONE = new Refusal('QUERY_TOO_COSTLY', 'The caller closed the connection before the query had finished.');
const STOPPING = new Refusal('SERVICE_BUSY', 'The service is stopping.', { retryAfterSeconds: 1 });
/** How often callers are looked after. */
const LOOK_MS = 25;

export class Turns {
  readonly #bounds: TurnBounds;
  readonly #clock: Clock;
  /** Tenants with something running or waiting. The first is the next to have a turn. */
  readonly #queues = new Map<string, Queue>();
  readonly #running = new Set<Job>();
  #looking: Timer | undefined;
  #isClosed = false;

  constructor(bounds: TurnBounds, clock: Clock) {
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /**
   * Runs the work in the tenant's turn. TOO_MANY_QUERIES when the tenant has too much waiting, SERVICE_BUSY when the
   * service stops. `signal` is aborted when the caller is gone.
   */
  async run<T>(
    tenant: string,
    signal: () => AbortSignal,
    work: (turn: Turn) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    if (this.#isClosed) return STOPPING;
    const queue = this.#queueOf(tenant);
    const job: Job = { signal, start: undefined, end: undefined, refusal: undefined, isSeen: false };
    if (queue.waiting.length > 0 || !this.#mayRun(queue)) {
      const refusal = this.#refuseWaiting(queue);
      if (refusal) return refusal;
      await new Promise<void>((start) => {
        job.start = start;
        queue.waiting.push(job);
      });
      if (job.refusal) return job.refusal;
    } else this.#begin(queue, job);
    try {
      const outcome = await work(job);
      return job.refusal ?? outcome;
    } catch (fault) {
      if (job.refusal) return job.refusal;
      throw fault;
    } finally {
      queue.running--;
      this.#running.delete(job);
      this.#startNext();
      if (queue.running === 0 && queue.waiting.length === 0) this.#queues.delete(tenant);
    }
  }

  /** How much runs and how much waits now. */
  measure(): { running: number; waiting: number } {
    let waiting = 0;
    for (const queue of this.#queues.values()) waiting += queue.waiting.length;
    return { running: this.#running.size, waiting };
  }

  /** Ends everything with SERVICE_BUSY, and takes nothing more. */
  close(): void {
    this.#isClosed = true;
    this.#looking?.close();
    for (const { waiting } of this.#queues.values()) for (const job of waiting.splice(0)) endWaiting(job, STOPPING);
    for (const job of this.#running) endRunning(job, STOPPING);
  }

  #queueOf(tenant: string): Queue {
    let queue = this.#queues.get(tenant);
    if (!queue) this.#queues.set(tenant, (queue = { running: 0, waiting: [] }));
    this.#looking ??= every(this.#clock, LOOK_MS, () => this.#look());
    return queue;
  }

  #mayRun({ running }: Queue): boolean {
    const places = this.#bounds.running + (running === 0 ? 1 : 0);
    return running < this.#bounds.tenantRunning && this.#running.size < places;
  }

  #refuseWaiting({ waiting }: Queue): Refusal | undefined {
    const { tenantRunning, tenantWaiting } = this.#bounds;
    if (waiting.length >= tenantWaiting) dropGone(waiting);
    if (waiting.length < tenantWaiting) return undefined;
    const message = `At most ${tenantWaiting} queries of a tenant wait and ${tenantRunning} run at the same time.`;
    return new Refusal('TOO_MANY_QUERIES', message, { retryAfterSeconds: 1 });
  }

  #begin(queue: Queue, job: Job): void {
    queue.running++;
    this.#running.add(job);
  }

  /** Gives free places to the tenants in turn. */
  #startNext(): void {
    for (const [tenant, queue] of this.#queues) {
      if (this.#running.size > this.#bounds.running) return;
      const job = this.#mayRun(queue) ? takePresent(queue.waiting) : undefined;
      if (!job) continue;
      this.#begin(queue, job);
      job.start!();
      // Behind the others. The loop comes to it again, as long as there are places.
      this.#queues.delete(tenant);
      this.#queues.set(tenant, queue);
    }
  }

  /** Ends the work of callers that no longer wait. */
  #look(): void {
    if (this.#queues.size === 0) {
      this.#looking?.close();
      this.#looking = undefined;
    }
    for (const [tenant, { running, waiting }] of this.#queues) {
      dropGone(waiting);
      if (running === 0 && waiting.length === 0) this.#queues.delete(tenant);
    }
    for (const job of this.#running) {
      if (job.isSeen && job.end && !job.refusal && job.signal().aborted) endRunning(job, GONE);
      job.isSeen = true;
    }
  }
}

/** Takes the first whose caller is still there. */
function takePresent(waiting: Job[]): Job | undefined {
  for (let job = waiting.shift(); job; job = waiting.shift()) {
    if (!job.signal().aborted) return job;
    endWaiting(job, GONE);
  }
  return undefined;
}

function dropGone(waiting: Job[]): void {
  const present = waiting.filter((job) => !job.signal().aborted);
  if (present.length === waiting.length) return;
  for (const job of waiting.splice(0, waiting.length, ...present)) if (job.signal().aborted) endWaiting(job, GONE);
}

function endWaiting(job: Job, refusal: Refusal): void {
  job.refusal = refusal;
  job.start!();
}

function endRunning(job: Job, refusal: Refusal): void {
  job.refusal = refusal;
  job.end?.();
}
