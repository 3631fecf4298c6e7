/** Random plans of a caller and operator; steps name records by place, so that a plan can shrink. Runs nothing. */
import * as fc from 'fast-check';
import type { RawValue } from '../../src/pims/values.ts';
import {
  BUILT_IN_FIELDS,
  CUSTOM_FIELD_TYPES,
  type CustomField,
  type FieldType,
  type KeyedType,
  type RecordType,
} from '../../src/pims/fields.ts';
import { smallKey } from '../store/query-model.ts';
import { incompressible, oddText, text, valueOf } from './texts.ts';

/** A key as it is written, or that of one of the records there are. */
export type KeyPlan = string | { readonly of: KeyedType; readonly nth: number };
export type BodyPlan = readonly (readonly [name: string, value: RawValue | KeyPlan])[];
/** Part of what a record has in the field, in one of several cases; or a value as it is. */
type FilterValuePlan =
  | { readonly nth: number; readonly from: number; readonly length: number; readonly form: number }
  | string
  | number
  | boolean;
export interface FilterPlan {
  /** By its name, or by its place among the fields in which the record has a value. */
  readonly field: string | number;
  readonly value: FilterValuePlan;
  readonly contains?: boolean;
  readonly conjunction?: string;
}
export interface WritePlan {
  readonly waitMs: number;
  readonly strict: boolean;
  readonly idempotencyKey: string | undefined;
}

export type Step =
  | {
      readonly do: 'getOrder' | 'getCustomer' | 'getInventoryItem' | 'findOrdersByStorefrontReference';
      readonly key: KeyPlan;
    }
  | {
      readonly do: 'query';
      readonly recordType: KeyedType;
      readonly filters: readonly FilterPlan[];
      readonly limit: number;
      readonly after: KeyPlan | null;
    }
  | { readonly do: 'nextPage'; readonly limit: number }
  | { readonly do: 'createOrder' | 'createCustomer'; readonly body: BodyPlan; readonly write: WritePlan }
  | {
      readonly do: 'addLineItem' | 'updateCustomer';
      readonly key: KeyPlan | null;
      readonly body: BodyPlan;
      readonly write: WritePlan;
    }
  | {
      readonly do: 'updateLineItem';
      readonly line: number | string;
      readonly otherOrder: KeyPlan | null;
      readonly body: BodyPlan;
      readonly write: WritePlan;
    }
  | { readonly do: 'repeat'; readonly nth: number; readonly otherBody: boolean; readonly waitMs: number }
  | { readonly do: 'approve'; readonly order: KeyPlan; readonly write: WritePlan }
  | {
      readonly do: 'invoice';
      readonly order: KeyPlan;
      readonly quantities: [number, string][];
      readonly serials: [number, string[]][];
      readonly tracking: string[];
      readonly write: WritePlan;
    }
  | { readonly do: 'addField'; readonly field: CustomField };

export interface RunPlan {
  readonly defaultStage: 'worksheet' | 'quote' | 'sales_order';
  readonly fields: readonly CustomField[];
  readonly rows: readonly { readonly recordType: KeyedType; readonly values: Readonly<Record<string, string>> }[];
  readonly steps: readonly Step[];
}

const REFERENCES = ['#1001', '#1002', '1001', '#ß', '#SS', '#İ', "#'", '%', '_'];
/** Alike for longer than an index may look at them. */
const LONG_REFERENCES = [255, 256, 257, 8191, 8192].map((characters) => incompressible(characters, 1));
const CODES = [
  ...'7 07 007 0 00 10001 10002 10003 010001 999999999999998 1000000000000000 A1 a1 é ~'.split(' '),
  '9'.repeat(40),
  'e\u0301',
  ' 7',
];
const TOO_LONG_CODES = [
  'k'.repeat(255),
  'k'.repeat(256),
  '😀'.repeat(256),
  'k'.repeat(257),
  '1'.repeat(256),
  '1'.repeat(257),
];
const PARTS = ['P1', 'p1', '1', '01', 'MB/14%_', 'İ', 'K', '\u212a', '😀'];
const LOCATIONS = ['MAIN', 'main', 'ß'];
const CUSTOM_NAMES = ['COLOUR', 'WEIGHT', 'DUE', 'GIFT', 'SORT', 'ORDER', 'SELECT'];
const UNKNOWN_NAMES = [
  ...'FUNCTION notes NOTE SORT_KEY ID " NOTES" __proto__ constructor ß'.split(' '),
  '',
  '😀'.repeat(40),
  'X'.repeat(70),
];

