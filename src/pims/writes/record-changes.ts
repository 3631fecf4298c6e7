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
    if (request.kind === 'save')
      for (const record of changesOf(request)) {
        const name = `${record[0]} ${record[1]}`;
        if (!changed.has(name)) changed.set(name, record);
      }
    step = write.next(yield request);
  }
  if (changed.size > 0) yield save('recordChanges', [...changed.values()], operation, now);
  return step.value;
}

function changesOf({ name, args }: Save): readonly ChangedRecord[] {
  switch (name) {
    case 'insert':
      return [changeOf(args[0], args[1], 'created')];
    case 'insertAll':
      return args[1].map((record) => changeOf(args[0], record, 'created'));
    case 'update':
      return [changeOf(args[0], args[1], 'updated')];
    case 'updateStocks':
      return args[0].map((part) => changeOf('inventory', part, 'updated'));
    case 'insertLine':
    case 'updateLine':
      return [changeOf('orders', args[0], 'updated')];
    case 'insertLines':
      return args[0].map((line) => changeOf('orders', line, 'updated'));
    case 'deleteLines':
      return [['orders', args[0], 'updated']];
    default:
      return [];
  }
}

const changeOf = (type: KeyedType, record: Values, change: ChangedRecord[2]): ChangedRecord => [
  type,
  record[RECORD_TYPES[type].key]!,
  change,
];
