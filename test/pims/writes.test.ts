/** Tests the writes as scripts: what each loads, saves and refuses, and which field a refusal names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../src/errors.ts';
import { writeBatch, WRITES, type BatchStep } from '../../src/pims/batch.ts';
import { buildDictionaries } from '../../src/pims/rules/fields.ts';
import type { Script } from '../../src/pims/writes/script.ts';
import * as writes from '../../src/pims/writes/writes.ts';
import { times } from '../kit/lists.ts';

const DICTIONARIES = buildDictionaries([]);
const CONTEXT = { now: '2026-11-20T09:30:00.000Z', strict: false, defaultStage: 'worksheet' } as const;
const ORDER = { ORDER_NUMBER: '7', ORDER_TYPE: 'quote' };

interface Ran {
  /** The kind and name of each step: `load record`, `save insert`, … */
  readonly steps: string[];
  readonly outcome: unknown;
}

/** Runs a script on a store that answers a load by its name, or with undefined. */
function run(script: Script<unknown>, answers: Record<string, unknown> = {}): Ran {
  const steps: string[] = [];
  try {
    let step = script.next();
    while (!step.done) {
      const { kind, name } = step.value;
      steps.push(`${kind} ${name}`);
      step = script.next(answers[name]);
    }
    return { steps, outcome: step.value };
  } catch (fault) {
    if (!(fault instanceof Refusal)) throw fault;
    return { steps, outcome: `${fault.code} ${fault.field}: ${fault.message}` };
  }
}
const refuses = (ran: Ran, outcome: RegExp): void => assert.match(String(ran.outcome), outcome);

test('an order begins in its own stage or the default one, and never as an invoice', () => {
  const create = (body: writes.Body): Ran => run(WRITES.createOrder(DICTIONARIES, body, CONTEXT), { nextNumber: '8' });
  assert.equal(create({}).outcome, '"8"');
  assert.equal(create({ ORDER_TYPE: 'sales_order' }).outcome, '"8"');
  refuses(
    create({ ORDER_TYPE: 'invoice' }),
    /^INVALID_VALUE ORDER_TYPE: .*worksheet, quote, sales_order, not 'invoice'/,
  );
});

test('an update needs the key of its record, and its refusals name it', () => {
  for (const CUSTOMER_CODE of [undefined, null, ''])
    refuses(
      run(WRITES.updateCustomer(DICTIONARIES, { ...(CUSTOMER_CODE !== undefined && { CUSTOMER_CODE }) }, CONTEXT)),
      /^MISSING_FIELD CUSTOMER_CODE: /,
    );
  refuses(
    run(WRITES.updateCustomer(DICTIONARIES, { CUSTOMER_CODE: 'C' }, CONTEXT)),
    /^CUSTOMER_NOT_FOUND CUSTOMER_CODE: .*'C'/,
  );
  refuses(
    run(WRITES.addLineItem(DICTIONARIES, { ORDER_NUMBER: '9' }, CONTEXT)),
    /^ORDER_NOT_FOUND ORDER_NUMBER: .*'9'/,
  );
  const body = { ORDER_NUMBER: '7', LINE_REF_LOCK_CODE: 'L' };
  const update = run(WRITES.updateLineItem(DICTIONARIES, body, CONTEXT), { orderStage: ORDER });
  refuses(update, /^LINE_NOT_FOUND LINE_REF_LOCK_CODE: .*'L'/);
});

test('a new line may not have NUMBER_SHIPPED; lines are counted only if a number is above the maximum', () => {
  const add = (body: writes.Body, answers: Record<string, unknown>): Ran =>
    run(WRITES.addLineItem(DICTIONARIES, { ORDER_NUMBER: '7', ...body }, CONTEXT), { orderStage: ORDER, ...answers });
  refuses(add({ NUMBER_SHIPPED: '1' }, {}), /^FIELD_NOT_ALLOWED NUMBER_SHIPPED: /);
  const line = add({}, { lastLineNumber: 9999 });
  assert.ok(!line.steps.includes('load lineCount'));
  assert.equal((JSON.parse(line.outcome as string) as { LINE_NUMBER: string }).LINE_NUMBER, '10000');
  refuses(add({}, { lastLineNumber: 10_000, lineCount: 10_000 }), /^TOO_MANY_LINES ORDER_NUMBER: /);
  assert.match(String(add({}, { lastLineNumber: 10_000, lineCount: 9999 }).outcome), /"LINE_NUMBER":"10001"/);
});

