/**
 * Puts the newest page of requests above those that are shown: each once, newest first.
 */
import type { RequestsView } from '../../../../src/http/dashboard/interface.ts';

/** Maximum number of rows kept. Beyond it the list starts again with the newest page. */
const ROWS_MAX = 1000;

/**
 * The newest page above what was there. Both are newest first, so what follows its last request follows it here too.
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
  // More came than a page holds, or it holds all there is: nothing that was there follows it.
  if (place < 0 || known.length + added.length > ROWS_MAX) return { pages: [newest], added };
  return { pages: [{ ...lastBefore, requests: [...newest.requests, ...known.slice(place + 1)] }], added };
}
