/** Strings that break programs: control characters, half characters, numbers out of range, what SQL, shells, paths, templates and scripts are made of. */
export const NAUGHTY: readonly string[] = [
  '', ' ', '\t', '\n', '\r\n', '\0', '\x07', '\x1b[31m', '\x7f', '\u0085', '\u00a0', '\u200b', '\u202e', '\u2028', '\ufeff', '\ufffd', '\uffff', '\ud800', '\udc00a',
  'undefined', 'null', 'NULL', 'nil', 'None', 'true', 'NaN', 'Infinity', '-0', '0', '1e400', '0x10', '١٢', '1/0', '2147483648', '9'.repeat(400), '1.7976931348623157e309',
  "'", '"', "' OR ''='", "'; DROP TABLE ORDERS; --", '" OR ""="', 'x\' AND SLEEP(5)#', ') OR 1=1', '%', '_', '\\', '*', '?', 'a%b_c', '../../../etc/passwd', '..\\..\\x',
  '<script>alert(1)</script>', '{{7*7}}', '${7*7}', '%s%n%x', '__proto__', 'constructor', 'FUNCTION', 'ORDER_NUMBER', '$(touch x)', '() { :; }', 'CON', '#1', '%23', '%00',
  'é', 'e\u0301', 'Ω≈ç√∫', 'ﬀ', 'İ', 'ſ', 'K', '茶', '𝒳', '👩‍👩‍👧', '🇩🇪', 'Z͑ͫ̓a̴lgo', 'שלום', 'مرحبا', 'ภาษา', 'x'.repeat(257), 'y'.repeat(8192), 'z'.repeat(8193),
]; // prettier-ignore
