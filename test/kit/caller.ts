/** What a store is told of a caller who takes every answer, however large the default lets it be. */
import { SETTINGS } from '../../src/config.ts';
import type { LookupOptions, QueryRequest } from '../../src/pims/pims-port.ts';

const { signal } = new AbortController();

/** How many long queries a tenant may have. */
export const TURNS = {
  queriesRunningMost: SETTINGS.queriesRunningMost.default,
  queriesWaitingMost: SETTINGS.queriesWaitingMost.default,
};

export const PATIENT: Pick<QueryRequest, 'bytesMax' | 'signal'> & LookupOptions = {
  bytesMax: SETTINGS.pageBytesMost.default,
  recordsMax: SETTINGS.lookupRecordsMost.default,
  signal: () => signal,
};
