/**
 * Begin here: the four record types and their field dictionaries, which hold the name and type of each field and how
 * PIMS treats it. Source: decision 0006.
 */
import { Refusal, refuseField, startOf } from '../../errors.ts';
import { STAGES } from './stages.ts';

export type FieldType = 'text' | 'number' | 'date' | 'flag' | 'timestamp';
export type RecordType = 'orders' | 'lines' | 'customers' | 'inventory';
/** Record types whose records have one key. A line is found through its order. */
export type KeyedType = Exclude<RecordType, 'lines'>;
/** Builds one value for each keyed record type. */
export const ofKeyedTypes = <T>(build: (recordType: KeyedType) => T): Readonly<Record<KeyedType, T>> => ({
  orders: build('orders'),
  customers: build('customers'),
  inventory: build('inventory'),
});

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  /** Meaning of the field in one sentence, for the contract and `listFields`. */
  readonly description: string;
  /** Whether a new record must have the field. */
  readonly required: boolean;
  /** Whether PIMS sets the field, so that a caller cannot set it. */
  readonly assigned: boolean;
  /** Whether exact filters on the field use an index. */
  readonly indexed: boolean;
  /** Whether substring filters on the field use the trigram index. */
  readonly searched: boolean;
  readonly custom: boolean;
}

export type FieldDictionary = ReadonlyMap<string, Field>;
/** Dictionaries of one tenant: the built-in fields and its custom fields. */
export type Dictionaries = Readonly<Record<RecordType, FieldDictionary>>;

/**
 * Maximum number of fields of a record type. A row of PostgreSQL has to fit in a page of 8 KiB, which has room for 400
 * pointers to values that are stored elsewhere.
 */
export const DICTIONARY_MAX = 400;

const UNMARKED = { required: false, assigned: false, indexed: false, searched: false, custom: false };
type Marks = Partial<typeof UNMARKED>;

const field = (name: string, type: FieldType, description: string, marks: Marks = {}): Field => ({
  name,
  type,
  description,
  ...UNMARKED,
  ...marks,
});

const ADDRESS_PARTS = {
  NAME: 'name',
  ATTN: 'attention line',
  ADDRESS1: 'address, first line',
  ADDRESS2: 'address, second line',
  CITY: 'city',
  STATE: 'state',
  ZIPCODE: 'ZIP or postal code',
  COUNTRY: 'country',
  PHONE: 'phone number',
  EMAIL: 'email address',
};
type AddressMarks = Partial<Record<keyof typeof ADDRESS_PARTS, Marks>>;

/** Returns the ten fields of a billing (B…) or shipping (S…) address. */
const address = (side: 'Billing' | 'Shipping', marks: AddressMarks): Field[] =>
  Object.entries(ADDRESS_PARTS).map(([part, words]) =>
    field(side[0] + part, 'text', `${side} ${words}.`, marks[part as keyof typeof ADDRESS_PARTS]),
  );

const searched: Marks = { searched: true };
const indexed: Marks = { indexed: true };
const both: Marks = { ...indexed, ...searched };
const assigned: Marks = { assigned: true };
const origin: Marks = { ...assigned, ...indexed };

const timestamps = (marks: Marks): Field[] => [
  field('CREATE_DATE', 'timestamp', 'Time the record was created.', { ...assigned, ...marks }),
  field('MODIFIED_DATE', 'timestamp', 'Time of the last change.', { ...assigned, ...marks }),
];