/** Mostly one of the first, so that steps meet. */
const nth = fc.oneof(fc.nat(2), fc.nat(11));
const known = (of: KeyedType): fc.Arbitrary<KeyPlan> => nth.map((place) => ({ of, nth: place }));
const code = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...CODES) },
  { weight: 4, arbitrary: smallKey },
  { weight: 4, arbitrary: oddText },
  { weight: 1, arbitrary: fc.constantFrom(...TOO_LONG_CODES) },
);
/** Mostly of a record that is there. */
const keyOf = (of: KeyedType): fc.Arbitrary<KeyPlan> =>
  fc.oneof({ weight: 16, arbitrary: known(of) }, { weight: 2, arbitrary: code }, { weight: 1, arbitrary: text });

/** An operator's command line cannot carry what is no text. */
const commandKey: fc.Arbitrary<KeyPlan> = fc.oneof(
  { weight: 12, arbitrary: known('orders') },
  { weight: 1, arbitrary: code },
);

/** Values of fields whose contents mean something; the others have any value of their type. */
const MEANT = new Map<string, fc.Arbitrary<RawValue | KeyPlan>>(
  Object.entries({
    REFERENCE_NUMBER: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...REFERENCES) },
      { weight: 2, arbitrary: fc.constantFrom(...LONG_REFERENCES) },
      { weight: 1, arbitrary: text },
    ),
    CUSTOMER_CODE: fc.oneof(known('customers'), code),
    PART_CODE: fc.oneof(
      { weight: 4, arbitrary: known('inventory') },
      { weight: 1, arbitrary: fc.constantFrom(...PARTS, '', 'unknown') },
    ),
    LOCATION_CODE: fc.constantFrom(...LOCATIONS, 'nowhere', ''),
    ORDER_TYPE: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom('worksheet', 'quote', 'sales_order') },
      { weight: 1, arbitrary: fc.constantFrom('invoice', 'QUOTE', '', 'x') },
    ),
    QUANTITY: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom<RawValue[]>('0', '1', 2, '3', '5', '2.5', '-2', '') },
      { weight: 1, arbitrary: valueOf('number') },
    ),
    NUMBER_SHIPPED: fc.constantFrom<RawValue[]>('0', '1', 2, '2.5', '-1', null),
    SERIAL_NUMBERS: fc.constantFrom('', 'S1', 'S1,S2', ' S1 , ,S2,', 'ß', 'a,b,c,d,e,f'),
    WEIGHT: valueOf('number'),
    DUE: valueOf('date'),
    GIFT: valueOf('flag'),
  }),
);
/** Fields whose values other steps look for come often; all others now and then. */
const OFTEN: Record<RecordType, string[]> = {
  orders: [
    ...'REFERENCE_NUMBER REFERENCE_NUMBER CUSTOMER_CODE ORDER_TYPE ORDER_DATE ORDER_STATUS SNAME'.split(' '),
    ...'BEMAIL NOTES DROP_SHIP ORDER_TOTAL'.split(' '),
  ],
  lines: ['PART_CODE', 'PART_CODE', 'QUANTITY', 'QUANTITY', 'DESCRIPTION', 'SERIAL_NUMBERS', 'CARE_PLAN', 'UNIT_PRICE'],
  customers: ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'BNAME', 'BCITY', 'BEMAIL', 'SNAME', 'CREDIT_LIMIT', 'NOTES'],
  inventory: 'PART_DESCRIPTION BARCODE CATEGORY LOCATION_CODE QTY_ONHAND CARE_PLAN SERIALIZED UNIT_PRICE'.split(' '),
};
const BUILT_IN = (recordType: RecordType) => BUILT_IN_FIELDS[recordType].map(({ name }) => name);
const typeOf = (recordType: RecordType, name: string): FieldType =>
  BUILT_IN_FIELDS[recordType].find((field) => field.name === name)?.type ?? 'text';

const fieldName = (recordType: RecordType): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 60, arbitrary: fc.constantFrom(...OFTEN[recordType]) },
    { weight: 14, arbitrary: fc.constantFrom(...BUILT_IN(recordType)) },
    { weight: 3, arbitrary: fc.constantFrom(...CUSTOM_NAMES.slice(0, 4)) },
    { weight: 1, arbitrary: fc.constantFrom(...UNKNOWN_NAMES) },
  );
