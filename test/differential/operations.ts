/** Makes random plans for callers and an operator. Steps name records by their place, so that a plan can shrink. */
import * as fc from 'fast-check';
import { FILTER_OPS } from '../../src/pims/reads/query.ts';
import type { RawValue } from '../../src/pims/rules/values.ts';
import {
  BUILT_IN_FIELDS,
  CUSTOM_FIELD_TYPES,
  type CustomField,
  type FieldType,
  type KeyedType,
  type RecordType,
} from '../../src/pims/rules/fields.ts';
import { smallKey } from '../store/query-model.ts';
import { incompressible, oddText, text, valueOf, weighted } from './texts.ts';

/** A literal key, or the key of an existing record. */
export type KeyPlan = string | { readonly of: KeyedType; readonly nth: number };
export type BodyPlan = readonly (readonly [name: string, value: RawValue | KeyPlan])[];
type Made<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;
export type WritePlan = Made<typeof write>;
export type FilterPlan = Made<ReturnType<typeof filterOf>>;
export type Step = Made<typeof step>;
export type RunPlan = Made<typeof runPlan>;

const REFERENCES = ['#1001', '#1002', '1001', '#ß', '#SS', '#İ', "#'", '%', '_'];
/** Texts that begin alike. An index has their first 256 characters, so it cannot tell the longer ones apart. */
const LONG_REFERENCES = [255, 256, 257, 8191, 8192].map((characters) => incompressible(characters, 1));
const CODES = [
  ...'7 07 007 0 00 10001 10002 10003 010001 999999999999998 1000000000000000 A1 a1 é ~'.split(' '),
  '9'.repeat(40),
  'e\u0301',
  ' 7',
];
const TOO_LONG_CODES = [255, 256, 257]
  .flatMap((length) => ['k'.repeat(length), '1'.repeat(length)])
  .concat('😀'.repeat(256));
const PARTS = ['P1', 'p1', '1', '01', 'MB/14%_', 'İ', 'K', '\u212a', '😀'];
const LOCATIONS = ['MAIN', 'main', 'ß'];
const CUSTOM_NAMES = ['COLOUR', 'WEIGHT', 'DUE', 'GIFT', 'SORT', 'ORDER', 'SELECT'];
const UNKNOWN_NAMES = [
  ...'FUNCTION notes NOTE SORT_KEY ID " NOTES" __proto__ constructor ß'.split(' '),
  '',
  '😀'.repeat(40),
  'X'.repeat(70),
];

/** Means the order from which a partial invoice moved the line to a backorder. */
export const EARLIER = Symbol('earlier');

/** A place, usually one of the first, so that steps often use the same records. */
const nth = fc.oneof(fc.nat(2), fc.nat(11));
const known = (of: KeyedType): fc.Arbitrary<KeyPlan> => nth.map((place) => ({ of, nth: place }));
const code = weighted(
  [12, fc.constantFrom(...CODES)],
  [4, smallKey],
  [4, oddText],
  [1, fc.constantFrom(...TOO_LONG_CODES)],
);
/** Makes a key, usually of an existing record. */
const keyOf = (of: KeyedType): fc.Arbitrary<KeyPlan> => weighted([16, known(of)], [2, code], [1, text]);

/** A key without invalid text, which a command line cannot contain. */
const commandKey: fc.Arbitrary<KeyPlan> = weighted([12, known('orders')], [1, code]);