export const BUILT_IN_FIELDS: Readonly<Record<RecordType, readonly Field[]>> = {
  orders: [
    field('ORDER_NUMBER', 'text', 'Order number, assigned by PIMS. Identifies the order in every call.', {
      ...assigned,
      ...both,
    }),
    field('ORDER_TYPE', 'text', 'Stage of the order.', indexed),
    field('REFERENCE_NUMBER', 'text', 'Storefront order number, with its leading #.', both),
    field('CUSTOMER_CODE', 'text', 'CUSTOMER_CODE of the customer who ordered.', both),
    field('LOCATION_CODE', 'text', 'Location the order belongs to.'),
    field('ORDER_DATE', 'date', 'Date of the order.', indexed),
    field('ORDER_STATUS', 'text', 'Free-text status, separate from the stage.', both),
    field('SALESPERSON_CODE', 'text', 'Salesperson.'),
    field('PO_NUMBER', 'text', "Customer's purchase order number.", searched),
    field('TERMS_CODE', 'text', 'Payment terms.'),
    field('SHIP_VIA', 'text', 'Carrier or shipping method.'),
    field('DROP_SHIP', 'flag', 'Whether the supplier ships the order. If so, the order moves no stock.'),
    field('TRACKING_NUMBERS', 'text', 'Tracking numbers, separated by commas.', searched),
    field('NOTES', 'text', 'Notes.'),
    field('SUBTOTAL', 'number', 'Sum of the lines. Recalculated automatically unless you set it.'),
    field('FREIGHT', 'number', 'Shipping charge.'),
    field('TAX_TOTAL', 'number', 'Total tax.'),
    field(
      'ORDER_TOTAL',
      'number',
      'Sum of SUBTOTAL, FREIGHT and TAX_TOTAL. Recalculated automatically unless you set it.',
    ),
    ...address('Billing', { NAME: searched, EMAIL: both }),
    ...address('Shipping', { NAME: searched }),
    field('BACKORDER_OF', 'text', 'ORDER_NUMBER of the order whose open units a partial invoice moved here.', origin),
    field('RETURN_OF', 'text', 'ORDER_NUMBER of the invoice that this order returns units of.', origin),
    ...timestamps(indexed),
  ],
  lines: [
    field('ORDER_NUMBER', 'text', 'ORDER_NUMBER of the order the line belongs to.', { required: true, ...indexed }),
    field('LINE_NUMBER', 'number', 'Number of the line within its order.', assigned),
    field('PART_CODE', 'text', 'PART_CODE of the part ordered.', indexed),
    field('DESCRIPTION', 'text', "Description of the item. Defaults to the part's description."),
    field('QUANTITY', 'number', 'Units ordered. Defaults to 1; negative for a return.'),
    field('NUMBER_SHIPPED', 'number', 'Units shipped, from 0 to QUANTITY.'),
    field('UNIT_PRICE', 'number', "Price of one unit. Defaults to the part's price."),
    field('DISCOUNT', 'number', 'Discount on the line in percent.'),
    field('SERIAL_NUMBERS', 'text', 'Serial numbers of the units shipped, separated by commas.'),
    field('CARE_PLAN', 'flag', 'Whether the line is a care plan, which has no serial numbers.'),
    field('LINE_REF_LOCK_CODE', 'text', 'Identifies the line in updates. Never changes.', { ...assigned, ...indexed }),
    ...timestamps({}),
  ],
  customers: [
    field('CUSTOMER_CODE', 'text', 'Code that identifies the customer.', both),
    field('CUSTOMER_NAME', 'text', 'Name of the customer.', both),
    ...address('Billing', { NAME: both, CITY: both, STATE: both, ZIPCODE: both, PHONE: both, EMAIL: both }),
    ...address('Shipping', { NAME: both, EMAIL: both }),
    field('TERMS_CODE', 'text', 'Payment terms.'),
    field('CREDIT_LIMIT', 'number', 'Credit limit.'),
    field('NOTES', 'text', 'Notes.'),
    ...timestamps(indexed),
  ],
  inventory: [
    field('PART_CODE', 'text', 'Code that identifies the part.', { required: true, ...both }),
    field('PART_DESCRIPTION', 'text', 'Description of the part.', both),
    field('BARCODE', 'text', 'Barcode.', both),
    field('CATEGORY', 'text', 'Category.', indexed),
    field('LOCATION_CODE', 'text', 'Location that holds the stock.', indexed),
    field('QTY_ONHAND', 'number', 'Units in stock.'),
    field('QTY_COMMITTED', 'number', 'Units that open sales orders hold.', assigned),
    field('QTY_AVAILABLE', 'number', 'QTY_ONHAND less QTY_COMMITTED; may be negative.', assigned),
    field('QTY_ONORDER', 'number', 'Units ordered from suppliers.'),
    field('UNIT_PRICE', 'number', 'Price of one unit.'),
    field('UNIT_COST', 'number', 'Cost of one unit.'),
    field('SERIALIZED', 'flag', 'Whether each unit has a serial number.'),
    field('CARE_PLAN', 'flag', 'Whether the part is a care plan.'),
    ...timestamps(indexed),
  ],
};

/** The fields of a part that only movements of its stock change. */
export const STOCK_FIELDS = ['QTY_ONHAND', 'QTY_COMMITTED', 'QTY_AVAILABLE'];

export const ADDRESS_FIELDS: readonly string[] = ['B', 'S'].flatMap((side) =>
  Object.keys(ADDRESS_PARTS).map((part) => side + part),
);

/**
 * PIMS table, key field and noun of each record type. Callers identify a record by its key field, and pages are sorted
 * by it. The key of lines is their order; lines of one order are sorted by LINE_NUMBER.
 */
export const RECORD_TYPES = {
  orders: { table: 'ORDERS', key: 'ORDER_NUMBER', noun: 'order' },
  lines: { table: 'ORDER_LINEITEMS', key: 'ORDER_NUMBER', noun: 'line item' },
  customers: { table: 'CUSTOMER', key: 'CUSTOMER_CODE', noun: 'customer' },
  inventory: { table: 'INVENTORY', key: 'PART_CODE', noun: 'part' },
} as const satisfies Record<RecordType, { table: string; key: string; noun: string }>;

export const CUSTOM_FIELD_TYPES = ['text', 'number', 'date', 'flag'] as const satisfies FieldType[];
type CustomFieldType = (typeof CUSTOM_FIELD_TYPES)[number];
export interface CustomField {
  readonly recordType: RecordType;
  readonly name: string;
  readonly type: CustomFieldType;
}

