/**
 * Gives expensive work its turn: a bounded number runs at a time, and waiting work starts tenant by tenant, so that no
 * tenant's queue delays another's. Waiting or running work ends when its caller disconnects. Source: decision 0029.
 */
import { every, type Clock, type Timer } from '../clock.ts';
import { Refusal, refuseForNow, type Outcome } from '../errors.ts';
import type { Tenant } from './tenant-port.ts';

export interface TurnBounds {
  /** Maximum number of calls whose work runs at a time. A tenant with nothing running may exceed it by one. */
  readonly running: number;
  readonly tenantRunning: number;
  readonly tenantWaiting: number;
}

/** The work of one call. */
export interface Turn {
  /** Ends the work early, if the work has set it. The outcome of the work is then ignored. */
  end: (() => void) | undefined;
}

/** Runs work in the tenant's turn, as `Turns.runInTurn` does. */
export type TakeTurn = <T>(
  tenant: Tenant,
  signal: () => AbortSignal,
  work: (turn: Turn) => Promise<Outcome<T>>,
) => Promise<Outcome<T>>;

interface QueuedWork extends Turn {
  readonly signal: () => AbortSignal;
  start: (() => void) | undefined;
  /** The reason why the work was ended. */
  refusal: Refusal | undefined;
  /** Whether an earlier check has seen the work. Short work ends before the next, so its signal is never requested. */
  isSeen: boolean;
}

interface Queue {
  running: number;
  readonly waiting: QueuedWork[];
}

/** The refusal of abandoned work. It is shown in the request log, and never sent. */
const GONE = new Refusal('QUERY_TOO_COSTLY', 'The caller closed the connection before the query had finished.');
const STOPPING = refuseForNow('SERVICE_BUSY', 'The service is stopping. Retry in a moment.');
/** The interval of the checks for callers that have disconnected. */
const CHECK_MS = 25;

export class Turns {
  readonly #bounds: TurnBounds;
  readonly #clock: Clock;
  /** Tenants with something running or waiting. The first has the next turn. */
  readonly #queues = new Map<string, Queue>();
  readonly #running = new Set<QueuedWork>();
  #checking: Timer | undefined;
  #isClosed = false;

  constructor(bounds: TurnBounds, clock: Clock) {
    this.#bounds = bounds;
    this.#clock = clock;
  }

  /**
   * Runs the work in the tenant's turn. Refuses with TOO_MANY_QUERIES when too much work of the tenant waits, and with
   * SERVICE_BUSY when the service stops. `signal` is aborted when the caller disconnects.
   */
  async runInTurn<T>(
    tenant: string,
    signal: () => AbortSignal,
    work: (turn: Turn) => Promise<Outcome<T>>,
  ): Promise<Outcome<T>> {
    if (this.#isClosed) return STOPPING;
    const queue = this.#queueOf(tenant);
    const job: QueuedWork = { signal, start: undefined, end: undefined, refusal: undefined, isSeen: false };
    if (queue.waiting.length > 0 || !this.#mayRun(queue)) {
      const refusal = this.#refuseWaiting(queue);
      if (refusal) return refusal;
      await new Promise<void>((start) => {
        job.start = start;
        queue.waiting.push(job);
      });
      if (job.refusal) return job.refusal;
    } else this.#startJob(queue, job);
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

  measureTurns() {
    let waiting = 0;
    for (const queue of this.#queues.values()) waiting += queue.waiting.length;
    return { running: this.#running.size, waiting };
  }

  /** Ends all work with SERVICE_BUSY, and refuses new work. */
  close(): void {
    this.#isClosed = true;
    this.#checking?.close();
    for (const { waiting } of this.#queues.values()) for (const job of waiting.splice(0)) endWaiting(job, STOPPING);
    for (const job of this.#running) endRunning(job, STOPPING);
  }

  #queueOf(tenant: string): Queue {
    this.#checking ??= every(this.#clock, CHECK_MS, () => this.#checkCallers());
    return this.#queues.getOrInsertComputed(tenant, () => ({ running: 0, waiting: [] }));
  }

  #mayRun({ running }: Queue): boolean {
    const places = this.#bounds.running + (running === 0 ? 1 : 0);
    return running < this.#bounds.tenantRunning && this.#running.size < places;
  }

  #refuseWaiting({ waiting }: Queue): Refusal | undefined {
    const { tenantRunning, tenantWaiting } = this.#bounds;
    if (waiting.length >= tenantWaiting) dropGone(waiting);
    if (waiting.length < tenantWaiting) return undefined;
    const limits = `${tenantRunning} running, ${tenantWaiting} waiting`;
    const message = `The tenant has too many queries at the same time (limits: ${limits}). Retry in a moment.`;
    return refuseForNow('TOO_MANY_QUERIES', message);
  }

  #startJob(queue: Queue, job: QueuedWork) {
    queue.running++;
    this.#running.add(job);
  }

  /** Starts work in the free places, tenant by tenant. */
  #startNext() {
    for (const [tenant, queue] of this.#queues) {
      if (this.#running.size > this.#bounds.running) return;
      const job = this.#mayRun(queue) ? takePresent(queue.waiting) : undefined;
      if (!job) continue;
      this.#startJob(queue, job);
      job.start!();
      // Puts the tenant after the others. The loop reaches it again while there are places.
      this.#queues.delete(tenant);
      this.#queues.set(tenant, queue);
    }
  }

  /** Ends the work of callers that have disconnected. */
  #checkCallers() {
    if (this.#queues.size === 0) {
      this.#checking?.close();
      this.#checking = undefined;
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

/** Takes the first work whose caller is still connected. */
function takePresent(waiting: QueuedWork[]): QueuedWork | undefined {
  for (let job = waiting.shift(); job; job = waiting.shift()) {
    if (!job.signal().aborted) return job;
    endWaiting(job, GONE);
  }
  return undefined;
}

function dropGone(waiting: QueuedWork[]) {
  const present = waiting.filter((job) => !job.signal().aborted);
  if (present.length === waiting.length) return;
  for (const job of waiting.splice(0, waiting.length, ...present)) if (job.signal().aborted) endWaiting(job, GONE);
}

function endWaiting(job: QueuedWork, refusal: Refusal) {
  job.refusal = refusal;
  job.start!();
}

function endRunning(job: QueuedWork, refusal: Refusal) {
  job.refusal = refusal;
  job.end?.();
}