const reference = weighted([8, fc.constantFrom(...REFERENCES)], [2, fc.constantFrom(...LONG_REFERENCES)], [1, text]);
/** Values of fields that have rules. Other fields get any value of their type. */
const MEANT = new Map<string, fc.Arbitrary<RawValue | KeyPlan>>(
  Object.entries({
    REFERENCE_NUMBER: reference,
    CUSTOMER_CODE: fc.oneof(known('customers'), code),
    PART_CODE: weighted([4, known('inventory')], [1, fc.constantFrom(...PARTS, '', 'unknown')]),
    LOCATION_CODE: fc.constantFrom(...LOCATIONS, 'nowhere', ''),
    ORDER_TYPE: weighted(
      [12, fc.constantFrom('worksheet', 'quote', 'sales_order')],
      [1, fc.constantFrom('invoice', 'QUOTE', '', 'x')],
    ),
    ORDER_STATUS: weighted([4, fc.constantFrom('PACKING', 'Cancelled', '')], [1, fc.constant('CANCELLED')]),
    QUANTITY: weighted(
      [12, fc.constantFrom<RawValue[]>('0', '1', 2, '3', '5', '2.5', '-2', '')],
      [1, valueOf('number')],
    ),
    NUMBER_SHIPPED: fc.constantFrom<RawValue[]>('0', '1', 2, '2.5', '-1', null),
    SERIAL_NUMBERS: fc.constantFrom('', 'S1', 'S1,S2', ' S1 , ,S2,', 'ß', 'a,b,c,d,e,f'),
    WEIGHT: valueOf('number'),
    DUE: valueOf('date'),
    GIFT: valueOf('flag'),
  }),
);
/** Fields that bodies have often, because other steps use their values. Bodies rarely have the others. */
const OFTEN: Record<RecordType, string[]> = {
  orders: [
    ...'REFERENCE_NUMBER REFERENCE_NUMBER CUSTOMER_CODE ORDER_TYPE ORDER_DATE ORDER_STATUS SNAME'.split(' '),
    ...'BEMAIL NOTES DROP_SHIP SUBTOTAL FREIGHT TAX_TOTAL ORDER_TOTAL'.split(' '),
  ],
  lines: [
    'PART_CODE',
    'PART_CODE',
    'QUANTITY',
    'QUANTITY',
    'DESCRIPTION',
    'SERIAL_NUMBERS',
    'CARE_PLAN',
    'UNIT_PRICE',
    'DISCOUNT',
  ],
  customers: ['CUSTOMER_CODE', 'CUSTOMER_NAME', 'BNAME', 'BCITY', 'BEMAIL', 'SNAME', 'CREDIT_LIMIT', 'NOTES'],
  inventory: 'PART_DESCRIPTION BARCODE CATEGORY LOCATION_CODE QTY_ONHAND CARE_PLAN SERIALIZED UNIT_PRICE'.split(' '),
};
const BUILT_IN = (recordType: RecordType) => BUILT_IN_FIELDS[recordType].map(({ name }) => name);
const typeOf = (recordType: RecordType, name: string): FieldType =>
  BUILT_IN_FIELDS[recordType].find((field) => field.name === name)?.type ?? 'text';

const fieldName = (recordType: RecordType): fc.Arbitrary<string> =>
  weighted(
    [60, fc.constantFrom(...OFTEN[recordType])],
    [14, fc.constantFrom(...BUILT_IN(recordType))],
    [3, fc.constantFrom(...CUSTOM_NAMES.slice(0, 4))],
    [1, fc.constantFrom(...UNKNOWN_NAMES)],
  );
const bodyOf = (recordType: RecordType, without: readonly string[] = []): fc.Arbitrary<BodyPlan> => {
  const kept = BUILT_IN_FIELDS[recordType]
    .filter((field) => field.assigned || without.includes(field.name))
    .map((field) => field.name);
  // Fields that PIMS sets are refused, so only a few bodies have them.
  const name = fc
    .tuple(fieldName(recordType), fc.nat(19))
    .map(([one, chance]) => (kept.includes(one) && chance > 0 ? OFTEN[recordType][0]! : one));
  const pair = name.chain((one) => fc.tuple(fc.constant(one), MEANT.get(one) ?? valueOf(typeOf(recordType, one))));
  return fc.uniqueArray(pair, { selector: ([one]) => one, maxLength: 5 });
};

const write = fc.record({
  waitMs: fc.constantFrom(0, 1, 1000, 86_000),
  strict: fc.nat(7).map((chance) => chance === 7),
  ifMatch: weighted([5, fc.constant(undefined)], [1, fc.constantFrom('*' as const, 'now' as const, 'before' as const)]),
  idempotencyKey: weighted([3, fc.constant(undefined)], [1, fc.constantFrom('k1', 'k2', 'k3', ' ~', "'")]),
});

const OTHER_VALUES = ['sales_order', '3/4/2026', '2026-01-02', 'true', '', 2, 0.5, true, false, 'x'.repeat(257)];
/** A part of a record's value, unchanged or in another case, or any other value. */
const filterValue = weighted(
  [12, fc.record({ nth, from: fc.nat(5), length: fc.integer({ min: 0, max: 7 }), form: fc.nat(3) })],
  [2, oddText],
  [1, fc.oneof(text, fc.constantFrom(...REFERENCES, ...OTHER_VALUES))],
);
const filterOf = (recordType: RecordType) =>
  fc.record(
    {
      // The name of a field, or its place among the fields in which the record has a value.
      field: weighted([3, fc.nat(20)], [1, fieldName(recordType)]),
      value: filterValue,
      op: fc.constantFrom(...FILTER_OPS),
      /** More values for `in`, and a number that is 0 if the filter need not fit its operator. */
      more: fc.tuple(fc.array(filterValue, { maxLength: 3 }), fc.nat(24)),
      contains: fc.constantFrom(true, true, false),
      conjunction: weighted(
        [30, fc.constantFrom('AND', 'OR', 'OR', 'and', 'oR')],
        [1, fc.constantFrom('', 'XOR', 'ſ')],
      ),
    },
    { requiredKeys: ['field', 'value', 'more'] },
  );
