/** A few threads for long work, each with one job at a time, and a bounded queue. */
import { Worker } from 'node:worker_threads';
import { Refusal, type Outcome } from '../../errors.ts';
import type { Job, Reply } from './store-worker.ts';

interface Pending {
  readonly job: Job;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
}

export class WorkerPool {
  readonly #size: number;
  readonly #waitingMax: number;
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  readonly #waiting: Pending[] = [];
  readonly #running = new Map<Worker, Pending>();

  constructor(size: number, waitingMax: number) {
    this.#size = size;
    this.#waitingMax = waitingMax;
  }

  /** Runs a job in a thread. SERVICE_BUSY when too many are waiting. */
  async run<T>(job: Job): Promise<Outcome<T>> {
    if (this.#waiting.length >= this.#waitingMax)
      return new Refusal('SERVICE_BUSY', 'Too many long queries are waiting.', { retryAfterSeconds: 1 });
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push({ job, resolve, reject });
    this.#next();
    return promise;
  }

  /** Lets go of a file in every thread that may have it open. */
  forget(file: string): void {
    for (const worker of this.#all) worker.postMessage({ kind: 'forget', file } satisfies Job);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  #next(): void {
    if (this.#waiting.length === 0) return;
    const worker = this.#idle.pop() ?? (this.#all.size < this.#size ? this.#start() : undefined);
    if (!worker) return;
    const pending = this.#waiting.shift()!;
    this.#running.set(worker, pending);
    worker.postMessage(pending.job);
  }

  #start(): Worker {
    const worker = new Worker(new URL('store-worker.ts', import.meta.url));
    worker.unref();
    this.#all.add(worker);
    worker.on('message', ({ result, error }: Reply) => {
      const pending = this.#running.get(worker)!;
      this.#running.delete(worker);
      this.#idle.push(worker);
      if (error) pending.reject(Object.assign(new Error(error.message), { errcode: error.errcode }));
      else pending.resolve(result as never);
      this.#next();
    });
    worker.on('error', (fault) => {
      this.#all.delete(worker);
      this.#running.get(worker)?.reject(fault);
      this.#running.delete(worker);
      this.#next();
    });
    return worker;
  }
}
