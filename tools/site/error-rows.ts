/** The table of errors as rows, for docs/errors.md and for its page on a running service. */
import { ERRORS, type ErrorPlace } from '../../src/errors.ts';
import { STATUS_CODES } from '../../src/http/server/node-http.ts';

/** The requests that can get an error. */
const PLACES: Record<ErrorPlace, string> = {
  any: 'any request',
  operation: 'operations',
  get: 'GET',
  read: 'reads',
  single: 'single record',
  query: 'query',
  changes: 'changes',
  write: 'write',
  batch: 'batch',
  body: 'with a body',
  fields: 'single record, query, write, batch',
  path: 'other requests',
  dashboard: 'dashboard',
  command: 'command',
};

const ROWS = Object.entries(ERRORS).map(([code, about]) => ({ code, ...about }));
export type ErrorRow = (typeof ROWS)[number];
/** Codes that only commands use. */
export const COMMAND_ROWS = ROWS.filter(({ place }) => place === 'command');
/** Codes of responses by status: `400 Bad Request` and its errors. */
export const ROWS_BY_STATUS: ReadonlyMap<string, readonly ErrorRow[]> = Map.groupBy(
  ROWS.filter(({ place }) => place !== 'command').toSorted((a, b) => a.httpStatus - b.httpStatus),
  ({ httpStatus }) => `${httpStatus} ${STATUS_CODES[httpStatus]}`,
);

/** Returns the meaning of an error, and its status with the requests that can get it. A command has no status. */
export function describeError(code: string): { message: string; reach: string } {
  const { httpStatus, place, message } = ROWS.find((row) => row.code === code)!;
  return { message, reach: place === 'command' ? PLACES[place] : `${httpStatus} · ${PLACES[place]}` };
}
