/** A few threads for long work, each with one job at a time. Callers bound how many jobs wait. */
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../../assets.ts';
import type { Clock, Timer } from '../../../clock.ts';
import { Refusal, type Outcome } from '../../../errors.ts';
import type { Turn } from '../../../tenant/turns.ts';
import type { Job, Reply, WorkerData } from './store-worker.ts';

interface Thread {
  readonly worker: Worker;
  /** 1 tells the thread to end its job. */
  readonly isEnded: Int32Array;
  running: Pending | undefined;
  /** The timer that ends the thread after some time without work. */
  ending: Timer | undefined;
}

interface Pending {
  readonly job: Job;
  readonly turn: Turn | undefined;
  readonly resolve: (result: never) => void;
  readonly reject: (fault: unknown) => void;
}

/** Memory of a thread in MiB. It has room for a page, or for an order or a lookup and its parts. */
const HEAP = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 8 };
const TOO_LARGE = new Refusal('QUERY_TOO_COSTLY', 'The query needs more memory than one query may use.');
/** Time without work after which a thread ends, which frees its memory. */
const IDLE_MS = 10_000;

export type WorkerPool = ReturnType<typeof makeWorkerPool>;

/** Makes a pool of at most `size` threads. With a `niceness` above 0, they yield to the event loop. */
export function makeWorkerPool(size: number, niceness: number, clock: Clock) {
  const idle: Thread[] = [];
  const all = new Set<Thread>();
  const waiting: Pending[] = [];

  const next = () => {
    if (waiting.length === 0) return;
    const thread = idle.pop() ?? (all.size < size ? startWorker() : undefined);
    if (!thread) return;
    const pending = waiting.shift()!;
    thread.running = pending;
    const { isEnded, worker, ending } = thread;
    ending?.close();
    isEnded[0] = 0;
    if (pending.turn) pending.turn.end = () => void Atomics.store(isEnded, 0, 1);
    worker.postMessage(pending.job);
  };

  /** Lets the thread wait for its next job. The thread that finished last is used first, so that the others can end. */
  const rest = (thread: Thread) => {
    idle.push(thread);
    thread.ending = clock.after(IDLE_MS, () => {
      idle.splice(idle.indexOf(thread), 1);
      all.delete(thread);
      void thread.worker.terminate();
    });
  };

  const startWorker = () => {
    const isEnded = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const workerData = { isEnded, niceness } satisfies WorkerData;
    const worker = startThread(new URL('store-worker.ts', import.meta.url), { workerData, resourceLimits: HEAP });
    const thread: Thread = { worker, isEnded, running: undefined, ending: undefined };
    worker.unref();
    all.add(thread);
    const finish = () => {
      const pending = thread.running!;
      thread.running = undefined;
      if (pending.turn) pending.turn.end = undefined;
      return pending;
    };
    worker.on('message', ({ result, refusal, error }: Reply) => {
      const { resolve, reject } = finish();
      rest(thread);
      if (error) reject(Object.assign(new Error(error.message), { errcode: error.errcode }));
      else resolve((refusal ? new Refusal(refusal.code, refusal.message, refusal) : result) as never);
      next();
    });
    worker.on('error', (fault) => {
      all.delete(thread);
      const pending = thread.running && finish();
      if ((fault as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') pending?.resolve(TOO_LARGE as never);
      else pending?.reject(fault);
      next();
    });
    return thread;
  };

  return {
    /** Runs a job in a thread. `turn` can end it. Returns QUERY_TOO_COSTLY when its time or memory is used up. */
    askWorker: <T>(job: Job, turn?: Turn): Promise<Outcome<T>> =>
      new Promise((resolve, reject) => {
        waiting.push({ job, turn, resolve, reject });
        next();
      }),
    /** Closes a file in every thread that may have it open. */
    forget(file: string) {
      for (const { worker } of all) worker.postMessage({ kind: 'forget', file } satisfies Job);
    },
    async close() {
      for (const { ending } of all) ending?.close();
      await Promise.all([...all].map(({ worker }) => worker.terminate()));
    },
  };
}
