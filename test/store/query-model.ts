/** A model of filters in plain JavaScript, without code of the service. Tests compare every store's queries with it. */
import * as fc from 'fast-check';
import type { Filter } from '../../src/pims/reads/query.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import type { FieldType } from '../../src/pims/rules/fields.ts';

/** Returns the matching records, sorted by key. */
export function queryModel(
  records: readonly Values[],
  types: Readonly<Record<string, FieldType>>,
  key: string,
  filters: readonly Filter[],
): Values[] {
  const matches = (record: Values): boolean => {
    // Reads from right to left: AND joins the filters of one side, and OR ends the side that follows it.
    let anySideHolds = false;
    let sideHolds = true;
    for (let index = filters.length - 1; index >= 0; index--) {
      const filter = filters[index]!;
      sideHolds &&= holds(record[filter.field] ?? '', types[filter.field] ?? 'text', filter);
      if (index > 0 && filter.conjunction?.toUpperCase() !== 'OR') continue;
      anySideHolds ||= sideHolds;
      sideHolds = true;
    }
    return anySideHolds || filters.length === 0;
  };
  return records.filter(matches).toSorted((a, b) => compareKeys(a[key]!, b[key]!));
}

function holds(value: string, type: FieldType, filter: Filter): boolean {
  const wanted = String(filter.value);
  if (filter.contains === true) return new RegExp(RegExp.escape(wanted), 'iu').test(value);
  if (wanted === '' || value === '') return wanted === value;
  if (type === 'number') return Number(wanted) === Number(value);
  if (type === 'date') return Date.parse(wanted) === Date.parse(value);
  return wanted === value;
}

/**
 * Compares keys. Keys of digits come first, as numbers, then by length. The bytes of UTF-8 sort the others.
 */
export function compareKeys(a: string, b: string): number {
  const isNumber = (key: string): boolean => /^[0-9]+$/.test(key);
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1;
  if (!isNumber(a)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  const difference = BigInt(a) - BigInt(b);
  return difference === 0n ? a.length - b.length : difference < 0n ? -1 : 1;
}

/**
 * Parts of small texts that often match one another: letters of several scripts in both cases, wildcards of other
 * systems, and parts of three letters.
 */
const LETTERS = `a A é É σ ς Σ ж Ж k \u212A % _ \\ " ' * [ . 😀 1 0 - abc Abc NOT`.split(' ');
const PIECES = [...LETTERS, '\n', ' ', ' OR '];
/** Any character except NUL, which every field refuses. */
export const anyCharacter = fc
  .integer({ min: 1, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));
export const smallText = fc.array(fc.constantFrom(...PIECES), { maxLength: 5 }).map((pieces) => pieces.join(''));
export const smallKey = fc.oneof(
  fc.nat(120).map(String),
  fc.nat(12).map((number) => `0${number}`),
  smallText.filter((text) => text !== '' && text === text.trim()),
);
export const smallDate = fc
  .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 4 }), fc.constantFrom('2025', '2026'))
  .map(([month, day, year]) => `0${month}/0${day}/${year}`);
export const smallNumber = fc.integer({ min: -20, max: 20 }).map((tenths) => String(tenths / 10));

/** Writes the same value in another form. */
function rewrite(value: string, type: FieldType, how: number): string {
  if (value === '' || how === 0) return value;
  if (type === 'number') return value.includes('.') ? `${value}0` : `${value}.0`;
  const [month, day, year] = value.split('/');
  if (type === 'date') return how === 1 ? `${Number(month)}/${Number(day)}/${year}` : `${year}-${month}-${day}`;
  return value;
}

/** Makes lists of filters, most of which match some of these records. */
export function filtersOver(
  records: readonly Values[],
  types: Readonly<Record<string, FieldType>>,
): fc.Arbitrary<Filter[]> {
  const names = Object.keys(types);
  const valueOf = (name: string): fc.Arbitrary<string> =>
    fc.nat(records.length - 1).map((index) => records[index]![name] ?? '');
  const exact = (name: string): fc.Arbitrary<Filter> =>
    fc
      .tuple(valueOf(name), fc.nat(2))
      .map(([value, how]) => ({ field: name, value: rewrite(value, types[name]!, how) }));
  const part = fc.tuple(fc.nat(6), fc.integer({ min: 1, max: 6 }), fc.nat(2));
  const contains = (name: string): fc.Arbitrary<Filter> =>
    fc.tuple(fc.oneof({ weight: 4, arbitrary: valueOf(name) }, smallText), part).map(([value, [from, length, how]]) => {
      const piece = Array.from(value)
        .slice(from, from + length)
        .join('');
      return { field: name, value: [piece, piece.toUpperCase(), piece.toLowerCase()][how]!, contains: true };
    });
  const filter = fc.constantFrom(...names).chain((name) => fc.oneof(exact(name), contains(name), contains(name)));
  const conjunction = fc.constantFrom('AND', 'OR', 'OR', 'and', 'Or', undefined);
  return fc
    .array(fc.tuple(filter, conjunction), { maxLength: 6 })
    .map((list) => list.map(([one, word]) => (word === undefined ? one : { ...one, conjunction: word })));
}
