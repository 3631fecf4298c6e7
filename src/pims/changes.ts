/**
 * The change feed of a tenant: what was created and updated, in the order in which it became visible. A number is
 * assigned in the transaction of its change, under the lock of the tenant, so no lower one appears later. Source:
 * decision 0066.
 */
import { orThrow, Refusal } from '../errors.ts';
import type { ChangeRow, PimsStore } from './pims-port.ts';
import { RECORD_TYPES, type KeyedType } from './rules/fields.ts';
import { save, type Write } from './writes/script.ts';

/** Example: `{ seq: '1024', type: 'orders', key: '20015', change: 'updated', at: '2026-11-20T…Z', operation: 'addLineItem' }`. */
export interface Change extends Omit<ChangeRow, 'seq' | 'type'> {
  /** Its number. Numbers ascend, and may skip. */
  readonly seq: string;
  readonly type: KeyedType;
}

export interface ChangesRequest {
  /** The last change that the caller knows. Undefined starts at the newest one, and returns none. */
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
/** Bounds of the rows that one page reads. A page of rare types may be short, or empty, and have more. */
const ROWS_PER_READ = 500;
const READS_MAX = 20;

/** Returns the changes after a position. Throws CHANGES_GONE if the feed does not have them. */
export async function listChanges(store: PimsStore, { after, types, limit }: ChangesRequest): Promise<ChangePage> {
  const changes: Change[] = [];
  let next = after;
  for (let reads = 1; ; reads++) {
    const { rows, earliest, newest } = await store.readChanges(next ?? null, Math.min(limit, ROWS_PER_READ));
    next ??= newest;
    if (next < earliest || next > newest) throw refuseGone(next, earliest, newest);
    for (const { seq, type, ...row } of rows) {
      next = seq;
      if (!isKeyed(type) || !types.includes(type)) continue;
      changes.push({ seq: String(seq), type, ...row });
      if (changes.length === limit) break;
    }
    const isDone = rows.length === 0 || changes.length === limit || reads === READS_MAX;
    if (isDone || next >= newest) return { changes, next, hasMore: next < newest };
  }
}

/** The feed of a tenant over time. The store is opened for each read, because it may close between two reads. */
export interface ChangeSource {
  readonly open: () => PimsStore | Promise<PimsStore>;
  /** Resolves when a change may have been committed since the call, or when the signal aborts. */
  readonly nextChange: (ended: AbortSignal) => Promise<void>;
}

/** Returns the changes after a position as soon as there are any, or an empty page when `ended` aborts. */
export async function awaitChanges(
  { open, nextChange }: ChangeSource,
  request: ChangesRequest,
  ended: AbortSignal,
): Promise<ChangePage> {
  for (let { after } = request; ;) {
    // Before reading, so that no change is missed in between.
    const change = nextChange(ended);
    const page = await listChanges(await open(), { ...request, after });
    if (page.changes.length > 0 || page.hasMore || ended.aborted) return page;
    after = page.next;
    await change;
  }
}

/** Deletes the changes from before a time, some in each transaction, but never the newest. */
export async function deleteOldChanges(open: () => PimsStore, before: string): Promise<void> {
  for (;;) {
    const { rows, newest } = await open().readChanges(0, 1);
    const [first] = rows;
    if (!first || first.seq === newest || first.at >= before) return;
    orThrow(await open().write(deleteChanges(before)));
  }
}

const deleteChanges = (before: string): Write<void> =>
  function* () {
    yield save('deleteChanges', before);
  };

const isKeyed = (type: string): type is KeyedType => CHANGED_TYPES.some((keyed) => keyed === type);

function refuseGone(after: number, earliest: number, newest: number): Refusal {
  const message =
    after < earliest
      ? `The changes after ${after} are deleted. The feed goes back to ${earliest}.`
      : `There is no change ${after}: the newest is ${newest}. The data may have been restored from a backup.`;
  return new Refusal('CHANGES_GONE', message, { field: 'after', earliest: String(earliest) });
}
