/**
 * What a PIMS record is: the four record types, their field dictionaries, and how a value is read in.
 * Values are stored and answered in one canonical text, so nothing is converted on the way out. Never does input or output.
 * Source: specification sections 2.2 to 2.5, decisions "Records" and "Fields of the embedded PIMS".
 */
import { Refusal } from '../errors.ts';
import { readDecimal } from './decimal.ts';

export type FieldType = 'text' | 'number' | 'date' | 'flag' | 'timestamp';
export type RecordType = 'orders' | 'lines' | 'customers' | 'inventory';

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /** Set by PIMS and never taken from a caller. */
  readonly assigned: boolean;
  /** Exact filters on it walk an index. */
  readonly indexed: boolean;
  /** Substring filters on it use the trigram index. */
  readonly searched: boolean;
  readonly custom: boolean;
}

export type FieldDictionary = ReadonlyMap<string, Field>;
/** The dictionaries of one tenant: the fields below and its custom fields. */
export type Dictionaries = Readonly<Record<RecordType, FieldDictionary>>;
/** Fields and their canonical texts, e.g. `{ PART_CODE: 'MB/14', QUANTITY: '2' }`. */
export type Values = Record<string, string>;
/** A value as JSON or CSV brings it. */
export type RawValue = string | number | boolean | null;

export const VALUE_CHARACTERS_MAX = 8192;
export const FIELDS_MAX = 512;
/** What an index entry of PostgreSQL (2,704 bytes) and the URL with a cursor have room for, whatever the characters. */
export const KEY_CHARACTERS_MAX = 256;
/** A row of PostgreSQL lies in one page of 8 KiB, which has room for 400 pointers to values kept elsewhere. */
export const DICTIONARY_MAX = 400;

const ADDRESS = ['NAME', 'ATTN', 'ADDRESS1', 'ADDRESS2', 'CITY', 'STATE', 'ZIPCODE', 'COUNTRY', 'PHONE', 'EMAIL'];
const ADDRESSES = ['B', 'S'].flatMap((side) => ADDRESS.map((part) => `${side}${part}`)).join(' ');

/** Field names with marks: `#` number, `@` date, `?` flag, `!` set by PIMS, `*` indexed, `~` in the trigram index. */
const FIELDS: Record<RecordType, string> = {
  orders: `ORDER_NUMBER!*~ ORDER_TYPE REFERENCE_NUMBER*~ CUSTOMER_CODE*~ LOCATION_CODE ORDER_DATE@* ORDER_STATUS*~ SALESPERSON_CODE PO_NUMBER~ TERMS_CODE
    SHIP_VIA DROP_SHIP? TRACKING_NUMBERS~ NOTES SUBTOTAL# FREIGHT# TAX_TOTAL# ORDER_TOTAL# ${ADDRESSES.replace('BNAME', 'BNAME~').replace('SNAME', 'SNAME~').replace('BEMAIL', 'BEMAIL*~')}`,
  lines: `ORDER_NUMBER LINE_NUMBER#! PART_CODE DESCRIPTION QUANTITY# NUMBER_SHIPPED# UNIT_PRICE# DISCOUNT# SERIAL_NUMBERS CARE_PLAN? LINE_REF_LOCK_CODE!`,
  customers: `CUSTOMER_CODE*~ CUSTOMER_NAME*~ ${ADDRESSES.replace(/\b(BNAME|BEMAIL|BPHONE|SNAME|SEMAIL|BCITY|BSTATE|BZIPCODE)\b/g, '$1*~')} TERMS_CODE CREDIT_LIMIT# NOTES`,
  inventory: `PART_CODE*~ PART_DESCRIPTION*~ BARCODE*~ CATEGORY* LOCATION_CODE* QTY_ONHAND# QTY_COMMITTED#! QTY_AVAILABLE#! QTY_ONORDER# UNIT_PRICE# UNIT_COST#
    SERIALIZED? CARE_PLAN?`,
};
const TIMESTAMPS = ['CREATE_DATE', 'MODIFIED_DATE'];
const TYPE_MARKS: [string, FieldType][] = [['#', 'number'], ['@', 'date'], ['?', 'flag']]; // prettier-ignore

/** The record types: their PIMS table and the field a caller names a record by. */
export const RECORD_TYPES = {
  orders: { table: 'ORDERS', key: 'ORDER_NUMBER', noun: 'order' },
  lines: { table: 'ORDER_LINEITEMS', key: 'LINE_REF_LOCK_CODE', noun: 'line item' },
  customers: { table: 'CUSTOMER', key: 'CUSTOMER_CODE', noun: 'customer' },
  inventory: { table: 'INVENTORY', key: 'PART_CODE', noun: 'part' },
} as const satisfies Record<RecordType, { table: string; key: string; noun: string }>;

