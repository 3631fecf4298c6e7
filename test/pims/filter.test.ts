/** Tests filters: AND before OR, exact and contains, and the meaning of `contains` in every script. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal, type ErrorCode } from '../../src/errors.ts';
import { containsFolded, foldCase, parseFilters, type Filter, type FilterTerm } from '../../src/pims/reads/query.ts';
import { buildDictionaries } from '../../src/pims/rules/fields.ts';
import { valuesOf } from '../kit/lists.ts';

const { orders: dictionary } = buildDictionaries([]);
const read = (filters: readonly Filter[]) => parseFilters(dictionary, 'orders', filters);
/** Returns the values of the terms, for each alternative of an OR. */
const shape = (filters: readonly Filter[]): string[][] => read(filters).map((terms) => terms.map(valueOf));
const valueOf = (term: FilterTerm): string =>
  term.kind === 'is' || term.kind === 'among'
    ? term.values.join(' ')
    : term.kind === 'within'
      ? JSON.stringify(term.ranges)
      : term.value;

function refuses(code: ErrorCode, filters: readonly Filter[], field?: string): void {
  assert.throws(
    () => read(filters),
    (fault) => fault instanceof Refusal && fault.code === code && (field === undefined || fault.field === field),
    JSON.stringify(filters).slice(0, 100),
  );
}

/** Makes filters A, B, C … with these conjunctions; '-' means none. */
const chain = (...conjunctions: string[]): Filter[] =>
  conjunctions.map((conjunction, index) => ({
    field: 'NOTES',
    value: String.fromCodePoint(65 + index),
    ...(conjunction !== '-' && { conjunction }),
  }));

test('AND binds tighter than OR, in any order', () => {
  // Each entry has conjunctions, and the filters of each alternative.
  const table: Record<string, string> = {
    '-': 'A',
    '- AND': 'AB',
    '- OR': 'A B',
    '- OR AND': 'A BC',
    '- AND OR': 'AB C',
    '- AND OR AND': 'AB CD',
    '- OR OR': 'A B C',
    '- - -': 'ABC',
    '- OR -': 'A BC',
    'OR AND': 'AB',
    'AND or And oR': 'A BC D',
  };
  assert.deepEqual(shape([]), []);
  for (const [conjunctions, alternatives] of Object.entries(table)) {
    const expected = alternatives.split(' ').map((letters) => Array.from(letters));
    assert.deepEqual(shape(chain(...conjunctions.split(' '))), expected, conjunctions);
  }
});

test('a query means what the same expression means in a programming language', () => {
  const filters = fc.array(fc.tuple(fc.boolean(), fc.constantFrom('AND', 'OR', 'and', 'or', undefined)), {
    minLength: 1,
    maxLength: 50,
  });
  fc.assert(
    fc.property(filters, (chosen) => {
      const tree = read(
        chosen.map(([holds, conjunction]) => ({
          field: 'NOTES',
          value: holds,
          ...(conjunction !== undefined && { conjunction }),
        })),
      );
      const answer = tree.some((terms) => terms.every((term) => valueOf(term) === 'true'));
      // The oracle reads from left to right. `running` is the current alternative, `before` any earlier one.
      let before = false;
      let running = true;
      for (const [index, [holds, conjunction]] of chosen.entries()) {
        if (index > 0 && conjunction?.toUpperCase() === 'OR') {
          before ||= running;
          running = true;
        }
        running &&= holds;
      }
      assert.equal(answer, before || running);
    }),
    { numRuns: 500 },
  );
});

test('an exact value is parsed as the type of its field, so that other notations find it', () => {
  const [terms] = read([
    { field: 'ORDER_DATE', value: '3/4/2026' },
    { field: 'ORDER_TOTAL', value: 3.5 },
    { field: 'DROP_SHIP', value: true },
    { field: 'NOTES', value: ' As Is ' },
  ]);
  const shown = Object.fromEntries(terms!.map((term) => [term.field.name, `${term.kind} ${valueOf(term)}`]));
  assert.deepEqual(shown, {
    ORDER_DATE: 'is 03/04/2026',
    ORDER_TOTAL: 'is 3.5',
    DROP_SHIP: 'is Y',
    NOTES: 'is  As Is ',
  });
});

