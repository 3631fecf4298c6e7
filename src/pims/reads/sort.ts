/**
 * The sort order of a query: by the key of its records, or by an indexed field and then by the key. A page ends at a
 * position in that order. Source: decision 0005.
 */
import { refuseField } from '../../errors.ts';
import { findField, RECORD_TYPES, type Field, type FieldDictionary, type RecordType } from '../rules/fields.ts';
import { FILTER_VALUE_CHARACTERS_MAX } from '../rules/record-bounds.ts';

export interface Sort {
  readonly field: Field;
  /** Form of the field that is sorted, as in FilterTerm. */
  readonly by: 'text' | 'day' | 'key';
  readonly isDescending: boolean;
}

/**
 * Parses `FIELD` or `-FIELD`. Undefined means the order of the keys, as a parameter and as a result. Throws
 * UNKNOWN_FIELD, or FIELD_NOT_SORTABLE with the fields that records can be sorted by.
 */
export function parseSort(dictionary: FieldDictionary, recordType: RecordType, text?: string): Sort | undefined {
  if (text === undefined) return undefined;
  const isDescending = text.startsWith('-');
  const field = findField(dictionary, recordType, isDescending ? text.slice(1) : text);
  if (!field.indexed) {
    const known = [...dictionary.values()].filter(({ indexed }) => indexed).map(({ name }) => name);
    const message = `Records cannot be sorted by ${field.name}, which has no index. Use one of ${known.join(', ')}.`;
    throw refuseField('FIELD_NOT_SORTABLE', 'sort', message);
  }
  if (field.name !== RECORD_TYPES[recordType].key)
    return { field, by: field.type === 'date' ? 'day' : 'text', isDescending };
  return isDescending ? { field, by: 'key', isDescending } : undefined;
}

/** Formats the position of the last record of a page. A URL has room for only the start of a long value. */
export function formatPosition(value: string, key: string): string {
  const start = value.length <= FILTER_VALUE_CHARACTERS_MAX ? value : cut(value);
  return `${start}\0${key}`;
}

/**
 * Returns the key of the last record of a page, and its value of the sorted field, or the start of a long value. `isCut`
 * says whether only the start of the value is known.
 */
export function parsePosition(position: string) {
  const [value = '', key = ''] = position.split('\0');
  return { value, key, isCut: isCutLong(value) };
}

const cut = (value: string) => Array.from(value).slice(0, FILTER_VALUE_CHARACTERS_MAX).join('');
const isCutLong = (value: string) =>
  value.length >= FILTER_VALUE_CHARACTERS_MAX && Array.from(value).length === FILTER_VALUE_CHARACTERS_MAX;
