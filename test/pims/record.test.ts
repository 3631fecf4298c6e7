/** Tests records: the field dictionaries, how values are parsed, which are refused, and the order of records. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal, type ErrorCode } from '../../src/errors.ts';
import { KEY_CHARACTERS_MAX } from '../../src/pims/rules/record-bounds.ts';
import { countCharacters, isLonger, parseValues, parseValue } from '../../src/pims/rules/values.ts';
import { checkNewKey } from '../../src/pims/writes/writes.ts';
import { sortKey, type RawValue } from '../../src/pims/rules/values.ts';
import { valuesOf } from '../kit/lists.ts';
import { splitList } from '../../src/pims/rules/lists.ts';
import {
  ADDRESS_FIELDS,
  buildDictionaries,
  findField,
  RECORD_TYPES,
  refuseCustomField,
} from '../../src/pims/rules/fields.ts';
import type { Field, FieldType } from '../../src/pims/rules/fields.ts';

const dictionaries = buildDictionaries([]);
const FIELDS: Record<FieldType, Field> = {
  text: dictionaries.orders.get('NOTES')!,
  number: dictionaries.lines.get('QUANTITY')!,
  date: dictionaries.orders.get('ORDER_DATE')!,
  flag: dictionaries.orders.get('DROP_SHIP')!,
  timestamp: dictionaries.orders.get('CREATE_DATE')!,
};

function refuses(code: ErrorCode, work: () => unknown, field?: string): void {
  assert.throws(work, (fault) => {
    assert.ok(fault instanceof Refusal, String(fault));
    assert.equal(fault.code, code);
    if (field !== undefined) assert.equal(fault.field, field);
    return true;
  });
}

test('the dictionaries have exactly the fields of the embedded PIMS', () => {
  const address = 'NAME ATTN ADDRESS1 ADDRESS2 CITY STATE ZIPCODE COUNTRY PHONE EMAIL';
  const addresses = ['B', 'S'].map((side) => address.replaceAll(/\w+/g, (part) => side + part)).join(' ');
  const expected = {
    orders: `ORDER_NUMBER ORDER_TYPE REFERENCE_NUMBER CUSTOMER_CODE LOCATION_CODE ORDER_DATE ORDER_STATUS
      SALESPERSON_CODE PO_NUMBER TERMS_CODE SHIP_VIA DROP_SHIP TRACKING_NUMBERS NOTES SUBTOTAL FREIGHT TAX_TOTAL
      ORDER_TOTAL ${addresses} BACKORDER_OF RETURN_OF`,
    lines: `ORDER_NUMBER LINE_NUMBER PART_CODE DESCRIPTION QUANTITY NUMBER_SHIPPED UNIT_PRICE DISCOUNT SERIAL_NUMBERS
      CARE_PLAN LINE_REF_LOCK_CODE`,
    customers: `CUSTOMER_CODE CUSTOMER_NAME ${addresses} TERMS_CODE CREDIT_LIMIT NOTES`,
    inventory: `PART_CODE PART_DESCRIPTION BARCODE CATEGORY LOCATION_CODE QTY_ONHAND QTY_COMMITTED QTY_AVAILABLE
      QTY_ONORDER UNIT_PRICE UNIT_COST SERIALIZED CARE_PLAN`,
  };
  for (const [recordType, names] of Object.entries(expected)) {
    const found = [...dictionaries[recordType as 'orders'].keys()];
    assert.deepEqual(found, [...names.split(/\s+/), 'CREATE_DATE', 'MODIFIED_DATE'], recordType);
  }
  assert.equal(ADDRESS_FIELDS.join(' '), addresses);
  assert.deepEqual(RECORD_TYPES, {
    orders: { table: 'ORDERS', key: 'ORDER_NUMBER', noun: 'order' },
    lines: { table: 'ORDER_LINEITEMS', key: 'ORDER_NUMBER', noun: 'line item' },
    customers: { table: 'CUSTOMER', key: 'CUSTOMER_CODE', noun: 'customer' },
    inventory: { table: 'INVENTORY', key: 'PART_CODE', noun: 'part' },
  });
});

test('each field has a separate sentence, and only PIMS sets the assigned ones', () => {
  const assigned = {
    orders: 'ORDER_NUMBER BACKORDER_OF RETURN_OF',
    lines: 'LINE_NUMBER LINE_REF_LOCK_CODE',
    customers: '',
    inventory: 'QTY_COMMITTED QTY_AVAILABLE',
  };
  for (const [recordType, names] of Object.entries(assigned)) {
    const fields = [...dictionaries[recordType as 'orders'].values()];
    for (const { name, description, type } of fields) {
      assert.match(description, /^[A-Z].*[^ ]\.$/, name);
      assert.ok(type in FIELDS, name);
    }
    assert.equal(new Set(valuesOf(fields, 'description')).size, fields.length, recordType);
    assert.equal(
      fields.flatMap((field) => (field.assigned ? [field.name] : [])).join(' '),
      `${names} CREATE_DATE MODIFIED_DATE`.trim(),
    );
  }
});

test('values are parsed by the type of their field', () => {
  const table: Record<FieldType, Record<string, RawValue[]>> = {
    text: { ' as it is ': [' as it is '], '12.5': [12.5], true: [true] },
    number: { '2': [2], '2.5': ['2.50'], '-0.25': [-0.25] },
    date: {
      '03/04/2026': ['3/4/2026', '03/04/2026', '2026-03-04'],
      '02/29/2024': ['2/29/2024'],
    },
    flag: { Y: ['y', true, 1], N: ['N', false, '0'] },
    timestamp: {
      '2026-03-04T14:30:00.000Z': ['2026-03-04T09:30:00-05:00'],
      '2026-03-04T09:30:00.000Z': ['2026-03-04T09:30Z'],
    },
  };
  for (const [type, rawsByValue] of Object.entries(table))
    for (const [value, raws] of Object.entries(rawsByValue))
      for (const raw of raws) assert.equal(parseValue(FIELDS[type as FieldType], raw), value, `${type} ${raw}`);
});

test('null and the empty text clear a field of any type', () => {
  for (const field of Object.values(FIELDS))
    for (const nothing of [null, '']) assert.equal(parseValue(field, nothing), '');
});

test('INVALID_VALUE names the field of a value that cannot be parsed as its type', () => {
  const table: Record<FieldType, RawValue[]> = {
    text: ['nul \0', '\uD800', 'low \uDC00 alone', 'x'.repeat(8193)],
    number: ['three', '1e5', 1e21, 1e-7, Infinity, NaN, '1,000', true, ' 1', '0x1'],
    date: [
      ...'2/30/2026 2/29/2025 2/29/1900 13/1/2026 0/1/2026 1/0/2026 1/1/26 2026-3-4 2026-02-30'.split(' '),
      ...'2026-03-04T25:00:00Z 1/1/0000 today'.split(' '),
      20260304,
    ],
    flag: ['yes', 'T', '2', 2, 'Y '],
    timestamp: [
      ...'2026-03-04 2026-02-30T09:30:00Z 2026-03-04T24:00:00Z 2026-03-04T09:30:00'.split(' '),
      ...'2026-03-04T09:30:00+24:00 now'.split(' '),
      '2026-03-04 09:30:00',
    ],
  };
  for (const [type, raws] of Object.entries(table))
    for (const raw of raws)
      refuses('INVALID_VALUE', () => parseValue(FIELDS[type as FieldType], raw), FIELDS[type as FieldType].name);
});

test('a value of 8,192 characters of any script is kept unchanged', () => {
  for (const text of ['x'.repeat(8192), '😀'.repeat(4096)]) assert.equal(parseValue(FIELDS.text, text), text);
});

test('exactly the days of the calendar are dates, in both notations', () => {
  const upTo = (max: number, min = 0) => fc.integer({ min, max });
  const parts = fc.tuple(upTo(9999, 1), upTo(13), upTo(32));
  fc.assert(
    fc.property(parts, ([year, month, day]) => {
      const pad = (part: number, length: number): string => String(part).padStart(length, '0');
      const date = new Date(0);
      date.setUTCFullYear(year, month - 1, day);
      const exists = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
      for (const text of [`${month}/${day}/${pad(year, 4)}`, `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`]) {
        if (exists) assert.equal(parseValue(FIELDS.date, text), `${pad(month, 2)}/${pad(day, 2)}/${pad(year, 4)}`);
        else refuses('INVALID_VALUE', () => parseValue(FIELDS.date, text));
      }
    }),
    { numRuns: 1000 },
  );
});

test('a returned value can be sent again and is parsed as the same value', () => {
  const part = (least: number, most: number, length = 2): fc.Arbitrary<string> =>
    fc
      .oneof(fc.constantFrom(least, most), fc.integer({ min: least, max: most }))
      .map((one) => String(one).padStart(length, '0'));
  const zone = fc.oneof(
    fc.constant('Z'),
    fc
      .tuple(fc.constantFrom('+', '-'), part(0, 23), part(0, 59))
      .map(([sign, hours, minutes]) => `${sign}${hours}:${minutes}`),
  );
  const time = fc
    .tuple(part(1, 9999, 4), part(1, 12), part(1, 31), part(0, 23), part(0, 59), zone)
    .map(([year, month, day, hours, minutes, offset]) => `${year}-${month}-${day}T${hours}:${minutes}:00${offset}`);
  const character = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
  const text = fc.string({ unit: character, maxLength: 20 });
  const others = fc.constantFrom(true, false, 'y', 'N', null, '3/4/2026');
  const raw = fc.oneof(time, text, fc.double().map(String), fc.integer(), others);
  const sent = fc.oneof(
    fc.tuple(fc.constantFrom(...Object.values(FIELDS)), raw),
    fc.tuple(fc.constantFrom(FIELDS.timestamp, FIELDS.date), time),
  );
  fc.assert(
    fc.property(sent, ([field, value]) => {
      let answer: string;
      try {
        answer = parseValue(field, value);
      } catch (refusal) {
        return refusal instanceof Refusal;
      }
      return parseValue(field, answer) === answer;
    }),
    { numRuns: 5000 },
  );
});

test('UNKNOWN_FIELD names the field and suggests a known one with a similar name', () => {
  const table: Record<string, string | undefined> = {
    CUSTOMR_CODE: 'CUSTOMER_CODE',
    order_date: 'ORDER_DATE',
    BEMIAL: 'BEMAIL',
    BFN: undefined,
    CUSTOMER_NUMBER: 'CUSTOMER_CODE',
    COLOUR: undefined,
    BCITYXXX: undefined,
    ['X'.repeat(64)]: undefined,
  };
  for (const [sent, suggestion] of Object.entries(table))
    assert.throws(
      () => parseValues(dictionaries.orders, 'orders', { [sent]: '1' }),
      (refusal: Refusal) => {
        const hint = suggestion === undefined ? '' : ` Did you mean ${suggestion}?`;
        assert.equal(refusal.message, `ORDERS has no field '${sent}'.${hint} Field names are uppercase.`);
        assert.deepEqual([refusal.code, refusal.field, refusal.suggestion], ['UNKNOWN_FIELD', sent, suggestion]);
        return true;
      },
    );
  refuses('UNKNOWN_FIELD', () => findField(dictionaries.orders, 'orders', 'X'.repeat(65)), `${'X'.repeat(64)}…`);
  for (const name of ['__proto__', 'constructor', 'toString', '', 'ORDER_DATE '])
    refuses('UNKNOWN_FIELD', () => parseValues(dictionaries.orders, 'orders', Object.fromEntries([[name, '1']])));
});

test('FIELD_NOT_ALLOWED for fields that PIMS assigns or the operation refuses, and FUNCTION', () => {
  for (const name of ['ORDER_NUMBER', 'CREATE_DATE', 'MODIFIED_DATE', 'FUNCTION'])
    refuses('FIELD_NOT_ALLOWED', () => parseValues(dictionaries.orders, 'orders', { [name]: '1' }), name);
  for (const name of ['LINE_NUMBER', 'LINE_REF_LOCK_CODE'])
    refuses('FIELD_NOT_ALLOWED', () => parseValues(dictionaries.lines, 'lines', { [name]: '1' }), name);
  const shipped = () => parseValues(dictionaries.lines, 'lines', { NUMBER_SHIPPED: '0' }, ['NUMBER_SHIPPED']);
  refuses('FIELD_NOT_ALLOWED', shipped, 'NUMBER_SHIPPED');
  const parsed = parseValues(dictionaries.lines, 'lines', { NUMBER_SHIPPED: 0, DESCRIPTION: null });
  assert.deepEqual(parsed, { NUMBER_SHIPPED: '0', DESCRIPTION: '' });
});

test('codes sort by number before all others, the rest by code point', () => {
  const numbers = '0 00 1 01 9 10 010 11 99 100 10248 99999999999999999999'.split(' ');
  const ordered = [...numbers, '', ' 1', ...'#1 -1 1A A1 a1 ÿ ٣ \uFFFD 😀'.split(' ')];
  const keys = ordered.map(sortKey);
  const found = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  assert.deepEqual(found, keys);
});

test('different codes have different sort keys, in the order of their numbers', () => {
  const number = fc.string({ unit: fc.constantFrom(...Array.from('0012349')), minLength: 1, maxLength: 25 });
  const code = fc.oneof(number, fc.string({ unit: fc.constantFrom('0', '1', ':', '~', 'a', 'é'), maxLength: 8 }));
  fc.assert(
    fc.property(code, code, (a, b) => (sortKey(a) === sortKey(b)) === (a === b)),
    { numRuns: 2000 },
  );
  fc.assert(
    fc.property(number, number, (a, b) => BigInt(a) === BigInt(b) || sortKey(a) < sortKey(b) === BigInt(a) < BigInt(b)),
    { numRuns: 2000 },
  );
});

test('a custom field has a unique name in uppercase, and their number is limited', () => {
  for (const name of ['GIFT_WRAP', 'A', 'X1', 'A'.repeat(63)])
    assert.equal(refuseCustomField(dictionaries.orders, name), undefined);
  for (const name of [...'gift Gift 1A _A A-B Ä A" FUNCTION ORDER_NUMBER NOTES'.split(' '), '', 'A B', 'A'.repeat(64)])
    assert.equal(refuseCustomField(dictionaries.orders, name)?.code, 'COMMAND_REFUSED', name);
  const own = Array.from(
    { length: 400 - dictionaries.orders.size },
    (_, index) => ({ recordType: 'orders', name: `OWN_${index}`, type: 'text' }) as const,
  );
  assert.equal(refuseCustomField(buildDictionaries(own).orders, 'ONE_MORE')?.code, 'COMMAND_REFUSED');
});

test('custom fields are only in the dictionary of their record type, after the others', () => {
  const { orders, lines } = buildDictionaries([{ recordType: 'orders', name: 'GIFT_WRAP', type: 'flag' }]);
  assert.equal([...orders.keys()].at(-1), 'GIFT_WRAP');
  assert.equal(parseValues(orders, 'orders', { GIFT_WRAP: true })['GIFT_WRAP'], 'Y');
  assert.ok(!lines.has('GIFT_WRAP'));
});

test('a list in one field is split at its commas', () => {
  assert.deepEqual(splitList('A, B,,C '), ['A', 'B', 'C']);
  assert.deepEqual(splitList(''), []);
});

test('a surrogate pair counts as one character', () => {
  assert.deepEqual(['', 'ab', 'a😀', '😀😀'].map(countCharacters), [0, 2, 2, 2]);
  const longer = ['', 'ab', '😀😀', 'abc', '😀😀a'].map((text) => isLonger(text, 2));
  assert.deepEqual(longer, [false, false, false, true, true]);
});

test('the key of a new record has at most 256 characters', () => {
  assert.equal(KEY_CHARACTERS_MAX, 256);
  assert.doesNotThrow(() => checkNewKey('inventory', '😀'.repeat(256), false));
  assert.throws(() => checkNewKey('inventory', 'x'.repeat(257), false), {
    code: 'INVALID_VALUE',
    field: 'PART_CODE',
    message: /257 characters/,
  });
});

test('a sort key is the count of digits, the number and its leading zeros; other codes sort after numbers', () => {
  const keys = { '9': '00019', '0': '00010', '10': '000210', '010': '000210:0001', '00': '00010:0001', A1: '~A1' };
  for (const [code, key] of Object.entries(keys)) assert.equal(sortKey(code), key, code);
});

test('the first and the last year are valid; a century is a leap year only if 400 divides it', () => {
  const { orders } = buildDictionaries([]);
  const read = (name: string, text: string): string | undefined => {
    try {
      return parseValue(orders.get(name)!, text);
    } catch (fault) {
      return (fault as Error).message.replace(/, not .*/, '');
    }
  };
  const dates = ['2/29/2000', '2/29/1900', '1/1/0001', '12/31/9999', '1/1/0000'].map((text) =>
    read('ORDER_DATE', text),
  );
  const none = "ORDER_DATE must be a date that exists, as 'm/d/yyyy' or 'yyyy-mm-dd' without a time";
  assert.deepEqual(dates, ['02/29/2000', none, '01/01/0001', '12/31/9999', none]);
  assert.equal(read('ORDER_DATE', '2026-06-01T00:00:00Z'), none);
  for (const year of ['0001', '9999']) {
    const time = `${year}-06-01T00:00:00`;
    assert.equal(parseValue(FIELDS.timestamp, `${time}Z`), `${time}.000Z`);
  }
  const beyond = ['2026-06-01T00:00:00+99:00', '2026-06-01T00:00:00+24:00', '0001-01-01T00:00:00+01:00'];
  for (const time of [...beyond, '9999-12-31T23:00:00-02:00'])
    assert.throws(() => parseValue(FIELDS.timestamp, time), { code: 'INVALID_VALUE' });
  assert.equal(read('DROP_SHIP', 'maybe'), "DROP_SHIP must be 'Y' or 'N'");
});
