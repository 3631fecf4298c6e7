/** Limits how many deliveries run at the same time. Waiting deliveries get their places in the order in which they came. */

export class Places {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(places: number) {
    this.#free = places;
  }

  /** Runs the work when a place is free. Throws when the signal is aborted before. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#free++;
    }
  }

  /** Resolves when this one has got a place from another. */
  async #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const start = (): void => {
      this.#waiting.delete(start);
      resolve();
    };
    const leave = (): void => {
      if (this.#waiting.delete(start)) reject(signal.reason as Error);
    };
    this.#waiting.add(start);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }
}