test('contains accepts any text for any type of field', () => {
  const [terms] = read([
    { field: 'ORDER_DATE', value: '/2026', contains: true },
    { field: 'ORDER_TOTAL', value: '3.', contains: true },
    { field: 'NOTES', value: '', contains: true },
  ]);
  assert.deepEqual(terms!.map(valueOf), ['/2026', '3.', '']);
  assert.deepEqual(valuesOf(terms!, 'kind'), ['contains', 'contains', 'contains']);
});

test('an impossible filter is refused, naming the field', () => {
  refuses('UNKNOWN_FIELD', [{ field: 'CUSTOMR_CODE', value: '1' }], 'CUSTOMR_CODE');
  refuses('UNKNOWN_FIELD', [{ field: '__proto__', value: '1' }]);
  refuses('FIELD_NOT_ALLOWED', [{ field: 'FUNCTION', value: '1' }], 'FUNCTION');
  refuses('INVALID_VALUE', [{ field: 'ORDER_DATE', value: '2/30/2026' }], 'ORDER_DATE');
  refuses('INVALID_VALUE', [{ field: 'ORDER_TOTAL', value: 'three' }], 'ORDER_TOTAL');
  for (const value of ['\0', '\uD800', 'x\uDFFF'])
    for (const contains of [false, true]) refuses('INVALID_VALUE', [{ field: 'NOTES', value, contains }], 'NOTES');
});

test('a filter may have at most 256 characters', () => {
  for (const contains of [false, true]) {
    assert.ok(read([{ field: 'NOTES', value: 'x'.repeat(256), contains }]));
    refuses('INVALID_VALUE', [{ field: 'NOTES', value: 'x'.repeat(257), contains }], 'NOTES');
  }
});

test('uppercase and lowercase letters of every script are equal for contains', () => {
  let pairs = 0;
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const letter = String.fromCodePoint(code);
    for (const other of [letter.toUpperCase(), letter.toLowerCase()]) {
      if (other === letter) continue;
      pairs++;
      assert.equal(foldCase(other), foldCase(letter), `U+${code.toString(16)}`);
    }
  }
  assert.ok(pairs > 2500, `${pairs} pairs`);
});

test('variants of one letter, and letters without an uppercase form, fold as Unicode says', () => {
  const greek = 'σ ς Σ | ω Ω \u2126 | µ μ Μ | β ϐ Β | θ ϑ Θ ϴ';
  const latin = 'k K \u212A | å Å \u212B | s S ſ | ß ẞ ss SS | ﬁ fi FI | ǆ ǅ Ǆ';
  const others = 'в В \u1C80 | ა Ა | ꭰ Ꭰ | 𐐨 𐐀';
  for (const letters of [greek, latin, others].flatMap((script) => script.split(' | '))) {
    const [first, ...same] = letters.split(' ');
    for (const other of same) assert.equal(foldCase(other), foldCase(first!), `${first} ${other}`);
  }
  for (const [a, b] of Object.entries({ e: 'é', l: '1', o: '0', a: 'а' })) assert.notEqual(foldCase(a), foldCase(b));
});

test('every piece of a text is found in it, in any case', () => {
  const character = fc.oneof(
    fc.constantFrom(...Array.from('aAéÉßςΣσİıſK\u0345ǅﬁ%_\\\'"*?[.')),
    fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
  );
  const text = fc.string({ unit: character, maxLength: 8 });
  const piece = fc.tuple(text, text, text).filter((parts) => parts.every((part) => part.isWellFormed()));
  fc.assert(
    fc.property(piece, fc.nat(2), ([before, middle, after], how) => {
      const needle = [middle, middle.toUpperCase(), middle.toLowerCase()][how]!;
      assert.ok(containsFolded(before + middle + after, foldCase(needle)));
    }),
    { numRuns: 3000 },
  );
});

test('no character is a wildcard', () => {
  for (const character of ['%', '_', '*', '?', '[', '.', '\\', '^', '$', '"', "'"]) {
    assert.ok(containsFolded(`a${character}b`, foldCase(`a${character}b`)));
    assert.ok(!containsFolded('axb', foldCase(`a${character}b`)), character);
  }
});
