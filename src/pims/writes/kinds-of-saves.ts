/**
 * Describes what each kind of save does besides its statements: which records it changes, for the change feed, and
 * which sources of loads.
 */
import { RECORD_TYPES, type KeyedType } from '../rules/fields.ts';
import type { Values } from '../rules/values.ts';
import { answerOf, linesOf, LOCATIONS, recordOf, type SavesOfSource, type Source } from './kinds-of-loads.ts';
import type { FieldChange, Save, Saves } from './script.ts';

/** A changed record, and its changed fields if it existed before. A line represents its order. */
type RecordChange = readonly [type: KeyedType, record: Values, fields?: () => FieldChange[]];
type SourceOf<Name> = {
  [Kind in keyof SavesOfSource]: Name extends SavesOfSource[Kind] ? Source<Kind> : never;
}[keyof SavesOfSource];

interface KindOfSave<Name extends keyof Saves> {
  /** Lists the records that it changes, for the change feed. */
  changes(...args: Parameters<Saves[Name]>): readonly RecordChange[];
  /** Lists the sources that it changes, or returns null if only the database knows which loads change. */
  outdates(...args: Parameters<Saves[Name]>): readonly SourceOf<Name>[] | null;
}

/** Maximum characters that are kept of a changed value. */
const CHARACTERS_MAX = 100;
const cutFieldValue = (value: string) =>
  value.length <= CHARACTERS_MAX ? value : value.slice(0, CHARACTERS_MAX).toWellFormed();

/** Lists the fields with other values. Other columns begin with `_`. */
function fieldsBetween(before: Values, after: Values, ...line: [] | [string]): FieldChange[] {
  const changes: FieldChange[] = [];
  for (const field in after) {
    const [was, is] = [before[field] ?? '', after[field]!];
    if (is !== was && field !== 'MODIFIED_DATE' && !field.startsWith('_'))
      changes.push([field, cutFieldValue(was), cutFieldValue(is), ...line]);
  }
  return changes;
}

/** Describes a line that is new or removed. */
const nameLine = ({ PART_CODE, DESCRIPTION = '', QUANTITY = '' }: Values) =>
  cutFieldValue(`${QUANTITY} × ${PART_CODE || DESCRIPTION}`);
const newLine = (line: Values): RecordChange => [
  'orders',
  line,
  () => [['line', '', nameLine(line), line['LINE_NUMBER']!]],
];

export const keyOf = (recordType: KeyedType, record: Values): string => record[RECORD_TYPES[recordType].key]!;
const outdatesLines = ({ ORDER_NUMBER }: Values) => [linesOf(ORDER_NUMBER!)];
const nothing = () => [];
const unknown = () => null;
/** Saves of what no record shows: loads with one source never depend on the first, and may depend on the second. */
const hidden = { changes: nothing, outdates: nothing };
const unclear = { changes: nothing, outdates: unknown };

const SAVES: { [Name in keyof Saves]: KindOfSave<Name> } = {
  insert: {
    changes: (recordType, record) => [[recordType, record]],
    outdates(recordType, record) {
      const key = keyOf(recordType, record);
      const source = recordOf(recordType, key);
      if (recordType === 'orders') return [source, linesOf(key)];
      return recordType === 'inventory' ? [source, LOCATIONS] : [source];
    },
  },
  insertAll: { changes: (recordType, records) => records.map((record) => [recordType, record]), outdates: unknown },
  update: {
    changes: (recordType, record, change) => [[recordType, record, () => fieldsBetween(record, change)]],
    outdates(recordType, record, change) {
      const source = recordOf(recordType, keyOf(recordType, record));
      return recordType === 'inventory' && change['LOCATION_CODE'] !== undefined ? [source, LOCATIONS] : [source];
    },
  },
  updateStocks: {
    changes: (parts) => parts.map((part) => ['inventory', part[0], () => fieldsBetween(...part)]),
    outdates: unknown,
  },
  insertLine: { changes: (line) => [newLine(line)], outdates: outdatesLines },
  insertLines: { changes: (lines) => lines.map(newLine), outdates: unknown },
  updateLine: {
    changes: (line, change) => [['orders', line, () => fieldsBetween(line, change, line['LINE_NUMBER']!)]],
    outdates: outdatesLines,
  },
  deleteLine: {
    changes: (line) => [['orders', line, () => [['line', nameLine(line), '', line['LINE_NUMBER']!]]]],
    outdates: outdatesLines,
  },
  raiseCounter: unclear,
  keepAnswer: { changes: nothing, outdates: ({ operation, key }) => [answerOf(operation, key)] },
  addField: unclear,
  recordMovements: hidden,
  openLedger: hidden,
  saveSerials: hidden,
  deleteSerials: hidden,
  recordChanges: hidden,
  deleteChanges: unclear,
};

export const kindOfSave = ({ name }: Save): KindOfSave<Save['name']> => SAVES[name];
