/**
 * Parses values of record fields into the one canonical text in which they are stored and returned. Source: decision
 * 0006.
 */
import { Refusal, refuseField, startOf } from '../../errors.ts';
import { parseDecimal } from './decimal.ts';
import { REASON_CHARACTERS_MAX, VALUE_CHARACTERS_MAX } from './record-bounds.ts';
import { findField, STOCK_FIELDS, type Field, type FieldDictionary, type RecordType } from './fields.ts';

/** A value from JSON or CSV before it is parsed. */
export type RawValue = string | number | boolean | null;
/** Fields and their canonical texts, such as `{ PART_CODE: 'MB/14', QUANTITY: '2' }`. */
export type Values = Record<string, string>;

/**
 * Parses one value into its canonical text: dates as `mm/dd/yyyy`, numbers without trailing zeros, flags as `Y` or `N`,
 * timestamps in UTC and ISO 8601. null and '' clear the field (`''`). Throws INVALID_VALUE with the field and the
 * accepted form.
 */
export function parseValue(field: Field, raw: RawValue): string {
  if (raw === null || raw === '') return '';
  const text = typeof raw === 'string' ? raw : String(raw);
  checkText(field.name, text);
  if (field.type === 'text') return text;
  const [parse, form] = FORMS[field.type];
  const value = parse(text);
  if (value === undefined) throw invalid(field.name, `${field.name} must be ${form}, not '${startOf(text)}'.`);
  return value;
}

export const invalid = (name: string, message: string): Refusal => refuseField('INVALID_VALUE', name, message);

/** Counts characters as maxLength of JSON Schema does: a surrogate pair is one character. */
export const countCharacters = (text: string): number =>
  text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
export const isLonger = (text: string, charactersMax: number): boolean =>
  text.length > charactersMax && countCharacters(text) > charactersMax;

/** Throws INVALID_VALUE for text that is too long, contains a NUL character, or is not well-formed Unicode. */
export function checkText(name: string, text: string, charactersMax = VALUE_CHARACTERS_MAX): void {
  if (isLonger(text, charactersMax))
    throw invalid(name, `${name} has ${countCharacters(text)} characters. Shorten it to at most ${charactersMax}.`);
  if (text.includes('\0')) throw invalid(name, `${name} contains a NUL character. Remove it.`);
  if (!text.isWellFormed()) throw invalid(name, `${name} contains half of a surrogate pair. Send well-formed Unicode.`);
}

/** Returns MISSING_FIELD for a member, such as the field that identifies the record or line to write to. */
export function refuseMissingKey(name: string): Refusal {
  const isLine = name === 'LINE_REF_LOCK_CODE';
  const what = isLine ? 'the line; getOrder and addLineItem return it' : 'the record to write to';
  const hint = /_(CODE|NUMBER)$/.test(name) ? ` It identifies ${what}.` : '';
  return refuseField('MISSING_FIELD', name, `${name} is required.${hint}`);
}

/**
 * Parses the fields of a request body: `{ QUANTITY: 2, NOTES: null }` becomes `{ QUANTITY: '2', NOTES: '' }`. Throws
 * UNKNOWN_FIELD, INVALID_VALUE, or FIELD_NOT_ALLOWED for a field that PIMS assigns or that is in `refused`.
 */
export function parseValues(
  dictionary: FieldDictionary,
  recordType: RecordType,
  body: Readonly<Record<string, RawValue>>,
  refused: readonly string[] = [],
): Values {
  const values: Values = {};
  for (const [name, raw] of Object.entries(body)) {
    const field = findField(dictionary, recordType, name);
    if (field.assigned || refused.includes(name))
      throw refuseField('FIELD_NOT_ALLOWED', name, `${name} cannot be sent in this call. ${hintOf(name)}`);
    values[name] = parseValue(field, raw);
  }
  return values;
}

const hintOf = (name: string) =>
  name === 'ORDER_TYPE'
    ? 'To move an order to its next stage, use approveOrder or invoiceOrder (POST /orders/approve, /orders/invoice).'
    : STOCK_FIELDS.includes(name)
      ? 'To change stock, use receiveStock, countStock or adjustStock (POST /stock/receive, /stock/count, /stock/adjust).'
      : 'Remove it.';

