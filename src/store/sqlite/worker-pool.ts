/** A few threads for long work, each with one job at a time. What waits for one is bounded by its users. */
import { Worker } from 'node:worker_threads';
import { Refusal, type Outcome } from '../../errors.ts';
import type { Turn } from '../../tenant/admission.ts';
import type { Job, Reply, WorkerData } from './store-worker.ts';

interface Thread {
  readonly worker: Worker;
  /** 1 tells the thread to end its job. */
  readonly isEnded: Int32Array;
  running: Pending | undefined;
}

interface Pending {
  readonly job: Job;
  readonly turn: Turn | undefined;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
}

export class WorkerPool {
  readonly #size: number;
  readonly #idle: Thread[] = [];
  readonly #all = new Set<Thread>();
  readonly #waiting: Pending[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  /** Runs a job in a thread. `turn` can end it. QUERY_TOO_COSTLY when its time is used up. */
  run<T>(job: Job, turn?: Turn): Promise<Outcome<T>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, turn, resolve, reject });
      this.#next();
    });
  }

  /** Lets go of a file in every thread that may have it open. */
  forget(file: string): void {
    for (const { worker } of this.#all) worker.postMessage({ kind: 'forget', file } satisfies Job);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map(({ worker }) => worker.terminate()));
  }

  #next(): void {
    if (this.#waiting.length === 0) return;
    const thread = this.#idle.pop() ?? (this.#all.size < this.#size ? this.#start() : undefined);
    if (!thread) return;
    const pending = this.#waiting.shift()!;
    thread.running = pending;
    const { isEnded, worker } = thread;
    isEnded[0] = 0;
    if (pending.turn) pending.turn.end = () => void Atomics.store(isEnded, 0, 1);
    worker.postMessage(pending.job);
  }

  #start(): Thread {
    const isEnded = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const worker = new Worker(new URL('store-worker.ts', import.meta.url), {
      workerData: { isEnded } satisfies WorkerData,
    });
    const thread: Thread = { worker, isEnded, running: undefined };
    worker.unref();
    this.#all.add(thread);
    const finish = (): Pending => {
      const { turn } = thread.running!;
      if (turn) turn.end = undefined;
      const pending = thread.running!;
      thread.running = undefined;
      return pending;
    };
    worker.on('message', ({ result, refusal, error }: Reply) => {
      const { resolve, reject } = finish();
      this.#idle.push(thread);
      if (error) reject(Object.assign(new Error(error.message), { errcode: error.errcode }));
      else resolve((refusal ? new Refusal(refusal.code, refusal.message, refusal) : result) as never);
      this.#next();
    });
    worker.on('error', (fault) => {
      this.#all.delete(thread);
      if (thread.running) finish().reject(fault);
      this.#next();
    });
    return thread;
  }
}
