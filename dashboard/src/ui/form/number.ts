/** Numbers as people write them, with the decimal mark of their locale, and dates as the browser's date field has them. */
import { parseDecimal } from '../../../../src/pims/rules/decimal.ts';
import { ApiError } from '../../api/client.ts';

const MARK = new Intl.NumberFormat().formatToParts(0.5).find(({ type }) => type === 'decimal')?.value ?? '.';
const EXAMPLE = `12${MARK}50`;
const GROUPED = /^\d{1,3}(?:[.,]\d{3})+$/;

/**
 * Reads a number, or returns undefined. `1.234,5` and `1,234.5` are the same number everywhere, and so are `12,50`,
 * `12.50` and `$12.50`. `1,234` depends on the locale.
 */
export function readNumber(text: string): string | undefined {
  const plain = text.replace(/[\s'’]/g, '').replace(/^([+-]?)\p{Sc}|\p{Sc}$/gu, '$1');
  const sign = /^[+-]/.test(plain) ? plain[0]! : '';
  const digits = plain.slice(sign.length);
  const last = digits[Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','))];
  const parts = last === undefined ? [digits] : digits.split(last);
  const isWhole = parts.length !== 2 || (last !== MARK && GROUPED.test(digits));
  const [whole = '', fraction = ''] = isWhole ? [digits] : parts;
  if (/[.,]/.test(whole) && !GROUPED.test(whole)) return undefined;
  const decimals = fraction === '' ? '' : `.${fraction}`;
  return parseDecimal(`${sign}${whole.replace(/[.,]/g, '') || (decimals && '0')}${decimals}`);
}

/** Shows a number of the API for a field of a form: `12.5` is `12,5` in German. */
export const writeNumber = (number: string): string => number.replace('.', MARK);

/** Returns what is wrong with the text of a number field, or undefined. An empty field is not wrong. */
export const faultOfNumber = (text: string): string | undefined =>
  text.trim() === '' || readNumber(text) !== undefined ? undefined : `Enter a number, such as 2 or ${EXAMPLE}.`;

/** Returns the number of a field that is sent, or '' if it is empty. Throws an error that the form shows at the field. */
export function takeNumber(field: string, text: string): string {
  const fault = faultOfNumber(text);
  if (fault !== undefined) throw new ApiError('INVALID_VALUE', fault, 0, { field });
  return readNumber(text) ?? '';
}

/** Example: `toDateInput('11/20/2026')` gives `2026-11-20`; a text in another form stays unchanged. */
export const toDateInput = (date: string): string => date.replace(/^(\d\d)\/(\d\d)\/(\d{4})$/, '$3-$1-$2');
