/** Tests decimal numbers: one canonical text for each, and exact arithmetic. The oracle counts units of 10⁻³⁰. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { addDecimals, compareDecimals, isZero, parseDecimal, subtractDecimals } from '../../src/pims/rules/decimal.ts';

const PLACES = 30;
const digits = (least: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...Array.from('0123456789')), minLength: least, maxLength: PLACES });
/** Numbers in every form that a caller may write. */
const written = fc
  .tuple(fc.constantFrom('', '-', '+'), digits(1), digits(0))
  .map(([sign, whole, part]) => `${sign}${whole}${part === '' ? '' : `.${part}`}`);
const decimal = written.map((text) => parseDecimal(text)!);

/** Returns the number in units of 10⁻³⁰. */
function scale(text: string): bigint {
  const [, sign, whole, part = ''] = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text)!;
  const units = BigInt(whole! + part.padEnd(PLACES, '0'));
  return sign === '-' ? -units : units;
}

const CANONICAL = /^(0|-?([1-9]\d*(\.\d*[1-9])?|0\.\d*[1-9]))$/;

test('a number becomes text without leading and trailing zeros, and keeps its value', () => {
  const examples = {
    '3': '3',
    '3.0': '3',
    '03.50': '3.5',
    '+03.50': '3.5',
    '-0': '0',
    '+0': '0',
    '-0.0': '0',
    '00': '0',
    '-0.250': '-0.25',
    '0.1': '0.1',
    '100': '100',
  };
  for (const [text, canonical] of Object.entries(examples)) assert.equal(parseDecimal(text), canonical, text);
  fc.assert(
    fc.property(written, (text) => {
      const read = parseDecimal(text)!;
      assert.match(read, CANONICAL);
      assert.equal(scale(read), scale(text));
    }),
  );
});

test('parsing a parsed number changes nothing', () => {
  fc.assert(fc.property(decimal, (text) => parseDecimal(text) === text));
});

test('equal numbers have the same text, different ones do not', () => {
  const pair = fc.tuple(written, fc.nat(3), fc.nat(3)).map(([text, before, after]) => {
    const [, sign, whole, part = ''] = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text)!;
    const zeros = '0'.repeat(Math.min(before, PLACES - whole!.length));
    return [text, `${sign}${zeros}${whole}.${`${part}${'0'.repeat(after)}0`.slice(0, PLACES)}`] as const;
  });
  fc.assert(fc.property(pair, ([a, b]) => parseDecimal(a) === parseDecimal(b)));
  fc.assert(fc.property(decimal, decimal, (a, b) => (a === b) === (scale(a) === scale(b))));
});

test('other texts are not decimal numbers', () => {
  const none = '.5 5. . - + --1 +-1 1e5 1E5 0x10 1,5 1_000 NaN Infinity -Infinity three ١٢'.split(' ');
  for (const text of [...none, '', ' ', ' 3', '3 ', '3\n', '1'.repeat(31), `0.${'1'.repeat(31)}`])
    assert.equal(parseDecimal(text), undefined, JSON.stringify(text));
});

test('sums and differences are exact', () => {
  assert.equal(addDecimals('0.1', '0.2'), '0.3');
  assert.equal(subtractDecimals('1', '0.9'), '0.1');
  fc.assert(
    fc.property(decimal, decimal, (a, b) => {
      for (const [result, exact] of [
        [addDecimals(a, b), scale(a) + scale(b)],
        [subtractDecimals(a, b), scale(a) - scale(b)],
      ] as const) {
        assert.match(result, CANONICAL);
        assert.equal(scale(result), exact);
      }
    }),
  );
});

test('a comparison says which number is greater', () => {
  fc.assert(
    fc.property(decimal, decimal, (a, b) => {
      const difference = scale(a) - scale(b);
      assert.equal(Math.sign(compareDecimals(a, b)), difference > 0n ? 1 : difference < 0n ? -1 : 0);
      assert.equal(isZero(a), scale(a) === 0n);
    }),
  );
});

test('an empty value counts as zero', () => {
  assert.equal(addDecimals('', '2'), '2');
  assert.equal(subtractDecimals('', '2'), '-2');
  assert.equal(compareDecimals('', '0'), 0);
  assert.equal(addDecimals('2', ''), '2');
  assert.equal(subtractDecimals('2', ''), '2');
  assert.equal(compareDecimals('2', ''), 1);
  assert.ok(isZero(''));
});
