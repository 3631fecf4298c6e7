/**
 * The four record types and their field dictionaries: which fields there are, of which type, and what PIMS does with them.
 * Source: specification sections 2.2 to 2.5, decision "Fields of the embedded PIMS".
 */
import { Refusal } from '../errors.ts';

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
    const added = own.map(({ name, type }) => ({
      name,
      type,
      assigned: false,
      indexed: false,
      searched: false,
      custom: true,
    }));
    return new Map([...BUILT_IN_FIELDS[recordType], ...added].map((field) => [field.name, field]));
  };
  return {
    orders: build('orders'),
    lines: build('lines'),
    customers: build('customers'),
    inventory: build('inventory'),
  };
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
  if (dictionary.size >= DICTIONARY_MAX)
    return new Refusal('COMMAND_REFUSED', `A record type has at most ${DICTIONARY_MAX} fields.`, about);
  return undefined;
}

/** The field of this name, or a refusal that gives the nearest known one. */
export function findField(dictionary: FieldDictionary, recordType: RecordType, name: string): Field {
  const field = dictionary.get(name);
  if (field) return field;
  const { table } = RECORD_TYPES[recordType];
  if (name === 'FUNCTION')
    throw new Refusal('FIELD_NOT_ALLOWED', 'FUNCTION is set by the service and is never sent.', { field: name });
  const shown = name.length > 64 ? `${name.slice(0, 64)}…` : name;
  const message = `${table} has no field '${shown}'. Did you mean ${nearestName(dictionary, name)}? Field names are upper case.`;
  throw new Refusal('UNKNOWN_FIELD', message, { field: shown });
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
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
