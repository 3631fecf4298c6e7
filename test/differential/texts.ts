/** Makes values that a caller may send: odd Unicode, wildcards, dates and numbers in all forms, and invalid values. */
import * as fc from 'fast-check';
import type { RawValue } from '../../src/pims/rules/values.ts';
import type { FieldType } from '../../src/pims/rules/fields.ts';
import { anyCharacter } from '../store/query-model.ts';

/**
 * Texts that change their length with their case, look like others, join their neighbours, are written from right to
 * left, or have a meaning for a database.
 */
const ODD_PIECES = [
  'Σίσυφος ΣΊΣΥΦΟΣ ς σ Σ ß ẞ ss SS Straße STRASSE İ i\u0307 ı I i \u212a k K \u212b å Å',
  'ﬁ fi FI ﬃ ŉ ʼN ǆ ǅ Ǆ e\u0301 é É E\u0301 \u0345 ᾳ ᾼ ΐ ſ s S և ԵՒ Ж ж ᲈ Ꙋ ა Ა ꭰ',
  'Ꭰ ⅷ Ⅷ ⓐ Ⓐ Ａ ａ 𐐀 𐐨 𞤀 𞤢 😀 👩‍👧 \u200d 中文字 한글 \u1112\u1161\u11ab',
  'ไทย हिन्दी שלום العربية \u202e \u0300 \ufeff \u00a0 \u2028 \u0085 \u0001 \u001f',
  "\u007f \b \f \v \n \r\n \t \ud7ff \ue000 \uffff \u{10000} \u{10ffff} % _ \\ \\\\ \" ' '' ` * ? [ ^ $1 $$ {}",
  ';-- /* , NOT NULL \\u0000 \\x00 abc Abc ABC aaa a A 0 1 10 - . # ~ :',
]
  .flatMap((line) => line.split(' '))
  .concat(' ', ' OR ');

/** Chooses one of these arbitraries, in proportion to their weights. */
export const weighted = <T extends unknown[]>(
  ...choices: { [Index in keyof T]: readonly [weight: number, arbitrary: fc.Arbitrary<T[Index]>] }
): fc.Arbitrary<T[number]> =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary: arbitrary as fc.Arbitrary<T[number]> })));

const oddPiece = fc.constantFrom(...ODD_PIECES);
export const oddText = fc.array(oddPiece, { minLength: 1, maxLength: 6, size: 'max' }).map((pieces) => pieces.join(''));
const anyText = fc.array(anyCharacter, { minLength: 1, maxLength: 8 }).map((characters) => characters.join(''));

/** Returns random letters. They cannot be compressed, so an index cannot shorten them. */
export function incompressible(length: number, seed: number): string {
  let state = seed;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return String.fromCodePoint(0x21 + ((state >>> 16) % 0x5d) + (seed % 3) * 0x400);
  }).join('');
}

const length = fc.oneof(
  fc.constantFrom(255, 256, 257, 300),
  fc.integer({ min: 2000, max: 8192 }),
  fc.constantFrom(8191, 8192, 8193),
);
const longText = fc.oneof(
  fc.tuple(length, fc.nat(2)).map(([characters, seed]) => incompressible(characters, seed)),
  fc
    .tuple(length, oddPiece)
    .map(([characters, piece]) => Array.from(piece.repeat(characters)).slice(0, characters).join('')),
);
/** Text that every field refuses. */
const badText = fc.constantFrom('\0', 'a\0b', '\ud83d', 'a\udc00', '\udc00\ud83d', '\\\0');
export const text = weighted([40, oddText], [12, anyText], [2, longText], [1, badText]);

const number = weighted(
  [8, fc.integer({ min: -3, max: 12 }).map(String)],
  [
    4,
    fc.constantFrom<RawValue[]>(
      2,
      1.5,
      0,
      -1,
      '+03.50',
      '-0',
      '0.10',
      '007',
      '1.0',
      '-2.250',
      0.1,
      1e21,
      123456789012345,
      '9'.repeat(30),
    ),
  ],
  [1, fc.constantFrom<RawValue[]>('1e3', 'x', '1,5', ' 1', '٣', '１', true, '.5', '1.', '9'.repeat(31))],
);
const date = weighted(
  [
    8,
    fc
      .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 4 }), fc.nat(3))
      .map(([month, day, how]) => formatDate(month, day, how)),
  ],
  [
    1,
    fc.constantFrom<RawValue[]>(
      '2/30/2026',
      '02/29/2028',
      '13/1/2026',
      '2026-2-3',
      '0/0/0000',
      '12/31/9999',
      20260304,
      'today',
      '3.4.2026',
    ),
  ],
);
const flag = weighted(
  [8, fc.constantFrom<RawValue[]>('Y', 'N', 'y', 'n', true, false, 1, 0, 'TRUE', 'false')],
  [1, fc.constantFrom<RawValue[]>('yes', 2, ' Y', 'ｙ')],
);
const timestamp = fc.constantFrom<RawValue[]>(
  '2026-11-20T09:30:00.000Z',
  '2026-11-20T10:30:00+01:00',
  '2026-11-20',
  '2026-13-01T00:00:00Z',
);

const formatDate = (month: number, day: number, how: number): string =>
  [`${month}/${day}/2026`, `0${month}/0${day}/2026`, `2026-0${month}-0${day}`, `2026-0${month}-0${day}T23:30:00-05:00`][
    how
  ]!;

const VALUES: Record<FieldType, fc.Arbitrary<RawValue>> = { text, number, date, flag, timestamp };
/** Makes a value for a field of this type: usually valid, now and then empty or invalid. */
export const valueOf = (type: FieldType): fc.Arbitrary<RawValue> =>
  weighted([16, VALUES[type]], [2, fc.constantFrom<RawValue[]>(null, '')], [1, text]);