function parseFields(marked: string): Field[] {
  const fields = marked.split(/\s+/).map((word) => ({
    name: word.replace(/[^A-Z0-9_]/g, ''),
    type: TYPE_MARKS.find(([mark]) => word.includes(mark))?.[1] ?? ('text' as const),
    assigned: word.includes('!'),
    indexed: word.includes('*'),
    searched: word.includes('~'),
    custom: false,
  }));
  const stamp = { type: 'timestamp', assigned: true, indexed: false, searched: false, custom: false } as const;
  return [...fields, ...TIMESTAMPS.map((name) => ({ name, ...stamp }))];
}

export const BUILT_IN_FIELDS: Readonly<Record<RecordType, readonly Field[]>> = {
  orders: parseFields(FIELDS.orders),
  lines: parseFields(FIELDS.lines),
  customers: parseFields(FIELDS.customers),
  inventory: parseFields(FIELDS.inventory),
};

/** The field types a tenant can give a field of its own. */
export const CUSTOM_FIELD_TYPES = ['text', 'number', 'date', 'flag'] as const satisfies FieldType[];
type CustomFieldType = (typeof CUSTOM_FIELD_TYPES)[number];
export interface CustomField {
  readonly recordType: RecordType;
  readonly name: string;
  readonly type: CustomFieldType;
}

/** The dictionaries of a tenant with these custom fields. */
export function buildDictionaries(customFields: readonly CustomField[]): Dictionaries {
  const build = (recordType: RecordType): FieldDictionary => {
    const own = customFields.filter((field) => field.recordType === recordType);
    const added = own.map(({ name, type }) => ({ name, type, assigned: false, indexed: false, searched: false, custom: true }));
    return new Map([...BUILT_IN_FIELDS[recordType], ...added].map((field) => [field.name, field]));
  };
  return { orders: build('orders'), lines: build('lines'), customers: build('customers'), inventory: build('inventory') };
}

/** FUNCTION is the service's word; the others are columns that a store keeps beside the fields. */
const RESERVED_NAMES = ['FUNCTION', 'ID', 'SORT_KEY'];

/** Why a custom field cannot have this name: it is not `[A-Z][A-Z0-9_]*` of at most 63 characters (PostgreSQL's for a column), reserved, or there. */
export function refuseCustomField(dictionary: FieldDictionary, name: string): Refusal | undefined {
  const about = { field: name };
  if (!/^[A-Z][A-Z0-9_]{0,62}$/.test(name))
    return new Refusal(
      'COMMAND_REFUSED',
      `A field name is upper case letters, digits and _, beginning with a letter, at most 63 characters: '${name}' is not.`,
      about,
    );
  if (RESERVED_NAMES.includes(name) || dictionary.has(name))
    return new Refusal('COMMAND_REFUSED', `The field ${name} exists already, or its name is reserved.`, about);
  if (dictionary.size >= DICTIONARY_MAX) return new Refusal('COMMAND_REFUSED', `A record type has at most ${DICTIONARY_MAX} fields.`, about);
  return undefined;
}

/** The field of this name, or a refusal that gives the nearest known one. */
export function findField(dictionary: FieldDictionary, recordType: RecordType, name: string): Field {
  const field = dictionary.get(name);
  if (field) return field;
  const { table } = RECORD_TYPES[recordType];
  if (name === 'FUNCTION') throw new Refusal('FIELD_NOT_ALLOWED', 'FUNCTION is set by the service and is never sent.', { field: name });
  const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name;
  const message = `${table} has no field '${shown}'. Did you mean ${nearestName(dictionary, name)}? Field names are upper case.`;
  throw new Refusal('UNKNOWN_FIELD', message, { field: shown });
}

/**
 * Reads one value into its canonical text: dates `mm/dd/yyyy`, numbers without needless zeros, flags `Y` or `N`, timestamps UTC ISO 8601.
 * null and '' clear the field (`''`). Throws INVALID_VALUE naming the field and the form it takes.
 */
export function readValue(field: Field, raw: RawValue): string {
  if (raw === null || raw === '') return '';
  const text = typeof raw === 'string' ? raw : String(raw);
  checkText(field.name, text);
  if (field.type === 'text') return text;
  const value = READERS[field.type](text);
  if (value === undefined) throw invalid(field.name, `${field.name} must be ${FORMS[field.type]}, not '${text.slice(0, 64)}'.`);
  return value;
}

/** Characters as the contract counts them (JSON Schema's maxLength): a surrogate pair is one. */
export const countCharacters = (text: string): number => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
export const isLonger = (text: string, charactersMax: number): boolean => text.length > charactersMax && countCharacters(text) > charactersMax;

