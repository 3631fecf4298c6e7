/** A PimsStore whose calls wait until it is ready. */
import type { PimsStore } from '../../pims/pims-port.ts';

export function onceReady(ready: Promise<unknown>, store: PimsStore): PimsStore {
  async function* eachOnceReady<T>(list: () => AsyncIterable<T>): AsyncGenerator<T> {
    await ready;
    yield* list();
  }
  return {
    dictionaries: () => ready.then(() => store.dictionaries()),
    getOrder: (...of) => ready.then(() => store.getOrder(...of)),
    getRecord: (...of) => ready.then(() => store.getRecord(...of)),
    queryRecords: (...of) => ready.then(() => store.queryRecords(...of)),
    viewOrders: (...of) => ready.then(() => store.viewOrders(...of)),
    viewOrdersOfEach: (...of) => ready.then(() => store.viewOrdersOfEach(...of)),
    write: (...of) => ready.then(() => store.write(...of)),
    importRows: (...of) => eachOnceReady(() => store.importRows(...of)),
    exportRows: (...of) => eachOnceReady(() => store.exportRows(...of)),
  };
}