test('the input of an operator must be storable text, and its refusal names the field', () => {
  const advance = (order: string, { serial = 'S', tracking = 'T' } = {}): Ran => {
    const lines = [{ LINE_REF_LOCK_CODE: 'lock', QUANTITY: '1', SERIAL_NUMBERS: serial }];
    const body = { ORDER_NUMBER: order, lines, TRACKING_NUMBERS: tracking } as unknown as writes.Body;
    return run(WRITES.invoiceOrder(DICTIONARIES, body, CONTEXT));
  };
  refuses(advance('7\0'), /^INVALID_VALUE ORDER_NUMBER: /);
  refuses(advance('7', { serial: '\0' }), /^INVALID_VALUE SERIAL_NUMBERS: /);
  refuses(advance('7', { tracking: '\0' }), /^INVALID_VALUE TRACKING_NUMBERS: /);
});

test('a number of at most 15 digits raises the counter of its records, another code does not', () => {
  const raises = (own: string): boolean =>
    run(WRITES.createCustomer(DICTIONARIES, { CUSTOMER_CODE: own }, CONTEXT)).steps.includes('save raiseCounter');
  const found = ['1', '9'.repeat(15), '9'.repeat(16), '01', '0', 'C1'].map(raises);
  assert.deepEqual(found, [true, true, false, false, false, false]);
});

test('a write without an idempotency key is not a replay', () => {
  const script = writes.runOnce(WRITES.createOrder(DICTIONARIES, {}, CONTEXT), CONTEXT);
  assert.deepEqual(run(script, { nextNumber: '8' }).outcome, { data: '"8"', replayed: false });
});

test('a batch that changes the stock of more than 10,000 lines is refused at the step that passes the bound', () => {
  const step = (operation: BatchStep['operation'], ORDER_NUMBER: string, more: writes.Body = {}): BatchStep => ({
    operation,
    body: { ORDER_NUMBER, ...more },
    refusal: undefined,
  });
  const dropShip = (order: string, DROP_SHIP: string): BatchStep => step('updateOrder', order, { DROP_SHIP });
  /** Runs steps on sales orders of 6,000 lines. */
  const batch = (...steps: BatchStep[]): Ran =>
    run(writeBatch(DICTIONARIES, steps, CONTEXT), {
      lastLineNumber: 6000,
      record: { ...ORDER, ORDER_TYPE: 'sales_order', DROP_SHIP: '' },
      unitsOfLines: [['', '1', 6000]],
    });
  for (const steps of [
    [step('cancelOrder', '7'), step('cancelOrder', '8')],
    [dropShip('7', 'Y'), dropShip('8', 'Y')],
    [dropShip('7', 'Y'), step('updateOrder', '7', { NOTES: 'x' }), step('cancelOrder', '8')],
  ]) {
    const { steps: done, outcome } = batch(...steps);
    assert.match(String(outcome), /^BATCH_TOO_LONG .*more than 10000 lines/);
    assert.equal(done.at(-1), 'load unitsOfLines', 'the last step saves nothing');
  }
  // A return, a void, and a change of serial numbers load the lines of all returns of an invoice.
  const lines = [{ LINE_REF_LOCK_CODE: 'L', QUANTITY: '1' }];
  const invoiced = { LINE_NUMBER: '1', LINE_REF_LOCK_CODE: 'L', QUANTITY: '1', SERIAL_NUMBERS: '', CARE_PLAN: 'Y' };
  const returned = step('returnOrder', '7', { lines } as unknown as writes.Body);
  const { steps: loaded, outcome: refused } = run(writeBatch(DICTIONARIES, [returned, returned], CONTEXT), {
    record: { ...ORDER, ORDER_TYPE: 'invoice' },
    lines: [invoiced],
    returnedLines: times(6000, () => ({ ...invoiced, LINE_NUMBER: '2', QUANTITY: '-1' })),
    nextNumber: '8',
  });
  assert.match(String(refused), /^BATCH_TOO_LONG .*more than 10000 lines/);
  assert.equal(loaded.at(-1), 'load returnedLines');
  // These change the stock of at most one of the orders.
  for (const steps of [
    [dropShip('7', 'Y'), dropShip('7', 'N')],
    [dropShip('7', 'N'), step('cancelOrder', '8')],
    [dropShip('7', 'Y'), step('updateOrder', '8', { NOTES: 'x' })],
  ])
    assert.ok(batch(...steps).steps.includes('save update'));
});
