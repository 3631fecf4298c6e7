/** Imports as scripts: what a batch loads and remembers, and how a rejected row names what is wrong with it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Refusal } from '../../src/errors.ts';
import type { RecordType } from '../../src/pims/fields.ts';
import { importBatch } from '../../src/pims/import.ts';
import { LINES_MAX } from '../../src/pims/limits.ts';
import type { Values } from '../../src/pims/values.ts';
import { times } from '../kit/lists.ts';

const ORDER = { orderStage: { ORDER_TYPE: 'quote' }, lastLineNumber: 0 };

interface Ran {
  /** The names of what was loaded, each with its first argument. */
  readonly loaded: string[];
  readonly rejected: string[];
  readonly imported: number;
}

/** Imports rows over a store that answers a load by its name, or with nothing. */
function run(recordType: RecordType, rows: Values[], answers: Record<string, unknown> = {}): Ran {
  const loaded: string[] = [];
  const given = rows.map((values, index) => ({ lineNumber: index + 2, values }));
  const script = importBatch(recordType, given, '2026-11-20T09:30:00.000Z');
  let step = script.next();
  while (!step.done) {
    const { kind, name, args } = step.value;
    // What the first request asks ahead, the rows then load.
    if (kind === 'load' && step.value.ahead === undefined) loaded.push([name, args[0]].join(' ').trim());
    step = script.next(answers[name]);
  }
  const { imported, rejected } = step.value;
  const told = rejected.map(
    ({ reason }) => `${(reason as Refusal).code} ${(reason as Refusal).field}: ${reason.message}`,
  );
  return { loaded, rejected: told, imported };
}

const line = (more: Values = {}): Values => ({ ORDER_NUMBER: '7', ...more });

test('a rejected row names its field', () => {
  const cases: [RecordType, Values, Record<string, unknown>, RegExp][] = [
    ['orders', { ORDER_TYPE: 'x' }, {}, /^INVALID_VALUE ORDER_TYPE: .*worksheet, quote, sales_order, invoice, not 'x'/],
    ['inventory', {}, {}, /^MISSING_FIELD PART_CODE: /],
    ['lines', {}, {}, /^ORDER_NOT_FOUND ORDER_NUMBER: .*''/],
    ['lines', line({ LINE_REF_LOCK_CODE: 'L' }), { ...ORDER, line: {} }, /^CODE_TAKEN LINE_REF_LOCK_CODE: /],
    [
      'lines',
      line({ LINE_NUMBER: '3' }),
      { ...ORDER, lastLineNumber: 3, isLineThere: true },
      /^CODE_TAKEN LINE_NUMBER: /,
    ],
  ];
  for (const [recordType, row, answers, told] of cases) {
    const { rejected, imported } = run(recordType, [row], answers);
    assert.equal(imported, 0);
    assert.match(rejected.join(), told);
  }
});

test('a batch loads an order, a part and what orders hold of parts once, however many rows need them', () => {
  const lines = run('lines', [line({ PART_CODE: 'P' }), line({ PART_CODE: 'P' })], { ...ORDER, part: {} });
  assert.deepEqual([lines.imported, lines.loaded], [2, ['orderStage 7', 'lastLineNumber 7', 'part P']]);
  const parts = run('inventory', [{ PART_CODE: 'P' }, { PART_CODE: 'Q' }], { commitments: [] });
  assert.deepEqual([parts.imported, parts.loaded], [2, ['isThere inventory', 'commitments', 'isThere inventory']]);
});

test('a part is loaded for a line that leaves something to it', () => {
  const partsOf = (row: Values): string[] => run('lines', [row], ORDER).loaded.slice(2);
  assert.deepEqual(partsOf(line()), []);
  assert.deepEqual(partsOf(line({ PART_CODE: 'P', DESCRIPTION: '', CARE_PLAN: '' })), []);
  assert.deepEqual(partsOf(line({ PART_CODE: 'P', DESCRIPTION: 'own' })), ['part P']);
  assert.deepEqual(partsOf(line({ PART_CODE: 'P', CARE_PLAN: 'N' })), ['part P']);
});

test('lines are counted only behind the number of the last that fits, and only so many come in', () => {
  const add = (lastLineNumber: number, lineCount: number): Ran =>
    run(
      'lines',
      times(3, () => line()),
      { ...ORDER, lastLineNumber, lineCount },
    );
  const loads = ['orderStage 7', 'lastLineNumber 7'];
  assert.deepEqual(add(LINES_MAX - 3, LINES_MAX), { loaded: loads, rejected: [], imported: 3 });
  const full = add(LINES_MAX, LINES_MAX - 2);
  assert.deepEqual([full.loaded, full.imported], [[...loads, 'lineCount 7'], 2]);
  assert.match(full.rejected.join(), /^TOO_MANY_LINES ORDER_NUMBER: /);
});
