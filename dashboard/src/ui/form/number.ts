/** Reads and writes numbers as people write them in the viewer's locale. The service gets decimals with a point. */
import { faultAt } from '../../api/client.ts';

/** Replaces the characters that a locale prints by those that people type: spaces, apostrophes and hyphens. */
const toTyped = (text: string) => text.normalize('NFKC').replaceAll('’', "'").replace('−', '-').trim();
const SEPARATORS = new Intl.NumberFormat(undefined, { numberingSystem: 'latn' })
  .formatToParts(1234567.5)
  .map(({ value }) => toTyped(value) || ' ');
const GROUP = SEPARATORS[1]!;
const POINT = SEPARATORS.at(-2)!;
const NUMBER = new RegExp(
  '^(-?)(?=.*[0-9])([0-9]*|[0-9]{1,3}(?:[G][0-9]{2,3})*[G][0-9]{3})(?:[P]([0-9]*))?$'
    .replaceAll('G', GROUP)
    .replace('P', POINT),
);

/**
 * Returns the decimal that a person has typed, or undefined if the text is not a number. In German,
 * `readNumber('1.234,50')` gives `'1234.50'`, and in English, `readNumber('.5')` gives `'0.5'`.
 */
export function readNumber(text: string): string | undefined {
  const [, sign, whole, decimals] = NUMBER.exec(toTyped(text)) ?? [];
  if (whole === undefined) return undefined;
  return sign + (whole.replaceAll(GROUP, '') || '0') + (decimals ? `.${decimals}` : '');
}

/** Returns the text of a decimal for a field: in German, `writeNumber('12.5')` gives `'12,5'`. */
export const writeNumber = (number: string): string => number.replace('.', POINT);

/** Returns what is wrong with a typed number, or undefined. A field can be empty. */
export const faultOfNumber = (text: string): string | undefined =>
  text.trim() !== '' && readNumber(text) === undefined ? `Enter a number, such as ${writeNumber('12.50')}.` : undefined;

/** Returns the typed number, or '' for an empty field. Throws an error at this field. */
export function takeNumber(text: string, field: string): string {
  const fault = faultOfNumber(text);
  if (fault) throw faultAt(field, fault);
  return readNumber(text) ?? '';
}
