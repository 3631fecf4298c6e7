/** Strings that break programs: control characters, lone surrogates, huge numbers, SQL, commands, paths, scripts. */
import { IS_THOROUGH } from './trials.ts';

const MOST_TELLING: readonly string[] = [
  '', '\0', '\x1b[31m', '\u2028', '\ufffd', '\ud800', '\udc00a', 'null', '-0', '1e400', '9'.repeat(400), "' OR ''='",
  "'; DROP TABLE ORDERS; --", '%', '\\', 'a%b_c', '../../../etc/passwd', '<script>alert(1)</script>', '${7*7}',
  '__proto__', 'constructor', '#1', '%00', 'e\u0301', 'K', '👩‍👩‍👧', 'שלום', 'y'.repeat(8192), 'z'.repeat(8193),
]; // prettier-ignore

const MORE: readonly string[] = [
  ' ', '\t', '\n', '\r\n', '\x07', '\x7f', '\u0085', '\u00a0', '\u200b', '\u202e', '\ufeff', '\uffff',
  'undefined', 'NULL', 'nil', 'None', 'true', 'NaN', 'Infinity', '0', '0x10', '١٢', '1/0', '2147483648',
  '1.7976931348623157e309',
  "'", '"', '" OR ""="', 'x\' AND SLEEP(5)#', ') OR 1=1', '_', '*', '?', '..\\..\\x',
  '{{7*7}}', '%s%n%x', 'FUNCTION', 'ORDER_NUMBER', '$(touch x)', '() { :; }', 'CON', '%23',
  'é', 'Ω≈ç√∫', 'ﬀ', 'İ', 'ſ', '茶', '𝒳', '🇩🇪', 'Z͑ͫ̓a̴lgo', 'مرحبا', 'ภาษา', 'x'.repeat(257),
]; // prettier-ignore

/** All these strings in `npm run test:all`, and only the most telling ones in `npm test`. */
export const NAUGHTY: readonly string[] = IS_THOROUGH ? [...MOST_TELLING, ...MORE] : MOST_TELLING;
