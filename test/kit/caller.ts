/** Arguments for calls of a store: the default bounds, and a caller who never gives up. */
import { SETTINGS } from '../../src/config.ts';
import type { LookupOptions, QueryRequest } from '../../src/pims/pims-port.ts';

const { signal } = new AbortController();

/** Default bounds on the long queries of a tenant. */
export const TURNS = {
  queriesRunningMax: SETTINGS.queriesRunningMax.default,
  queriesWaitingMax: SETTINGS.queriesWaitingMax.default,
};

export const PATIENT: Pick<QueryRequest, 'bytesMax' | 'signal'> & LookupOptions = {
  bytesMax: SETTINGS.pageBytesMax.default,
  recordsMax: SETTINGS.lookupRecordsMax.default,
  signal: () => signal,
};