/** A field as callers see it. `values` are the allowed values, or null if every value of the type is allowed. */
type ListedField = Field & { readonly values: readonly string[] | null };

export function viewField(shown: Field): ListedField {
  // A table finds lines by a serial number, although the field has no index.
  const isIndexed = shown.indexed || (!shown.custom && shown.name === 'SERIAL_NUMBERS');
  const values = shown.name === 'ORDER_TYPE' ? STAGES : shown.type === 'flag' ? ['Y', 'N'] : null;
  return { ...shown, indexed: isIndexed, values };
}

export function buildDictionaries(customFields: readonly CustomField[]): Dictionaries {
  const buildDictionary = (recordType: RecordType) => {
    const own = customFields.filter((each) => each.recordType === recordType);
    const added = own.map(({ name, type }) => field(name, type, 'Custom field of the tenant.', { custom: true }));
    return new Map([...BUILT_IN_FIELDS[recordType], ...added].map((each) => [each.name, each]));
  };
  return { ...ofKeyedTypes(buildDictionary), lines: buildDictionary('lines') };
}

/** Names that no custom field may have: the service sets FUNCTION, and the others are columns that a store adds. */
/** SQLite adds no column named ROWID or OID. */
const RESERVED_NAMES = ['FUNCTION', 'ID', 'SORT_KEY', 'ROWID', 'OID'];

/**
 * Refuses a custom field if its name is taken, reserved, or not `[A-Z][A-Z0-9_]*` with at most 63 characters (the limit
 * of PostgreSQL for a column), or if the record type has no room for another field.
 */
export function refuseCustomField(dictionary: FieldDictionary, name: string): Refusal | undefined {
  const form = 'uppercase letters, digits and _, beginning with a letter, at most 63 characters';
  const refuseFieldName = (message: string) => refuseField('COMMAND_REFUSED', name, message);
  if (!/^[A-Z][A-Z0-9_]{0,62}$/.test(name))
    return refuseFieldName(`'${name}' cannot be the name of a field. Use ${form}.`);
  if (RESERVED_NAMES.includes(name) || dictionary.has(name))
    return refuseFieldName(`The field ${name} already exists, or its name is reserved. Choose another name.`);
  return dictionary.size >= DICTIONARY_MAX
    ? refuseFieldName(`This record type already has ${DICTIONARY_MAX} fields, the maximum.`)
    : undefined;
}

/** Returns the field with this name. Throws UNKNOWN_FIELD with the nearest name, or FIELD_NOT_ALLOWED for FUNCTION. */
export function findField(dictionary: FieldDictionary, recordType: RecordType, name: string): Field {
  const known = dictionary.get(name);
  if (known) return known;
  if (name === 'FUNCTION')
    throw refuseField('FIELD_NOT_ALLOWED', name, 'FUNCTION is set by the service and cannot be sent. Remove it.');
  const shown = name.length > 64 ? `${startOf(name)}…` : name;
  const upper = name.toUpperCase();
  const suggestion = dictionary.get(OTHER_NAMES[upper] ?? '')?.name ?? findNear(dictionary.keys(), upper);
  const hint = suggestion === undefined ? '' : ` Did you mean ${suggestion}?`;
  const message = `${RECORD_TYPES[recordType].table} has no field '${shown}'.${hint} Field names are uppercase.`;
  throw new Refusal('UNKNOWN_FIELD', message, { field: shown, suggestion });
}

/** Returns the fields with these names in order, each once. Throws as `findField` does. */
export const pickFields = (dictionary: FieldDictionary, recordType: RecordType, names: readonly string[]) =>
  new Map(names.map((name) => [name, findField(dictionary, recordType, name)])) as FieldDictionary;

/** Names that other systems use for our fields, where the spelling alone would not suggest the right field. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  SHIPPING_METHOD: 'SHIP_VIA',
  CARRIER: 'SHIP_VIA',
  SKU: 'PART_CODE',
  PRODUCT_ID: 'PART_CODE',
  CUSTOMER_ID: 'CUSTOMER_CODE',
  STATUS: 'ORDER_STATUS',
  PRICE: 'UNIT_PRICE',
  TOTAL: 'ORDER_TOTAL',
  TAX: 'TAX_TOTAL',
  EMAIL: 'BEMAIL',
  PHONE: 'BPHONE',
};

/** Returns the known name that is nearest to this one, at most two edits or a third of its characters away. */
export function findNear(names: Iterable<string>, name: string): string | undefined {
  const wanted = startOf(name);
  let nearest: string | undefined;
  let least = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const known of names) {
    const distance = wanted.length - known.length < least ? editDistance(wanted, known) : least;
    if (distance < least) [nearest, least] = [known, distance];
  }
  return nearest;
}

/** Returns the Levenshtein distance, computed with two rows. */
function editDistance(a: string, b: string): number {
  let row = [...Array(b.length + 1).keys()];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(a[i - 1] !== b[j - 1])));
    row = next;
  }
  return row[b.length]!;
}
