/** Tests the PostgreSQL store: the group `writes` of contract.ts, and that a script sees its own saves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { LineUnits } from '../../src/pims/rules/stock.ts';
import { LOADS, type SavesOfSource } from '../../src/pims/writes/kinds-of-loads.ts';
import { requestLoad, loadValue, requestSave, type Load, type Script } from '../../src/pims/writes/script.ts';
import { trials } from '../kit/trials.ts';
import { describeStore } from './contract.ts';
import { openDatabase, runProcess } from './postgres-database.ts';
import { accepted, idempotency, NOW, StoreUnderTest } from './store-under-test.ts';

describeStore('PostgreSQL', 'writes', openDatabase, runProcess);

const TRIALS = trials('OWN_SAVES', { quick: 200, all: 500 });
const KEPT = idempotency('key').idempotency!;
const KEYS = ['1', '2'];
/** Returns the loads with one source, and one that changes without a save to it. */
const loadsOf = (key: string): readonly Load[] => [
  requestLoad('record', 'orders', key),
  requestLoad('isThere', 'orders', key),
  requestLoad('tag', 'orders', key),
  requestLoad('orderStage', key),
  requestLoad('lines', key),
  requestLoad('line', key, `${key}-1`),
  requestLoad('unitsOfLines', key),
  requestLoad('lastLineNumber', key),
  requestLoad('lineCount', key),
  requestLoad('orderOfMovedLine', key, `${key}-1`),
  requestLoad('record', 'inventory', key),
  requestLoad('isThere', 'inventory', key),
  requestLoad('part', key),
  requestLoad('stock', key),
  requestLoad('isLocationThere', 'a'),
  requestLoad('keptAnswer', KEPT.operation, key),
];
/** The steps for each kind of save to a source. */
const STEPS: Readonly<Record<SavesOfSource[keyof SavesOfSource], readonly string[]>> = {
  insert: ['order', 'part'],
  update: ['change', 'part'],
  insertLine: ['line'],
  updateLine: ['changeLine', 'changeLine'],
  deleteLine: ['deleteLine'],
  keepAnswer: ['keep'],
};
const STEP = fc.record({
  kind: fc.constantFrom(...Object.values(STEPS).flat()),
  key: fc.constantFrom(...KEYS),
  text: fc.constantFrom('a', 'É"\\'),
  quantity: fc.nat(99).map(String),
});

function* takeStep({ kind, key, text, quantity }: typeof STEP extends fc.Arbitrary<infer T> ? T : never): Script<void> {
  const order = yield* loadValue('record', 'orders', key);
  if (kind === 'order' && !order) yield requestSave('insert', 'orders', { ORDER_NUMBER: key, NOTES: text });
  if (kind === 'change' && order) yield requestSave('update', 'orders', order, { NOTES: text, DROP_SHIP: 'Y' });
  if (kind === 'line' && order) {
    const number = String((yield* loadValue('lastLineNumber', key)) + 1);
    const code = { LINE_NUMBER: number, LINE_REF_LOCK_CODE: `${key}-${number}`, CARE_PLAN: text === 'a' ? 'Y' : '' };
    yield requestSave('insertLine', { ORDER_NUMBER: key, PART_CODE: text, QUANTITY: quantity, ...code });
  }
  if (kind === 'changeLine') {
    const line = yield* loadValue('line', key, `${key}-1`);
    if (line) yield requestSave('updateLine', line, { QUANTITY: quantity, DESCRIPTION: text });
  }
  if (kind === 'deleteLine') {
    const line = yield* loadValue('line', key, `${key}-1`);
    if (line) yield requestSave('deleteLine', line);
  }
  if (kind === 'part') {
    const part = yield* loadValue('record', 'inventory', key);
    if (part) yield requestSave('update', 'inventory', part, { LOCATION_CODE: text, QTY_ONHAND: quantity });
    else yield requestSave('insert', 'inventory', { PART_CODE: key, LOCATION_CODE: text });
  }
  if (kind === 'keep' && !(yield* loadValue('keptAnswer', KEPT.operation, key)))
    yield requestSave('keepAnswer', { ...KEPT, key }, text, NOW);
}

/** Adds up lines of the same part and quantity, which a script's own saves do not. */
function addUnits(value: unknown): unknown {
  const sums = new Map<string, number>();
  for (const [part, quantity, lines] of value as LineUnits[])
    sums.set(`${part} ${quantity}`, (sums.get(`${part} ${quantity}`) ?? 0) + lines);
  return sums;
}

test('the next property covers every kind of load with one source', () => {
  const asked = new Set<string>(loadsOf('').map(({ name }) => name));
  const known = Object.entries(LOADS).flatMap(([name, kind]) => (kind ? name : []));
  assert.deepEqual(
    known.filter((name) => !asked.has(name)),
    [],
  );
});

test('after its own saves a script gets the values that the database returns once they are committed', async () => {
  const store = new StoreUnderTest(openDatabase, runProcess, 'own saves');
  const { tenant } = await store.newTenant();
  const pims = (await store.first()).pims(tenant);
  const trial = fc.record({
    // Whether the value is also loaded before the saves.
    isKnown: fc.boolean(),
    load: fc.nat(loadsOf('').length - 1),
    key: fc.constantFrom(...KEYS),
    // Whether the saves write new records, or those of earlier trials.
    isNew: fc.boolean(),
    steps: fc.array(STEP, { minLength: 1, maxLength: 4 }),
  });
  for (const [at, { isKnown, load: place, key, isNew, steps }] of fc.sample(trial, TRIALS).entries()) {
    const keyOf = (one: string): string => (isNew ? `${at}-${one}` : one);
    const asked = loadsOf(keyOf(key))[place]!;
    const look = (value: unknown): unknown => (asked.name === 'unitsOfLines' ? addUnits(value) : value);
    const own = await pims.write(function* (): Script<unknown> {
      if (isKnown) yield asked;
      for (const step of steps) yield* takeStep({ ...step, key: keyOf(step.key) });
      return yield asked;
    });
    const committed = await pims.write(function* (): Script<unknown> {
      return yield asked;
    });
    assert.deepEqual(look(accepted(own)), look(accepted(committed)), JSON.stringify({ isKnown, asked, steps }));
  }
});
