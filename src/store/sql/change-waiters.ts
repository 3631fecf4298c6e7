/** The waiters for changes of tenants, in this process. A store wakes them when it learns of a commit. */

interface Waiters {
  readonly resolves: Set<() => void>;
  readonly endWatch: () => void;
}

/** `watch` watches for changes by other processes while anyone waits. It returns a function that ends the watch. */
export function makeChangeWaiters(watch: (storeId: string) => () => void) {
  const byStore = new Map<string, Waiters>();
  const wake = (storeId: string) => {
    const waiters = byStore.get(storeId);
    if (!waiters) return;
    byStore.delete(storeId);
    waiters.endWatch();
    for (const resolve of waiters.resolves) resolve();
  };
  return {
    wake,
    wakeAll() {
      for (const storeId of byStore.keys()) wake(storeId);
    },
    /** Resolves when the tenant may have changed since this call, or when the signal aborts. */
    waitForWake: (storeId: string, ended: AbortSignal) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (ended.aborted) return Promise.resolve();
      const beginWatch = (): Waiters => ({ resolves: new Set(), endWatch: watch(storeId) });
      const { resolves } = byStore.getOrInsertComputed(storeId, beginWatch);
      const leave = () => {
        resolves.delete(resolve);
        if (resolves.size === 0 && byStore.get(storeId)?.resolves === resolves) wake(storeId);
        resolve();
      };
      resolves.add(resolve);
      ended.addEventListener('abort', leave, { once: true });
      return promise.then(() => ended.removeEventListener('abort', leave));
    },
  };
}