const SORTED = {
  orders: 'REFERENCE_NUMBER CUSTOMER_CODE ORDER_DATE ORDER_STATUS CREATE_DATE MODIFIED_DATE ORDER_NUMBER'.split(' '),
  lines: 'ORDER_NUMBER PART_CODE PART_CODE'.split(' '),
  customers: 'CUSTOMER_CODE CUSTOMER_NAME BCITY BEMAIL CREATE_DATE MODIFIED_DATE'.split(' '),
  inventory: 'PART_CODE PART_DESCRIPTION BARCODE LOCATION_CODE CREATE_DATE MODIFIED_DATE'.split(' '),
};
/** Makes a list of fields: usually undefined, otherwise some fields, and now and then an unknown one. */
const fieldsOf = (recordType: RecordType): fc.Arbitrary<string[] | undefined> =>
  weighted([5, fc.constant(undefined)], [2, fc.array(fieldName(recordType), { minLength: 1, maxLength: 4 })]);
const query = fc.constantFrom<RecordType[]>('orders', 'lines', 'customers', 'inventory').chain((recordType) =>
  fc.record({
    do: fc.constant('query' as const),
    recordType: fc.constant(recordType),
    filters: weighted(
      [30, filterOf(recordType).map((filter) => [filter])],
      [30, fc.array(filterOf(recordType), { maxLength: 8, size: 'max' })],
      [1, fc.array(filterOf(recordType), { minLength: 48, maxLength: 51, size: 'max' })],
    ),
    limit: fc.constantFrom(1, 1, 2, 2, 3, 10, 500, 5000),
    after: weighted([9, fc.constant(null)], [1, keyOf(recordType === 'lines' ? 'orders' : recordType)]),
    sort: weighted(
      [5, fc.constant(null)],
      [6, fc.tuple(fc.constantFrom('', '-'), fc.constantFrom(...SORTED[recordType])).map((parts) => parts.join(''))],
      [1, fieldName(recordType).filter((name) => name !== 'LINE_REF_LOCK_CODE')],
    ),
    more: fc.record({
      fields: fieldsOf(recordType),
      hasLines: recordType === 'orders' ? fc.boolean() : fc.constant(undefined),
      isCounted: fc.constantFrom(false, false, true),
    }),
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

/** Makes values by line number. */
const perLine = <T>(value: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<[number, T][]> =>
  fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), value), { maxLength });
type Planned<Plan> = { [Name in keyof Plan]: fc.Arbitrary<Plan[Name]> };
const stepOf = <Do extends string, Plan extends object>(weight: number, what: Do, plan: Planned<Plan>) =>
  [weight, fc.record(plan).map((planned) => ({ do: what, ...(planned as Plan) }))] as const;

const steps = {
  createOrder: { body: bodyOf('orders'), write },
  createCustomer: { body: bodyOf('customers'), write },
  addLineItem: {
    key: fc.option(keyOf('orders'), { freq: 30 }),
    body: bodyOf('lines', ['ORDER_NUMBER', 'NUMBER_SHIPPED']),
    write,
  },
  updateOrder: {
    key: fc.option(keyOf('orders'), { freq: 30 }),
    body: bodyOf('orders', ['ORDER_NUMBER', 'ORDER_TYPE']),
    write,
  },
  cancelOrder: {
    key: fc.option(keyOf('orders'), { freq: 30 }),
    body: weighted([20, fc.constant([])], [1, bodyOf('orders')]),
    write,
  },
  updateCustomer: {
    key: fc.option(keyOf('customers'), { freq: 30 }),
    body: bodyOf('customers', ['CUSTOMER_CODE']),
    write,
  },
  updateLineItem: {
    line: weighted([20, nth], [1, fc.oneof(fc.constant(''), text)]),
    otherOrder: weighted([12, fc.constant(null)], [1, keyOf('orders')], [4, fc.constant(EARLIER)]),
    body: bodyOf('lines', ['ORDER_NUMBER']),
    write,
  },
};
/** A step of a batch, with its reference to an earlier step. */
const batched = fc.record({
  one: weighted(
    stepOf(4, 'createOrder', steps.createOrder),
    stepOf(2, 'createCustomer', steps.createCustomer),
    stepOf(8, 'addLineItem', steps.addLineItem),
    stepOf(4, 'updateOrder', steps.updateOrder),
    stepOf(2, 'cancelOrder', steps.cancelOrder),
    stepOf(2, 'updateCustomer', steps.updateCustomer),
    stepOf(5, 'updateLineItem', steps.updateLineItem),
  ),
  link: fc.integer({ min: 0, max: 30 }),
  to: fc.nat(8),
  field: fc.constantFrom('', '', '.ORDER_NUMBER', '.QUANTITY', '.LINE_REF_LOCK_CODE', '.NONE', '.', '.CREATE_DATE'),
});

const step = weighted(
  [16, query],
  stepOf(4, 'getOrder', { key: keyOf('orders'), fields: fieldsOf('orders') }),
  stepOf(2, 'getCustomer', { key: keyOf('customers'), fields: fieldsOf('customers') }),
  stepOf(2, 'getInventoryItem', { key: keyOf('inventory'), fields: fieldsOf('inventory') }),
  stepOf(3, 'findOrdersByStorefrontReferences', {
    numbers: fc.array(weighted([12, reference], [1, fc.constantFrom(1001, 0)]), { maxLength: 5, size: 'max' }),
  }),
  stepOf(4, 'findOrdersByStorefrontReference', { key: reference }),
  stepOf(3, 'nextPage', { limit: fc.constantFrom(1, 2, 500) }),
  stepOf(8, 'createOrder', steps.createOrder),
  stepOf(8, 'createCustomer', steps.createCustomer),
  stepOf(13, 'addLineItem', steps.addLineItem),
  stepOf(9, 'updateOrder', steps.updateOrder),
  stepOf(4, 'cancelOrder', steps.cancelOrder),
  stepOf(5, 'updateCustomer', steps.updateCustomer),
  stepOf(7, 'updateLineItem', steps.updateLineItem),
  stepOf(8, 'batch', { steps: fc.array(batched, { minLength: 1, maxLength: 6 }), write }),
  stepOf(4, 'repeat', { nth, otherBody: fc.nat(3).map((chance) => chance === 3), waitMs: fc.constantFrom(0, 1000) }),
  stepOf(3, 'approve', { order: commandKey, write }),
  stepOf(4, 'invoice', {
    order: commandKey,
    quantities: perLine(fc.constantFrom('0', '1', '1', '2', '0.5', '-1', '', 'x', '+1.0'), 3),
    serials: perLine(fc.array(fc.constantFrom('S1', 'S2', 'ß', "'"), { maxLength: 2 }), 1),
    tracking: fc.array(fc.constantFrom('T1', 'T 2', 'ß', '"'), { maxLength: 2 }),
    write,
  }),
  stepOf(4, 'split', { line: nth, units: fc.constantFrom('1', '2', '0.5'), write }),
  stepOf(1, 'addField', { field: customField }),
  stepOf(1, 'listFields', { recordType: customField.map((field) => field.recordType) }),
);

const rowOf = (weight: number, recordType: KeyedType, values: Planned<Record<string, string>>) =>
  [weight, fc.record(values).map((row) => ({ recordType, values: row }))] as const;

/** A row for the import, with values in their canonical text. */
const row = weighted(
  rowOf(3, 'inventory', {
    PART_CODE: weighted([6, fc.constantFrom(...PARTS)], [1, fc.constantFrom('', '\ue000', '00')]),
    PART_DESCRIPTION: oddText,
    BARCODE: fc.oneof(oddText, fc.constant('')),
    LOCATION_CODE: fc.constantFrom(...LOCATIONS, ''),
    QTY_ONHAND: fc.constantFrom('', '0', '5', '-1', '2.5', '9'.repeat(20)),
    CARE_PLAN: fc.constantFrom('', 'Y', 'N', 'N'),
  }),
  rowOf(2, 'orders', {
    ORDER_NUMBER: fc.constantFrom('10001', '10002', '09', '9', 'Ｗ1', '😀1', 'w1', ''),
    ORDER_TYPE: fc.constantFrom('', 'quote', 'sales_order', 'invoice', 'x'),
    ORDER_STATUS: fc.constantFrom('', 'SHIPPED', 'CANCELLED'),
    REFERENCE_NUMBER: fc.constantFrom(...REFERENCES.slice(0, 3)),
    CREATE_DATE: weighted(
      [2, fc.constant('2025-01-02T03:04:05.000Z')],
      [2, fc.constantFrom('2026-11-20T09:30:00.000Z', '')],
    ),
    SNAME: oddText,
    NOTES: oddText,
  }),
  rowOf(2, 'customers', {
    CUSTOMER_CODE: fc.constantFrom(...CODES.slice(0, 6), 'A1', 'ß', ''),
    CUSTOMER_NAME: oddText,
    BCITY: oddText,
    NOTES: oddText,
  }),
);

const STEPS = 30;
/** The steps of a plan. Each is optional, so that a plan can shrink by single steps. */
const allSteps = fc
  .array(fc.option(step, { freq: 100_000 }), { minLength: STEPS, maxLength: STEPS })
  .map((list) => list.filter((one) => one !== null));
export const runPlan = fc.record({
  defaultStage: fc.constantFrom('worksheet', 'worksheet', 'quote', 'sales_order'),
  fields: fc.array(customField, { maxLength: 4, size: 'max' }),
  rows: fc.array(row, { maxLength: 10, size: 'max' }),
  steps: allSteps,
});
