/** Merges the newest page of requests with the shown ones, without duplicates, newest first. */
import type { RequestsView } from '../../../../src/http/dashboard/interface.ts';

/** Maximum number of rows kept. Beyond it the list starts again with the newest page. */
const ROWS_MAX = 1000;

/**
 * Returns the pages with the newest page on top, and the IDs that it adds. The known requests that are older than the
 * newest page follow it.
 */
export function mergeNewest(
  before: readonly RequestsView[],
  newest: RequestsView,
): { pages: readonly RequestsView[]; added: string[] } {
  const known = before.flatMap(({ requests }) => requests);
  const ids = new Set(known.map(({ requestID }) => requestID));
  const added = newest.requests.filter(({ requestID }) => !ids.has(requestID)).map(({ requestID }) => requestID);
  const last = newest.requests.at(-1);
  const lastBefore = before.at(-1);
  if (last === undefined || lastBefore === undefined || added.length === 0)
    return { pages: lastBefore === undefined ? [newest] : before, added };
  const place = known.findIndex(({ requestID }) => requestID === last.requestID);
  // The newest page does not reach the known requests, or there are too many.
  if (place < 0 || known.length + added.length > ROWS_MAX) return { pages: [newest], added };
  return { pages: [{ ...lastBefore, requests: [...newest.requests, ...known.slice(place + 1)] }], added };
}
