/**
 * Filters and sorting of the model: implements the specified operators again. Only the folding of case comes from the
 * service.
 */
import { containsFolded, foldCase, type Filter } from '../../src/pims/reads/query.ts';
import type { FieldType } from '../../src/pims/rules/fields.ts';
import { compareKeys } from '../store/query-model.ts';

export interface Compared {
  readonly type: FieldType;
  /** Whether the field is the key of the records. */
  readonly isKey: boolean;
  /** Whether exact values are compared with each item of a list. */
  readonly isList: boolean;
}

/** Returns whether a stored value matches a filter. */
export function holds(value: string, field: Compared, filter: Filter): boolean {
  const op = filter.contains === true ? 'contains' : (filter.op ?? 'eq');
  const wanted = [filter.value ?? ''].flat().map(String);
  const first = wanted[0] ?? '';
  if (op === 'empty') return value === '';
  if (op === 'not_empty') return value !== '';
  if (op === 'contains') return containsFolded(value, foldCase(first));
  if (op === 'starts_with') return value.startsWith(first);
  if (op === 'eq' || op === 'in') return wanted.some((one) => isSame(value, field, one));
  if (op === 'ne') return !isSame(value, field, first);
  if (value === '' || first === '') return (op === 'le' || op === 'ge') && value === first;
  const sign = compare(value, field, first);
  return { lt: sign < 0, le: sign <= 0, gt: sign > 0, ge: sign >= 0 }[op];
}

function isSame(value: string, field: Compared, wanted: string): boolean {
  if (value === '' || wanted === '') return value === wanted;
  if (field.isList) return value.split(',').some((item) => item.trim() === wanted);
  return compare(value, field, wanted) === 0;
}

/** Returns a negative number, zero or a positive number. Neither value may be empty. */
function compare(value: string, { type, isKey }: Compared, wanted: string): number {
  if (isKey) return compareKeys(value, wanted);
  if (type === 'number') return order(scale(value), scale(wanted));
  if (type === 'date') return order(dayOf(value), dayOf(wanted));
  if (type === 'flag') return order(value, /^(y|true|1)$/i.test(wanted) ? 'Y' : 'N');
  if (type === 'text') return compareTexts(value, wanted);
  if (!wanted.includes('T')) return order(value.slice(0, 10), isoOf(dayOf(wanted)));
  return order(Date.parse(value), Date.parse(wanted));
}

const order = <T extends string | number | bigint>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);
export const compareTexts = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
const isoOf = (day: string): string => `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`;

/** Returns the number in units of 10 to the power of -30. */
function scale(text: string): bigint {
  const [, sign, whole, fraction = ''] = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text)!;
  const units = BigInt(whole! + fraction.padEnd(30, '0'));
  return sign === '-' ? -units : units;
}

/** Returns `yyyymmdd` for `m/d/yyyy` or `yyyy-mm-dd…`. */
function dayOf(text: string): string {
  const american = /^(\d+)\/(\d+)\/(\d{4})$/.exec(text);
  const [year, month, day] = american ? [american[3], american[1], american[2]] : text.slice(0, 10).split('-');
  return `${year}${month!.padStart(2, '0')}${day!.padStart(2, '0')}`;
}

/** Compares two values of a field for sorting. Empty values are first. */
export const compareSorted = (a: string, b: string, { type }: Pick<Compared, 'type'>): number =>
  a === '' || b === '' || type !== 'date' ? compareTexts(a, b) : order(dayOf(a), dayOf(b));

/** Returns the part of a value that a cursor contains: a date with its year first, or the first 256 characters. */
export const positionOf = (value: string, type: FieldType): string =>
  type === 'date' ? value.slice(6) + value.slice(0, 5) : Array.from(value).slice(0, 256).join('');
