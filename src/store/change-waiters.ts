/** Waits for a change of a tenant, in this process. A store wakes them when it learns of a commit. */

interface Waiters {
  readonly resolves: Set<() => void>;
  readonly endWatch: () => void;
}

export class ChangeWaiters {
  readonly #byStore = new Map<string, Waiters>();
  readonly #watch: (storeId: string) => () => void;

  /** `watch` watches for changes by other processes while anyone waits. It returns a function that ends the watch. */
  constructor(watch: (storeId: string) => () => void) {
    this.#watch = watch;
  }

  /** Resolves when the tenant may have changed since this call, or when the signal aborts. */
  wait(storeId: string, ended: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (ended.aborted) return Promise.resolve();
    const begin = (): Waiters => ({ resolves: new Set(), endWatch: this.#watch(storeId) });
    const { resolves } = this.#byStore.getOrInsertComputed(storeId, begin);
    const leave = (): void => {
      resolves.delete(resolve);
      if (resolves.size === 0 && this.#byStore.get(storeId)?.resolves === resolves) this.wake(storeId);
      resolve();
    };
    resolves.add(resolve);
    ended.addEventListener('abort', leave, { once: true });
    return promise.then(() => ended.removeEventListener('abort', leave));
  }

  wake(storeId: string): void {
    const waiters = this.#byStore.get(storeId);
    if (!waiters) return;
    this.#byStore.delete(storeId);
    waiters.endWatch();
    for (const resolve of waiters.resolves) resolve();
  }

  wakeAll(): void {
    for (const storeId of this.#byStore.keys()) this.wake(storeId);
  }
}
