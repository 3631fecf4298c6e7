/**
 * Exact decimal numbers as text without trailing zeros: `3`, `1.5`, `-0.25`. big.js does the arithmetic that a double
 * cannot do exactly (decision 0014).
 */
import Big from 'big.js';

const CANONICAL = /^(?:0|-?(?:[1-9]\d{0,14}(?:\.\d{0,9}[1-9])?|0\.\d{0,9}[1-9]))$/;
const SMALL = /^(?:-?\d{1,15})?$/;
const IN_CENTS = /^-?\d+(?:\.\d\d?)?$/;
const DECIMAL = /^[+-]?\d{1,30}(?:\.\d{1,30})?$/;

/**
 * Returns the canonical text of a number with at most 30 digits on either side of the point, or undefined. For
 * `'+03.50'` it returns `'3.5'`.
 */
export function parseDecimal(text: string): string | undefined {
  if (CANONICAL.test(text)) return text;
  return DECIMAL.test(text) ? format(new Big(text.replace('+', ''))) : undefined;
}

export const addDecimals = (a: string, b: string): string =>
  areSmall(a, b) ? String(Number(a) + Number(b)) : format(new Big(a || '0').plus(b || '0'));
export const subtractDecimals = (a: string, b: string): string =>
  areSmall(a, b) ? String(Number(a) - Number(b)) : format(new Big(a || '0').minus(b || '0'));
export function multiplyDecimals(a: string, b: string): string {
  if (areSmall(a, b)) {
    const product = Number(a) * Number(b);
    if (Number.isSafeInteger(product)) return String(product);
  }
  return format(new Big(a || '0').times(b || '0'));
}
/** Returns a number below, equal to or above 0 if a is less than, equal to or greater than b. Empty text is zero. */
export const compareDecimals = (a: string, b: string): number =>
  areSmall(a, b) ? Math.sign(Number(a) - Number(b)) : new Big(a || '0').cmp(b || '0');
/** Rounds to two places, and halves away from zero. */
export const roundCents = (a: string): string =>
  IN_CENTS.test(a) ? a : format(new Big(a || '0').round(2, Big.roundHalfUp));
/** Returns the proportional share of an amount, rounded to cents. */
export const takeShare = (amount: string, part: string, whole: string): string =>
  roundCents(String(new Big(amount).times(part || '0').div(whole)));
export const isZero = (a: string): boolean => a === '' || a === '0';

/** Returns whether a quantity is between 0 and a bound, which is negative for a return. */
export function within(quantity: string, bound: string): boolean {
  return compareDecimals(bound, '0') >= 0
    ? compareDecimals(quantity, '0') >= 0 && compareDecimals(quantity, bound) <= 0
    : compareDecimals(quantity, '0') <= 0 && compareDecimals(quantity, bound) >= 0;
}

/** Returns whether a double can represent both numbers and their sum exactly. Empty text is zero. */
const areSmall = (a: string, b: string) => SMALL.test(a) && SMALL.test(b);

function format(value: Big): string {
  return value.eq(0) ? '0' : value.toFixed();
}
