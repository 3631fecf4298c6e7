/** Reads the feed of changes with the operation listChanges: the newest changes first, then later changes live. */
import type { Change } from '../../../../client/src/contract.ts';
import { ApiError, fetchOperation, type QueryValues } from '../../api/client.ts';

export const CHANGES_MAX = 500;
/** The number of latest changes among which the changes of one type are searched. */
const SEARCHED = 2000;

export type Feed = Awaited<ReturnType<typeof readChanges>>;
async function readChanges(query: QueryValues, signal: AbortSignal) {
  const { body, headers } = await fetchOperation<{ data: Change[] }>('GET', '/changes', query, undefined, { signal });
  return {
    /** The changes, newest first. */
    changes: body.data.toReversed(),
    /** The number to continue after. */
    after: Number(headers.get('x-next-after')),
    hasMore: headers.get('x-has-more') === 'true',
    /** For `usePages`: the feed is one page, which grows at the top. */
    next: null,
  };
}

/** Returns the newest changes of these types, at most 500. */
export async function loadNewest(types: string, signal: AbortSignal): Promise<Feed> {
  const { after: now } = await readChanges({}, signal);
  const maxReturn = types === '' ? CHANGES_MAX : SEARCHED;
  const load = (after: number | string) => readChanges({ types, after, maxReturn }, signal);
  const feed = await load(Math.max(0, now - maxReturn)).catch((fault: unknown) => load(earliestOf(fault)));
  return { ...feed, changes: feed.changes.slice(0, CHANGES_MAX) };
}

/**
 * Adds later changes to the shown feed, and waits for a change if there is none yet. Begins again with the newest
 * changes if there are too many, or some are no longer kept.
 */
export async function loadNewer(types: string, shown: Feed, mayWait: boolean, signal: AbortSignal): Promise<Feed> {
  try {
    const read = await readChanges({ types, after: shown.after, wait: mayWait ? 25 : 0 }, signal);
    if (!read.hasMore) return { ...read, changes: [...read.changes, ...shown.changes].slice(0, CHANGES_MAX) };
  } catch (fault) {
    earliestOf(fault);
  }
  return loadNewest(types, signal);
}

/** Returns the lowest position of the feed if the fault is that changes are no longer kept. Throws any other fault. */
function earliestOf(fault: unknown): string {
  if (fault instanceof ApiError && fault.earliest !== undefined) return fault.earliest;
  throw fault;
}