const bodyOf = (recordType: RecordType, without: readonly string[] = []): fc.Arbitrary<BodyPlan> => {
  const kept = BUILT_IN_FIELDS[recordType]
    .filter((field) => field.assigned || without.includes(field.name))
    .map((field) => field.name);
  // What PIMS sets is refused; seldom enough that most bodies are taken.
  const name = fc
    .tuple(fieldName(recordType), fc.nat(19))
    .map(([one, chance]) => (kept.includes(one) && chance > 0 ? OFTEN[recordType][0]! : one));
  const pair = name.chain((one) => fc.tuple(fc.constant(one), MEANT.get(one) ?? valueOf(typeOf(recordType, one))));
  return fc.uniqueArray(pair, { selector: ([one]) => one, maxLength: 5 });
};

const write: fc.Arbitrary<WritePlan> = fc.record({
  waitMs: fc.constantFrom(0, 1, 1000, 86_000),
  strict: fc.nat(7).map((chance) => chance === 7),
  idempotencyKey: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom('k1', 'k2', 'k3', ' ~', "'") },
  ),
});

const filterValue: fc.Arbitrary<FilterValuePlan> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ nth, from: fc.nat(5), length: fc.integer({ min: 0, max: 7 }), form: fc.nat(3) }),
  },
  { weight: 2, arbitrary: oddText },
  {
    weight: 1,
    arbitrary: fc.oneof(
      text,
      fc.constantFrom(
        ...REFERENCES,
        'sales_order',
        '3/4/2026',
        '2026-01-02',
        'true',
        '',
        2,
        0.5,
        true,
        false,
        'x'.repeat(257),
      ),
    ),
  },
);
const filterOf = (recordType: KeyedType): fc.Arbitrary<FilterPlan> =>
  fc.record(
    {
      field: fc.oneof({ weight: 3, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fieldName(recordType) }),
      value: filterValue,
      contains: fc.constantFrom(true, true, false),
      conjunction: fc.oneof(
        { weight: 30, arbitrary: fc.constantFrom('AND', 'OR', 'OR', 'and', 'oR') },
        { weight: 1, arbitrary: fc.constantFrom('', 'XOR', 'ſ') },
      ),
    },
    { requiredKeys: ['field', 'value'] },
  );
const query = fc.constantFrom<KeyedType[]>('orders', 'customers', 'inventory').chain((recordType) =>
  fc.record({
    do: fc.constant('query' as const),
    recordType: fc.constant(recordType),
    filters: fc.oneof(
      { weight: 30, arbitrary: filterOf(recordType).map((filter) => [filter]) },
      { weight: 30, arbitrary: fc.array(filterOf(recordType), { maxLength: 8, size: 'max' }) },
      { weight: 1, arbitrary: fc.array(filterOf(recordType), { minLength: 48, maxLength: 51, size: 'max' }) },
    ),
    limit: fc.constantFrom(1, 1, 2, 2, 3, 10, 500, 5000),
    after: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: keyOf(recordType) }),
  }),
);

const customField: fc.Arbitrary<CustomField> = fc
  .tuple(
    fc.constantFrom<RecordType[]>('orders', 'lines', 'customers', 'inventory'),
    fc.constantFrom(...CUSTOM_NAMES, 'NOTES', 'lower', 'FUNCTION'),
    fc.nat(9),
  )
  .map(([recordType, name, chance]) => {
    const type = CUSTOM_FIELD_TYPES[['COLOUR', 'WEIGHT', 'DUE', 'GIFT'].indexOf(name)] ?? 'text';
    return { recordType, name, type: chance === 0 ? 'text' : type };
  });

