/** Gathers the records that the writes of a call change, for the change feed. Source: decision 0066. */
import { keyOf, kindOfSave } from './kinds-of-saves.ts';
import { requestSave, type ChangedRecord, type FieldChange, type Script } from './script.ts';

/** Maximum changed fields that are kept for a record in one call. */
const FIELDS_MAX = 20;

/** The changes of a call, by type and key. A record has one, under the first operation that touched it. */
export type ChangedRecords = Map<string, ChangedRecord>;

/** Runs a write, and adds the records that it changes to those of the call. The last write of a call saves them. */
export function* recordChanges<T>(
  write: Script<T>,
  operation: string,
  { now, by = '' }: { now: string; by?: string | undefined },
  changed: ChangedRecords = new Map(),
  isLast = true,
): Script<T> {
  let step = write.next();
  while (!step.done) {
    const request = step.value;
    if (request.kind === 'save')
      for (const [type, record, fields] of kindOfSave(request).changes(...request.args)) {
        const key = keyOf(type, record);
        const one = changed.getOrInsertComputed(`${type} ${key}`, () => [
          type,
          key,
          fields ? 'updated' : 'created',
          operation,
          by,
          [],
        ]);
        if (one[2] === 'updated' && fields) addFields(one[5], fields());
      }
    step = write.next(yield request);
  }
  if (isLast && changed.size > 0) yield requestSave('recordChanges', [...changed.values()], now);
  return step.value;
}

/** Adds changed fields. A field that a call changes twice has its first value before and its last one after. */
function addFields(kept: FieldChange[], fields: readonly FieldChange[]): void {
  for (const change of fields) {
    const same = kept.find((one) => one[0] === change[0] && one[3] === change[3]);
    if (same) same[2] = change[2];
    else if (kept.length < FIELDS_MAX) kept.push(change);
  }
}
