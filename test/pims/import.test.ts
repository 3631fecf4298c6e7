/** Tests imports as scripts: what a batch loads and saves together, and how a rejected row names its fault. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Refusal } from '../../src/errors.ts';
import type { RecordType } from '../../src/pims/rules/fields.ts';
import { importBatch } from '../../src/pims/import.ts';
import { LINES_MAX } from '../../src/pims/rules/record-bounds.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import { times } from '../kit/lists.ts';

const orderOfLines = (lastLineNumber: number): Values[] => [
  { ORDER_NUMBER: '7', ORDER_TYPE: 'sales_order', LINE_NUMBER: String(lastLineNumber) },
];
const ORDER = { ordersOfLines: orderOfLines(0) };
const NOW = '2026-11-20T09:30:00.000Z';

interface Ran {
  /** The names of the loads, each with its last argument. */
  readonly loaded: string[];
  /** The last argument of each save, by the name of the save. */
  readonly saved: Record<string, unknown>;
  readonly rejected: string[];
  readonly imported: number;
}

/** Imports rows into a store that answers a load by its name, with a value or a function, otherwise with []. */
function run(recordType: RecordType, rows: Values[], answers: Record<string, unknown> = {}): Ran {
  const loaded: string[] = [];
  const saved: Record<string, unknown> = {};
  const given = rows.map((values, index) => ({ lineNumber: index + 2, values }));
  const script = importBatch(recordType, given, { now: NOW });
  let step = script.next();
  while (!step.done) {
    const { kind, name, args } = step.value;
    if (kind === 'load') loaded.push(`${name} ${[args.at(-1)].flat(2).join()}`);
    else saved[name] = args.at(-1);
    const answer = answers[name] ?? [];
    step = script.next(typeof answer === 'function' ? (answer as (asked: unknown) => unknown)(args.at(-1)) : answer);
  }
  const { imported, rejected } = step.value;
  const told = rejected.map(
    ({ reason }) => `${(reason as Refusal).code} ${(reason as Refusal).field}: ${reason.message}`,
  );
  return { loaded, saved, rejected: told, imported };
}

const line = (more: Values = {}): Values => ({ ORDER_NUMBER: '7', ...more });

test('a rejected row names its field', () => {
  const cases: [RecordType, Values, Record<string, unknown>, RegExp][] = [
    ['orders', { ORDER_TYPE: 'x' }, {}, /^INVALID_VALUE ORDER_TYPE: .*worksheet, quote, sales_order, invoice, not 'x'/],
    ['inventory', {}, {}, /^MISSING_FIELD PART_CODE: /],
    ['lines', {}, {}, /^ORDER_NOT_FOUND ORDER_NUMBER: .*''/],
    [
      'lines',
      line({ LINE_REF_LOCK_CODE: 'L' }),
      { ordersOfLines: orderOfLines(3), areLinesThere: [0] },
      /^CODE_TAKEN LINE_REF_LOCK_CODE: /,
    ],
    [
      'lines',
      line({ LINE_NUMBER: '3' }),
      { ordersOfLines: orderOfLines(3), areLinesThere: [0] },
      /^CODE_TAKEN LINE_NUMBER: /,
    ],
  ];
  for (const [recordType, row, answers, told] of cases) {
    const { rejected, imported } = run(recordType, [row], answers);
    assert.equal(imported, 0);
    assert.match(rejected.join(), told);
  }
});

test('a batch loads and saves each order, part and stock once, for any number of rows', () => {
  const stocks = [{ PART_CODE: 'P', QTY_ONHAND: '10', QTY_COMMITTED: '1' }];
  const row = { PART_CODE: 'P', QUANTITY: '2' };
  const lines = run('lines', [line(row), line(row)], { ...ORDER, stocks });
  assert.deepEqual([lines.imported, lines.loaded], [2, ['ordersOfLines 7', 'parts P', 'stocks P']]);
  const stock = { QTY_ONHAND: '10', QTY_COMMITTED: '5', QTY_AVAILABLE: '5' };
  const before = { ...stocks[0], QTY_AVAILABLE: '9' };
  assert.deepEqual(lines.saved['updateStocks'], [[before, { PART_CODE: 'P', ...stock, MODIFIED_DATE: NOW }]]);
  const parts = run('inventory', [{ PART_CODE: 'P' }, { PART_CODE: 'Q' }]);
  assert.deepEqual([parts.imported, parts.loaded], [2, ['areThere P,Q', 'commitments P,Q']]);
});

