/** Records which records a write creates and updates, for the change feed. Source: decision 0066. */
import { RECORD_TYPES, type KeyedType } from '../rules/fields.ts';
import type { Values } from '../rules/values.ts';
import { save, type ChangedRecord, type FieldChange, type Save, type Script } from './script.ts';

/** Maximum changed fields that are kept of one record and write, and maximum characters of a value. */
const FIELDS_MOST = 20;
const CHARACTERS_MOST = 100;

/** Runs a write, and then saves its changes in the same transaction: each record once, under this operation. */
export function* recordChanges<T>(write: Script<T>, operation: string, now: string, by?: string): Script<T> {
  const changed = new Map<string, ChangedRecord>();
  let step = write.next();
  while (!step.done) {
    const request = step.value;
    if (request.kind === 'save') {
      const [type, change, records] = changesOf(request);
      for (const record of records) {
        const key = record[RECORD_TYPES[type].key]!;
        const hasFields = by !== undefined && type !== 'inventory';
        const own: ChangedRecord = hasFields ? [type, key, change, operation, by, []] : [type, key, change, operation];
        const [, , , , , fields] = changed.getOrInsert(`${type} ${key}`, own);
        if (fields && change === 'updated') fields.push(...fieldChanges(request).slice(0, FIELDS_MOST - fields.length));
      }
    }
    step = write.next(yield request);
  }
  if (changed.size > 0) yield save('recordChanges', [...changed.values()], now);
  return step.value;
}

/** Lists what a save changes in an order, a line or a customer. Columns that are not fields begin with `_`. */
function fieldChanges({ name, args }: Save): FieldChange[] {
  if (name === 'insertLine') {
    const { LINE_NUMBER, PART_CODE = '', DESCRIPTION = '', QUANTITY = '' } = args[0];
    return [['line', '', cut(`${QUANTITY} × ${PART_CODE || DESCRIPTION}`), LINE_NUMBER!]];
  }
  if (name !== 'update' && name !== 'updateLine') return [];
  const [before, after] = name === 'update' ? [args[1], args[2]] : args;
  const line: string[] = name === 'updateLine' ? [before['LINE_NUMBER']!] : [];
  const changes: FieldChange[] = [];
  for (const field in after) {
    const [was, is] = [before[field] ?? '', after[field]!];
    if (is !== was && field !== 'MODIFIED_DATE' && !field.startsWith('_'))
      changes.push([field, cut(was), cut(is), ...line] as unknown as FieldChange);
  }
  return changes;
}

const cut = (value: string) =>
  value.length <= CHARACTERS_MOST ? value : value.slice(0, CHARACTERS_MOST).toWellFormed();

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