/** Refuses text that cannot be stored as it is: over 8,192 characters, with a NUL character, or not well-formed Unicode. */
export function checkText(name: string, text: string): void {
  if (isLonger(text, VALUE_CHARACTERS_MAX)) throw invalid(name, `${name} has ${countCharacters(text)} characters; at most ${VALUE_CHARACTERS_MAX} are taken.`);
  if (text.includes('\0')) throw invalid(name, `${name} contains a NUL character; remove it.`);
  if (!text.isWellFormed()) throw invalid(name, `${name} contains half of a surrogate pair; send well-formed Unicode.`);
}

/** Why a new record cannot have this key, if it is too long to have it. */
export const refuseLongKey = (name: string, code: string): Refusal | undefined =>
  isLonger(code, KEY_CHARACTERS_MAX)
    ? invalid(name, `${name} has ${countCharacters(code)} characters; the key of a record has at most ${KEY_CHARACTERS_MAX}.`)
    : undefined;

/**
 * Reads the fields of a request body. Throws UNKNOWN_FIELD, FIELD_NOT_ALLOWED (fields PIMS assigns, and those in `refused`) or INVALID_VALUE.
 * Example: `{ QUANTITY: 2, NOTES: null }` gives `{ QUANTITY: '2', NOTES: '' }`.
 */
export function readFields(
  dictionary: FieldDictionary,
  recordType: RecordType,
  body: Readonly<Record<string, RawValue>>,
  refused: readonly string[] = [],
): Values {
  const values: Values = {};
  for (const [name, raw] of Object.entries(body)) {
    const field = findField(dictionary, recordType, name);
    if (field.assigned || refused.includes(name)) throw new Refusal('FIELD_NOT_ALLOWED', `${name} is set by PIMS here and cannot be sent.`, { field: name });
    values[name] = readValue(field, raw);
  }
  return values;
}

/**
 * The text records are ordered by: all-digit codes numerically and before all others, the rest by code point. Different codes have different sort keys.
 * `'9'` < `'10'` < `'010'` < `'A1'`.
 */
export function sortKey(code: string): string {
  if (!/^\d+$/.test(code)) return `~${code}`;
  const digits = code.replace(/^0+(?=\d)/, '');
  const leadingZeros = code.length - digits.length;
  return `${String(digits.length).padStart(4, '0')}${digits}${leadingZeros > 0 ? `:${String(leadingZeros).padStart(4, '0')}` : ''}`;
}

/** The parts of a list kept in one field with commas between: `'A, B'` gives `['A', 'B']`. */
export const splitList = (text: string): string[] => text.split(',').map((part) => part.trim()).filter((part) => part !== ''); // prettier-ignore

const invalid = (name: string, message: string): Refusal => new Refusal('INVALID_VALUE', message, { field: name });

const FORMS = {
  number: "a decimal number such as '3' or '1.5'",
  date: "a date that exists, as 'm/d/yyyy' or 'yyyy-mm-dd'",
  flag: "'Y' or 'N'",
  timestamp: "an ISO 8601 time such as '2026-03-04T09:30:00Z'",
};

const READERS = { number: readDecimal, date: readDate, flag: readFlag, timestamp: readTimestamp };

function readDate(text: string): string | undefined {
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text);
  if (american) return writeDate(american[3]!, american[1]!, american[2]!);
  const iso = /^(\d{4})-(\d{2})-(\d{2})(T.+)?$/.exec(text);
  if (!iso || (iso[4] !== undefined && readTimestamp(text) === undefined)) return undefined;
  return writeDate(iso[1]!, iso[2]!, iso[3]!);
}

function writeDate(year: string, month: string, day: string): string | undefined {
  return dateExists(Number(year), Number(month), Number(day)) ? `${month.padStart(2, '0')}/${day.padStart(2, '0')}/${year}` : undefined;
}

function dateExists(year: number, month: number, day: number): boolean {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return year >= 1 && days !== undefined && day >= 1 && day <= days;
}

function readFlag(text: string): string | undefined {
  const word = text.toLowerCase();
  if (word === 'y' || word === 'true' || word === '1') return 'Y';
  return word === 'n' || word === 'false' || word === '0' ? 'N' : undefined;
}

const CANONICAL_TIMESTAMP = /^(?!0000)\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$/;

function readTimestamp(text: string): string | undefined {
  if (CANONICAL_TIMESTAMP.test(text)) return text;
  const parts = /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/.exec(text);
  if (!parts || !dateExists(Number(parts[1]), Number(parts[2]), Number(parts[3]))) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return undefined;
  // An offset can carry the first and the last day out of the years that can be written.
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time.toISOString() : undefined;
}

function nearestName(dictionary: FieldDictionary, name: string): string {
  const wanted = name.slice(0, 64).toUpperCase();
  let best = { name: '', distance: Infinity };
  for (const known of dictionary.keys()) {
    const distance = editDistance(wanted, known);
    if (distance < best.distance) best = { name: known, distance };
  }
  return best.name;
}

/** Levenshtein distance over two rows. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