const place = fc.integer({ min: 1, max: 4 });
const invoice = fc.record({
  do: fc.constant('invoice' as const),
  order: commandKey,
  quantities: fc.array(fc.tuple(place, fc.constantFrom('0', '1', '1', '2', '0.5', '-1', '', 'x', '+1.0')), {
    maxLength: 3,
  }),
  serials: fc.array(fc.tuple(place, fc.array(fc.constantFrom('S1', 'S2', 'ß', "'"), { maxLength: 2 })), {
    maxLength: 1,
  }),
  tracking: fc.array(fc.constantFrom('T1', 'T 2', 'ß', '"'), { maxLength: 2 }),
  write,
});

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('getOrder' as const), key: keyOf('orders') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('getCustomer' as const), key: keyOf('customers') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('getInventoryItem' as const), key: keyOf('inventory') }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('findOrdersByStorefrontReference' as const),
      key: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom(...REFERENCES) },
        { weight: 2, arbitrary: fc.constantFrom(...LONG_REFERENCES) },
        { weight: 1, arbitrary: text },
      ),
    }),
  },
  { weight: 16, arbitrary: query },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('nextPage' as const), limit: fc.constantFrom(1, 2, 500) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('createOrder' as const), body: bodyOf('orders'), write }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('createCustomer' as const), body: bodyOf('customers'), write }) },
  {
    weight: 13,
    arbitrary: fc.record({
      do: fc.constant('addLineItem' as const),
      key: fc.option(keyOf('orders'), { freq: 30 }),
      body: bodyOf('lines', ['ORDER_NUMBER', 'NUMBER_SHIPPED']),
      write,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('updateCustomer' as const),
      key: fc.option(keyOf('customers'), { freq: 30 }),
      body: bodyOf('customers', ['CUSTOMER_CODE']),
      write,
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('updateLineItem' as const),
      line: fc.oneof({ weight: 20, arbitrary: nth }, { weight: 1, arbitrary: fc.oneof(fc.constant(''), text) }),
      otherOrder: fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: keyOf('orders') }),
      body: bodyOf('lines', ['ORDER_NUMBER']),
      write,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('repeat' as const),
      nth,
      otherBody: fc.nat(3).map((chance) => chance === 3),
      waitMs: fc.constantFrom(0, 1000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('approve' as const), order: commandKey, write }) },
  { weight: 4, arbitrary: invoice },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('addField' as const), field: customField }) },
);

/** Rows as the import takes them: values in their canonical text. */
const row = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({
        PART_CODE: fc.oneof(
          { weight: 6, arbitrary: fc.constantFrom(...PARTS) },
          { weight: 1, arbitrary: fc.constantFrom('', '\ue000', '00') },
        ),
        PART_DESCRIPTION: oddText,
        BARCODE: fc.oneof(oddText, fc.constant('')),
        LOCATION_CODE: fc.constantFrom(...LOCATIONS, ''),
        QTY_ONHAND: fc.constantFrom('', '0', '5', '-1', '2.5', '9'.repeat(20)),
        CARE_PLAN: fc.constantFrom('', 'Y', 'N', 'N'),
      })
      .map((values) => ({ recordType: 'inventory' as const, values })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        ORDER_NUMBER: fc.constantFrom('10001', '10002', '09', '9', 'Ｗ1', '😀1', 'w1', ''),
        ORDER_TYPE: fc.constantFrom('', 'quote', 'sales_order', 'invoice', 'x'),
        REFERENCE_NUMBER: fc.constantFrom(...REFERENCES.slice(0, 3)),
        CREATE_DATE: fc.constantFrom(
          '2025-01-02T03:04:05.000Z',
          '2025-01-02T03:04:05.000Z',
          '2026-11-20T09:30:00.000Z',
          '',
        ),
        SNAME: oddText,
        NOTES: oddText,
      })
      .map((values) => ({ recordType: 'orders' as const, values })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        CUSTOMER_CODE: fc.constantFrom(...CODES.slice(0, 6), 'A1', 'ß', ''),
        CUSTOMER_NAME: oddText,
        BCITY: oddText,
        NOTES: oddText,
      })
      .map((values) => ({ recordType: 'customers' as const, values })),
  },
);

const STEPS = 30;
/** Steps are taken away one by one when a difference is to be shown in few. */
const steps = fc
  .array(fc.option(step, { freq: 100_000 }), { minLength: STEPS, maxLength: STEPS })
  .map((list) => list.filter((one) => one !== null));
export const runPlan: fc.Arbitrary<RunPlan> = fc.record({
  defaultStage: fc.constantFrom('worksheet', 'worksheet', 'quote', 'sales_order'),
  fields: fc.array(customField, { maxLength: 4, size: 'max' }),
  rows: fc.array(row, { maxLength: 10, size: 'max' }),
  steps,
});
