/** Reads the feed of changes with the operation listChanges: the newest first, then those after them as they come. */
import { ApiError, fetchOperation, type QueryValues } from '../../api/client.ts';
import type { Kind } from '../../api/records.ts';

/** Maximum number of changes on the page. */
export const CHANGES_MAX = 500;
/** The numbers that are searched for changes of one type. */
const SEARCHED = 2000;

export interface Change {
  readonly seq: string;
  readonly type: Kind;
  readonly key: string;
  readonly change: 'created' | 'updated';
  readonly at: string;
  /** Empty if it is not known. */
  readonly operation: string;
}
export interface Feed {
  /** Newest first. */
  readonly changes: readonly Change[];
  /** The number to continue after. */
  readonly after: number;
  /** For `usePages`: the feed is one page, which grows at the top. */
  readonly next: null;
  readonly hasMore: boolean;
}

async function readChanges(query: QueryValues, signal: AbortSignal): Promise<Feed> {
  const asked = { maxReturn: CHANGES_MAX, ...query };
  const { body, headers } = await fetchOperation<{ data: Change[] }>('/records', 'GET', '/changes', asked, undefined, {
    signal,
  });
  return {
    changes: body.data.toReversed(),
    after: Number(headers.get('x-next-after')),
    hasMore: headers.get('x-has-more') === 'true',
    next: null,
  };
}

/** Returns the newest changes of these types, at most 500. */
export async function loadNewest(types: string, signal: AbortSignal): Promise<Feed> {
  const { after: now } = await readChanges({}, signal);
  const maxReturn = types === '' ? CHANGES_MAX : SEARCHED;
  const load = (after: number | string) => readChanges({ types, after, maxReturn }, signal);
  const feed = await load(Math.max(0, now - maxReturn)).catch((fault: unknown) => {
    if (fault instanceof ApiError && fault.earliest !== undefined) return load(fault.earliest);
    throw fault;
  });
  return { ...feed, changes: feed.changes.slice(0, CHANGES_MAX) };
}

/**
 * Loads the changes after those shown, and waits for one if there is none yet. Returns undefined if there are too many, or
 * some are no longer kept.
 */
export async function loadNewer(
  types: string,
  { after }: Feed,
  mayWait: boolean,
  signal: AbortSignal,
): Promise<Feed | undefined> {
  try {
    const read = await readChanges({ types, after, ...(mayWait && { wait: 25 }) }, signal);
    return read.hasMore ? undefined : read;
  } catch (fault) {
    if (fault instanceof ApiError && fault.earliest !== undefined) return undefined;
    throw fault;
  }
}