/** Returns the REASON of a body, or '' without one. Throws INVALID_VALUE. */
export function parseReason(raw: RawValue | undefined): string {
  const reason = String(raw ?? '');
  checkText('REASON', reason, REASON_CHARACTERS_MAX);
  return reason;
}

/** Lists the fields that a change sets to other values than a record has. */
export const changedNames = (record: Values, change: Values): string[] =>
  Object.keys(change).filter((name) => change[name] !== record[name]);

/** Returns the values of these fields in order, with '' for a missing one. */
export const complete = (names: Iterable<string>, values: Values): Values =>
  Object.fromEntries([...names].map((name) => [name, values[name] ?? '']));

/** Parses records that the port exports. `names` are the field names of the dictionary in order. */
export function parseRecords(cells: Uint8Array, names: readonly string[]): Values[] {
  const values = Buffer.from(cells).toString().split('\0');
  return Array.from({ length: Math.floor(values.length / names.length) }, (_, record) =>
    Object.fromEntries(names.map((name, column) => [name, values[record * names.length + column]!])),
  );
}

/**
 * Returns the text by which records are sorted: all-digit codes first, by number, then the others by code point.
 * Different codes have different sort keys. Example: `'9'` < `'10'` < `'010'` < `'A1'`.
 */
export function sortKey(code: string): string {
  if (!/^\d+$/.test(code)) return `~${code}`;
  const digits = code.replace(/^0+(?=\d)/, '');
  const leadingZeros = code.length - digits.length;
  const key = formatCount(digits.length) + digits;
  return leadingZeros > 0 ? `${key}:${formatCount(leadingZeros)}` : key;
}

/**
 * Returns the text with which the sort keys of an order's lines begin. Lines are sorted as their orders, because a
 * U+0001 of the number becomes two characters that come after the two behind the number.
 */
export const startOfLines = (orderNumber: string): string => sortKey(orderNumber).replaceAll('\u0001', '\u0001\u0002');
export const sortKeyOfLine = ({ ORDER_NUMBER = '', LINE_NUMBER = '' }: Values): string =>
  `${startOfLines(ORDER_NUMBER)}\u0001\u0001${String(LINE_NUMBER.length).padStart(2, '0')}${LINE_NUMBER}`;

const formatCount = (count: number) => String(count).padStart(4, '0');

/** The function that parses each type of values, and the form that it accepts. */
const FORMS = {
  number: [parseDecimal, "a decimal number such as '3' or '1.5'"],
  date: [parseDate, "a date that exists, as 'm/d/yyyy' or 'yyyy-mm-dd' without a time"],
  flag: [parseFlag, "'Y' or 'N'"],
  timestamp: [parseTimestamp, "an ISO 8601 time such as '2026-03-04T09:30:00Z'"],
} as const;

/** Returns a date in either form as `mm/dd/yyyy`. A time is refused, because its day depends on the time zone. */
export function parseDate(text: string): string | undefined {
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text);
  if (american) return formatDate(american[3]!, american[1]!, american[2]!);
  const iso = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  return iso ? formatDate(iso[1]!, iso[2]!, iso[3]!) : undefined;
}

function formatDate(year: string, month: string, day: string): string | undefined {
  if (!dateExists(Number(year), Number(month), Number(day))) return undefined;
  return `${month.padStart(2, '0')}/${day.padStart(2, '0')}/${year}`;
}

function dateExists(year: number, month: number, day: number): boolean {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return year >= 1 && days !== undefined && day >= 1 && day <= days;
}

export function parseFlag(text: string): string | undefined {
  const word = text.toLowerCase();
  if (word === 'y' || word === 'true' || word === '1') return 'Y';
  return word === 'n' || word === 'false' || word === '0' ? 'N' : undefined;
}

const CANONICAL_TIMESTAMP =
  /^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;
const TIMESTAMP = /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

function parseTimestamp(text: string): string | undefined {
  if (CANONICAL_TIMESTAMP.test(text)) return text;
  const parts = TIMESTAMP.exec(text);
  if (!parts || !dateExists(Number(parts[1]), Number(parts[2]), Number(parts[3]))) return undefined;
  const time = new Date(text);
  // An offset can move the first or last day out of the years 1 to 9999. An impossible offset makes the year NaN.
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time.toISOString() : undefined;
}
