/** Arguments for calls of a store: the default bounds, and a caller who never gives up. */
import { SETTINGS } from '../../src/config.ts';
import type { LookupOptions, QueryRequest } from '../../src/pims/pims-port.ts';

const { signal } = new AbortController();

/** Default bounds on the long queries of a tenant. */
export const TURNS = {
  queriesRunningMost: SETTINGS.queriesRunningMost.default,
  queriesWaitingMost: SETTINGS.queriesWaitingMost.default,
};

export const PATIENT: Pick<QueryRequest, 'bytesMax' | 'signal'> & LookupOptions = {
  bytesMax: SETTINGS.pageBytesMost.default,
  recordsMax: SETTINGS.lookupRecordsMost.default,
  signal: () => signal,
};
