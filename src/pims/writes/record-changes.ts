/** Records which records a write creates and updates, for the change feed. Source: decision 0066. */
import { RECORD_TYPES, type KeyedType } from '../rules/fields.ts';
import type { Values } from '../rules/values.ts';
import { save, type ChangedRecord, type Save, type Script } from './script.ts';

/** Runs a write, and then saves its changes in the same transaction: each record once, under this operation. */
export function* recordChanges<T>(write: Script<T>, operation: string, now: string): Script<T> {
  const changed = new Map<string, ChangedRecord>();
  let step = write.next();
  while (!step.done) {
    const request = step.value;
    if (request.kind === 'save') {
      const [type, change, records] = changesOf(request);
      for (const record of records) {
        const key = record[RECORD_TYPES[type].key]!;
        changed.getOrInsert(`${type} ${key}`, [type, key, change, operation]);
      }
    }
    step = write.next(yield request);
  }
  if (changed.size > 0) yield save('recordChanges', [...changed.values()], now);
  return step.value;
}

/** Lists the records that a save changes, or their lines. */
function changesOf({
  name,
  args,
}: Save): readonly [type: KeyedType, change: ChangedRecord[2], records: readonly Values[]] {
  switch (name) {
    case 'insert':
      return [args[0], 'created', [args[1]]];
    case 'insertAll':
      return [args[0], 'created', args[1]];
    case 'update':
      return [args[0], 'updated', [args[1]]];
    case 'updateStocks':
      return ['inventory', 'updated', args[0]];
    case 'insertLine':
    case 'updateLine':
      return ['orders', 'updated', [args[0]]];
    case 'insertLines':
      return ['orders', 'updated', args[0]];
    case 'deleteLines':
      return ['orders', 'updated', [{ ORDER_NUMBER: args[0] }]];
    default:
      return ['orders', 'updated', []];
  }
}