test('numbers assigned in a batch skip those of its rows and of the store, and its rows skip them', () => {
  const rows = ['', '10003', '', '10001', '20000', '', '7', 'C'].map((ORDER_NUMBER) => ({ ORDER_NUMBER }));
  const areThere = (asked: string[]): string[] => asked.filter((number) => ['10004', '20001'].includes(number));
  const refused = { ORDER_NUMBER: '30000', ORDER_TYPE: 'x' };
  const { saved, rejected } = run('orders', [...rows, refused], { counter: 10_001, areThere });
  const numbers = (saved['insertAll'] as Values[]).map((order) => order['ORDER_NUMBER']);
  assert.deepEqual(numbers, ['10001', '10003', '10005', '20000', '20002', '7', 'C']);
  assert.match(rejected.join(' | '), /^CODE_TAKEN ORDER_NUMBER: .*'10001'.* \| INVALID_VALUE ORDER_TYPE: /);
  assert.equal(saved['raiseCounter'], 20_002n);
});

test('a counter is read only for rows without a number, and raised only by numbers', () => {
  assert.deepEqual(run('customers', [{ CUSTOMER_CODE: 'C' }]).loaded, ['areThere C']);
  assert.equal('raiseCounter' in run('customers', [{ CUSTOMER_CODE: 'C' }, { CUSTOMER_CODE: '01' }]).saved, false);
  assert.equal(run('customers', [{ CUSTOMER_CODE: '9' }, { CUSTOMER_CODE: '8' }]).saved['raiseCounter'], 9n);
});

test('a part is loaded only for a line that leaves out a value of its part', () => {
  const partsOf = (row: Values): string[] => run('lines', [row], ORDER).loaded.slice(1);
  assert.deepEqual(partsOf(line()), []);
  assert.deepEqual(partsOf(line({ PART_CODE: 'P', DESCRIPTION: '', CARE_PLAN: '' })), []);
  assert.deepEqual(partsOf(line({ PART_CODE: 'P', DESCRIPTION: 'own' })), ['parts P']);
  assert.deepEqual(partsOf(line({ PART_CODE: 'P', CARE_PLAN: 'N' })), ['parts P']);
});

test('saved lines are looked up by the values of a row, if the order has lines', () => {
  const looked = (last: number, row: Values): string[] =>
    run('lines', [line(row)], { ordersOfLines: orderOfLines(last) }).loaded.slice(1);
  assert.deepEqual(looked(3, {}), []);
  assert.deepEqual(looked(3, { LINE_NUMBER: '4' }), []);
  assert.deepEqual(looked(3, { LINE_NUMBER: '3' }), ['areLinesThere 7,3,']);
  assert.deepEqual(looked(3, { LINE_REF_LOCK_CODE: 'L' }), ['areLinesThere 7,0,L']);
  assert.deepEqual(looked(0, { LINE_NUMBER: '1', LINE_REF_LOCK_CODE: 'L' }), []);
});

test('lines are counted only if a number is above the maximum, and only as many as fit are imported', () => {
  const add = (lastLineNumber: number, lineCount: number): Ran =>
    run(
      'lines',
      times(3, () => line()),
      { ordersOfLines: orderOfLines(lastLineNumber), lineCount },
    );
  const few = add(LINES_MAX - 3, LINES_MAX);
  assert.deepEqual([few.loaded, few.rejected, few.imported], [['ordersOfLines 7'], [], 3]);
  const full = add(LINES_MAX, LINES_MAX - 2);
  assert.deepEqual([full.loaded, full.imported], [['ordersOfLines 7', 'lineCount 7'], 2]);
  assert.match(full.rejected.join(), /^TOO_MANY_LINES ORDER_NUMBER: /);
});
