/**
 * The change feed of a tenant: the changes of its records, in the order in which they became visible. A number is
 * assigned in the transaction of its change, under the lock of the tenant, so no lower number appears later. Source:
 * decision 0066.
 */
import { orThrow, Refusal, refuseForNow } from '../errors.ts';
import type { Change, PimsStore } from './pims-port.ts';
import { RECORD_TYPES, type KeyedType } from './rules/fields.ts';
import { requestSave } from './writes/script.ts';

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
/** Maximum changes of a short read. The rest of a page is read in the tenant's turn. */
const CHANGES_PER_READ = 500;
const neverGone = () => new AbortController().signal;

/**
 * Returns the changes after a position, until `signal` aborts. A page of rare types can be short or empty although more
 * follow. Throws CHANGES_GONE if the feed does not have the changes.
 */
export async function listChanges(
  store: PimsStore,
  { after, types, limit }: ChangesRequest,
  signal: () => AbortSignal = neverGone,
): Promise<ChangePage> {
  const found = await store.readChanges(after ?? null, Math.min(limit, CHANGES_PER_READ));
  const { earliest, newest } = found;
  if (after === undefined) return { changes: [], next: newest, hasMore: false };
  if (after < earliest || after > newest) throw refuseGone(after, earliest, newest);
  const changes = found.changes.filter(({ type }) => types.includes(type));
  let next = Number(found.changes.at(-1)?.seq ?? after);
  if (next < newest && changes.length < limit) {
    const more = await store.look('changes', signal, next, types, limit - changes.length);
    if (!(more instanceof Refusal)) {
      changes.push(...more.changes);
      next = more.next;
    } else if (next === after)
      // Only a busy service takes that long. A page that has got anywhere is not refused.
      throw more.code === 'QUERY_TOO_COSTLY' ? refuseForNow('SERVICE_BUSY') : more;
  }
  return { changes, next, hasMore: next < newest };
}

/** The feed of a tenant over time. The store is opened for each read, because it may close between two reads. */
export interface ChangeSource {
  readonly openPims: () => PimsStore | Promise<PimsStore>;
  /** Resolves when a change may have been committed since the call, or when the signal aborts. */
  readonly nextChange: (ended: AbortSignal) => Promise<void>;
}

/** Returns the changes after a position as soon as there are any; an empty page if `ended` aborts or more follow. */
export async function awaitChanges(
  { openPims, nextChange }: ChangeSource,
  request: ChangesRequest,
  ended: AbortSignal,
  signal?: () => AbortSignal,
): Promise<ChangePage> {
  for (let { after } = request; ;) {
    // The wait begins before the read, so that no change is missed in between.
    const change = nextChange(ended);
    const page = await listChanges(await openPims(), { ...request, after }, signal);
    if (page.changes.length > 0 || page.hasMore || ended.aborted) return page;
    after = page.next;
    await change;
  }
}

/** Deletes the changes from before a time, some in each transaction, but never those of the newest commit. */
export async function deleteOldChanges(open: () => PimsStore, before: string): Promise<void> {
  for (let last = -1; ;) {
    const { earliest, earliestAt, newest } = await open().readChanges(null, 1);
    if (earliest === newest || earliestAt >= before || earliest === last) return;
    last = earliest;
    const deletion = function* () {
      yield requestSave('deleteChanges', before);
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
