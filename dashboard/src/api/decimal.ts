/**
 * Exact decimals for quantities, which the service sends as text: sums, differences and comparisons, never through binary fractions and never
 * rounded. Decides nothing: whether a quantity is allowed is the service's word.
 */

interface Decimal {
  readonly digits: bigint;
  /** Digits behind the point. */
  readonly scale: number;
}

/** A number of the storefront lookup comes as JSON writes it, which may be `1e-7`. */
function read(text: string): Decimal | undefined {
  const parts = /^([+-]?\d{1,30})(?:\.(\d{1,30}))?(?:e([+-]?\d{1,3}))?$/.exec(text.trim());
  if (parts === null) return text === '' ? { digits: 0n, scale: 0 } : undefined;
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  const digits = BigInt((whole + fraction).replace('+', ''));
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

function write({ digits, scale }: Decimal): string {
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0');
  const fraction = text.slice(text.length - scale).replace(/0+$/, '');
  const whole = text.slice(0, text.length - scale);
  return `${digits < 0n ? '-' : ''}${whole}${scale === 0 || fraction === '' ? '' : `.${fraction}`}`;
}

function combine(a: string, b: string, with_: (a: bigint, b: bigint) => bigint): Decimal {
  const [one, other] = [read(a), read(b)];
  if (one === undefined || other === undefined)
    throw new TypeError(`'${one === undefined ? a : b}' is no decimal number.`);
  const scale = Math.max(one.scale, other.scale);
  const align = (value: Decimal) => value.digits * 10n ** BigInt(scale - value.scale);
  return { digits: with_(align(one), align(other)), scale };
}

export const isDecimal = (text: string): boolean => text.trim() !== '' && read(text) !== undefined;
/** Empty texts count as zero. */
export const add = (a: string, b: string): string => write(combine(a, b, (one, other) => one + other));
export const subtract = (a: string, b: string): string => write(combine(a, b, (one, other) => one - other));
/** Negative, zero or positive, as a is less than, equal to or greater than b. */
export const compare = (a: string, b: string): number => {
  const { digits } = combine(a, b, (one, other) => one - other);
  return digits < 0n ? -1 : digits > 0n ? 1 : 0;
};
export const sum = (quantities: readonly string[]): string => quantities.reduce(add, '0');
