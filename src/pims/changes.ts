/**
 * The change feed of a tenant: the changes of its records, in the order in which they became visible. A number is
 * assigned in the transaction of its change, under the lock of the tenant, so no lower number appears later. Source:
 * decision 0066.
 */
import { orThrow, Refusal } from '../errors.ts';
import type { Change, PimsStore } from './pims-port.ts';
import { RECORD_TYPES, type KeyedType } from './rules/fields.ts';
import { save } from './writes/script.ts';

export type { Change };

export interface ChangesRequest {
  /** The last change that the caller knows. Undefined starts at the newest change, and returns no changes. */
  readonly after: number | undefined;
  readonly types: readonly KeyedType[];
  readonly limit: number;
}

export interface ChangePage {
  readonly changes: readonly Change[];
  /** The position after the page, to be sent as `after`. */
  readonly next: number;
  readonly hasMore: boolean;
}

export const CHANGED_TYPES = Object.keys(RECORD_TYPES).filter((type): type is KeyedType => type !== 'lines');
/** Bounds of the changes that one page reads. A page of rare types can be short or empty although more follow. */
const CHANGES_PER_READ = 500;
const READS_MAX = 20;

/** Returns the changes after a position. Throws CHANGES_GONE if the feed does not have them. */
export async function listChanges(store: PimsStore, { after, types, limit }: ChangesRequest): Promise<ChangePage> {
  const changes: Change[] = [];
  let next = after;
  for (let reads = 1; ; reads++) {
    const found = await store.readChanges(next ?? null, Math.min(limit, CHANGES_PER_READ));
    const { earliest, newest } = found;
    if (next === undefined) return { changes, next: newest, hasMore: false };
    if (next < earliest || next > newest) throw refuseGone(next, earliest, newest);
    const wanted = found.changes.filter(({ type }) => types.includes(type));
    changes.push(...wanted.slice(0, limit - changes.length));
    const isFull = changes.length === limit;
    next = Number((isFull ? changes : found.changes).at(-1)?.seq ?? next);
    if (isFull || next === newest || reads === READS_MAX) return { changes, next, hasMore: next < newest };
  }
}

/** The feed of a tenant over time. The store is opened for each read, because it may close between two reads. */
export interface ChangeSource {
  readonly open: () => PimsStore | Promise<PimsStore>;
  /** Resolves when a change may have been committed since the call, or when the signal aborts. */
  readonly nextChange: (ended: AbortSignal) => Promise<void>;
}

/** Returns the changes after a position as soon as there are any; an empty page if `ended` aborts or more follow. */
export async function awaitChanges(
  { open, nextChange }: ChangeSource,
  request: ChangesRequest,
  ended: AbortSignal,
): Promise<ChangePage> {
  for (let { after } = request; ;) {
    // The wait begins before the read, so that no change is missed in between.
    const change = nextChange(ended);
    const page = await listChanges(await open(), { ...request, after });
    if (page.changes.length > 0 || page.hasMore || ended.aborted) return page;
    after = page.next;
    await change;
  }
}

/** Deletes the changes from before a time, some in each transaction, but never those of the newest commit. */
export async function deleteOldChanges(open: () => PimsStore, before: string): Promise<void> {
  for (let last = ''; ;) {
    const [first] = (await open().readChanges(null, 1)).changes;
    if (!first || first.at >= before || first.seq === last) return;
    last = first.seq;
    const deletion = function* () {
      yield save('deleteChanges', before);
    };
    orThrow(await open().write(deletion));
  }
}

function refuseGone(after: number, earliest: number, newest: number): Refusal {
  const message =
    after < earliest
      ? `The feed no longer has the changes after ${after}. It now begins after ${earliest}.`
      : `There is no change ${after}: the newest is ${newest}. The data may have been restored from a backup.`;
  return new Refusal('CHANGES_GONE', message, { field: 'after', earliest: String(earliest) });
}
