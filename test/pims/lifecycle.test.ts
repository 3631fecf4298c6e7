/** Tests the life of an order. A model that counts hundredths of a unit in JavaScript numbers checks the stock. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal, type ErrorCode } from '../../src/errors.ts';
import { addDecimals, compareDecimals, subtractDecimals, within } from '../../src/pims/rules/decimal.ts';
import { invoiceOrder, type InvoiceRequest } from '../../src/pims/rules/invoice.ts';
import { approveOrder, type OrderStep } from '../../src/pims/rules/order.ts';
import { markTotals, sumUp } from '../../src/pims/rules/totals.ts';
import { refuseSerialsOf, stockMovements, type StockMovement } from '../../src/pims/rules/stock.ts';
import { FIRST_STAGES, STAGES } from '../../src/pims/rules/stages.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import { valuesOf } from '../kit/lists.ts';

const order = (stage: string, values: Values = {}): Values => ({
  ORDER_NUMBER: '10001',
  ORDER_TYPE: stage,
  DROP_SHIP: '',
  ...values,
});
const line = (number: number, values: Values = {}): Values => ({
  ORDER_NUMBER: '10001',
  LINE_NUMBER: String(number),
  PART_CODE: `P${number}`,
  QUANTITY: '3',
  NUMBER_SHIPPED: '0',
  SERIAL_NUMBERS: '',
  CARE_PLAN: '',
  LINE_REF_LOCK_CODE: `lock-${number}`,
  ...values,
});

interface Asked {
  quantities?: Record<string, string>;
  serials?: Record<string, string[]>;
  tracking?: string[];
}
/** Names lines of `line` by their numbers. Without a quantity, a line has its 3 units. */
function ask({ quantities = {}, serials = {}, tracking = [] }: Asked = {}): InvoiceRequest {
  const numbers = new Set([...Object.keys(quantities), ...Object.keys(serials)]);
  const named = [...numbers].map((number): [string, Values] => [
    `lock-${number}`,
    { QUANTITY: quantities[number] ?? '3', ...(serials[number] && { SERIAL_NUMBERS: serials[number].join() }) },
  ]);
  return {
    lines: named.length > 0 ? new Map(named) : undefined,
    fields: tracking.length > 0 ? { TRACKING_NUMBERS: tracking.join() } : {},
  };
}

function done(outcome: OrderStep | Refusal): OrderStep {
  if (outcome instanceof Refusal) throw outcome;
  return outcome;
}

function refused(outcome: unknown, code: ErrorCode): void {
  assert.ok(outcome instanceof Refusal, 'it was not refused');
  assert.equal(outcome.code, code);
}

suite('stages', () => {
  test('a new order may begin as anything but an invoice', () => {
    assert.deepEqual([...FIRST_STAGES], STAGES.slice(0, 3));
  });

  test('orders only move forward: worksheets and quotes are approved, everything but invoices invoiced', () => {
    const approved = STAGES.map((stage) => !(approveOrder(order(stage), [line(1)]) instanceof Refusal));
    const invoiced = STAGES.map((stage) => !(invoiceOrder(order(stage), [line(1)], ask()) instanceof Refusal));
    assert.deepEqual(approved, [true, true, false, false]);
    assert.deepEqual(invoiced, [true, true, true, false]);
    refused(approveOrder(order('sales_order'), []), 'STAGE_NOT_ALLOWED');
    refused(invoiceOrder(order('invoice'), [line(1)], ask()), 'STAGE_NOT_ALLOWED');
  });

  test('approving changes the stage and nothing else, also without lines', () => {
    const lines = [line(1), line(2)];
    const step = done(approveOrder(order('quote', { NOTES: 'n' }), lines));
    assert.deepEqual(step.order, order('sales_order', { NOTES: 'n' }));
    assert.deepEqual(step.lines, lines);
    assert.equal(step.backorder, null);
    assert.deepEqual(done(approveOrder(order('worksheet'), [])).stock, []);
  });
});

suite('invoicing', () => {
  test('whole: the invoice keeps number and lines, all units are shipped, and no backorder is left', () => {
    const lines = [line(1), line(2, { QUANTITY: '0.5' })];
    const step = done(invoiceOrder(order('sales_order'), lines, ask({ tracking: ['1Z1'] })));
    assert.deepEqual(step.order, order('invoice', { TRACKING_NUMBERS: '1Z1' }));
    const shown = step.lines.map((one) => [one['QUANTITY'], one['NUMBER_SHIPPED'], one['LINE_REF_LOCK_CODE']]);
    assert.deepEqual(shown, [
      ['3', '3', 'lock-1'],
      ['0.5', '0.5', 'lock-2'],
    ]);
    assert.equal(step.backorder, null);
  });

  test('in part: the backorder has the reference and no number, tracking or amounts without a price', () => {
    const amounts = { SUBTOTAL: '9', FREIGHT: '1', TAX_TOTAL: '2', ORDER_TOTAL: '12' };
    const noAmounts = { SUBTOTAL: '', FREIGHT: '', TAX_TOTAL: '', ORDER_TOTAL: '' };
    const kept = { REFERENCE_NUMBER: '#1001', CUSTOMER_CODE: 'C' };
    const before = order('worksheet', { ...kept, TRACKING_NUMBERS: '1Z0', ...amounts });
    const asked = ask({ quantities: { 1: '1', 2: '3' }, tracking: ['1Z1', '1Z0'] });
    const step = done(invoiceOrder(before, [line(1), line(2), line(3)], asked));
    assert.equal(step.order['TRACKING_NUMBERS'], '1Z0,1Z1');
    assert.equal(step.order['ORDER_TOTAL'], '12');
    const backorder = order('sales_order', {
      ...kept,
      ORDER_NUMBER: '',
      TRACKING_NUMBERS: '',
      BACKORDER_OF: '10001',
      ...noAmounts,
      _TOTALS: '',
    });
    assert.deepEqual(step.backorder!.order, backorder);
    const show = (lines: Values[]) =>
      lines.map(
        ({ LINE_NUMBER, QUANTITY, NUMBER_SHIPPED, LINE_REF_LOCK_CODE }) =>
          `${LINE_NUMBER}: ${QUANTITY} ${NUMBER_SHIPPED} ${LINE_REF_LOCK_CODE}`,
      );
    assert.deepEqual(show(step.lines), ['1: 1 1 lock-1', '2: 3 3 lock-2']);
    const found = show(step.backorder!.lines);
    assert.deepEqual(found, ['1: 2 0 ', '3: 3 0 lock-3'], 'a line that moves whole keeps its lock code');
  });

  test('units that were reported as shipped stay reported: on the invoice, and the rest on the backorder', () => {
    for (const [ordered, shipped, invoiced, onInvoice, onBackorder] of [
      ['5', '4', '1', '1/1', '4/3'],
      ['5', '1', '3', '3/3', '2/0'],
      ['5', '5', '2', '2/2', '3/3'],
      ['2', '2', '0', undefined, '2/2'],
      ['2.5', '2', '0.75', '0.75/0.75', '1.75/1.25'],
      ['-5', '-4', '-1', '-1/-1', '-4/-3'],
      ['-5', '-1', '-3', '-3/-3', '-2/0'],
    ] as const) {
      const lines = [line(1), line(2, { QUANTITY: ordered, NUMBER_SHIPPED: shipped })];
      const step = done(invoiceOrder(order('sales_order'), lines, ask({ quantities: { 1: '3', 2: invoiced } })));
      const show = (one: Values | undefined): string | undefined =>
        one && `${one['QUANTITY']}/${one['NUMBER_SHIPPED']}`;
      assert.deepEqual([show(step.lines[1]), show(step.backorder!.lines[0])], [onInvoice, onBackorder]);
    }
  });

  test('a line keeps its serial numbers unless others are sent, also on a new order if it moves whole', () => {
    const lines = [line(1, { SERIAL_NUMBERS: 'S1,S2' }), line(2, { SERIAL_NUMBERS: 'S3' }), line(3)];
    const step = done(invoiceOrder(order('sales_order'), lines, ask({ quantities: { 1: '2', 3: '3' } })));
    assert.deepEqual(valuesOf(step.lines, 'SERIAL_NUMBERS'), ['S1,S2', '']);
    assert.deepEqual(valuesOf(step.backorder!.lines, 'SERIAL_NUMBERS'), ['', 'S3']);
  });

  test('a line without a quantity is invoiced with zero units, with other lines', () => {
    const { SERIAL_NUMBERS: _, ...bare } = line(1, { QUANTITY: '' });
    const step = done(invoiceOrder(order('sales_order'), [bare, line(2)], ask()));
    assert.deepEqual(valuesOf(step.lines, 'QUANTITY'), ['0', '3']);
    assert.deepEqual(valuesOf(step.lines, 'SERIAL_NUMBERS'), ['', '']);
    assert.equal(step.backorder, null);
  });

  test('a refusal names the order or the line, and the field', () => {
    const sales = order('sales_order');
    const refusal = (outcome: unknown): [message: string, field: string | undefined] => {
      assert.ok(outcome instanceof Refusal);
      return [outcome.message, outcome.field];
    };
    assert.deepEqual(refusal(invoiceOrder(sales, [line(1)], ask({ quantities: { 1: '4' } }))), [
      "Line 1 has 3 units, so '4' cannot be invoiced. Send 0 to 3.",
      'QUANTITY',
    ]);
    assert.deepEqual(refusal(invoiceOrder(order('invoice'), [line(1)], ask())), [
      'Order 10001 is already an invoice.',
      undefined,
    ]);
    for (const [stage, named] of [
      ['sales_order', 'a sales order'],
      ['invoice', 'an invoice'],
    ] as const)
      assert.ok(refusal(approveOrder(order(stage), []))[0].startsWith(`Order 10001 is already ${named}. `));
  });

  test('serial numbers belong to the shipped units, and never to a care plan', () => {
    const invoice = (lines: Values[], asked: Asked) => invoiceOrder(order('sales_order'), lines, ask(asked));
    const lines = [line(1, { SERIAL_NUMBERS: 'S1' }), line(2)];
    const step = done(invoice(lines, { quantities: { 1: '2' }, serials: { 1: ['S7', 'S8'] } }));
    assert.equal(step.lines[0]!['SERIAL_NUMBERS'], 'S7,S8');
    assert.deepEqual(valuesOf(step.backorder!.lines, 'SERIAL_NUMBERS'), ['S1', '']);
    const picked = [line(1, { SERIAL_NUMBERS: 'S1,S2,S3' })];
    const part = done(invoice(picked, { quantities: { 1: '1' }, serials: { 1: ['S2'] } }));
    assert.equal(part.backorder!.lines[0]!['SERIAL_NUMBERS'], 'S1,S3');
    const refuses = (given: Values[], asked: Asked) => refused(invoice(given, asked), 'SERIALS_NOT_ALLOWED');
    refuses([line(1)], { quantities: { 1: '1' }, serials: { 1: ['S1', 'S2'] } });
    refuses(picked, { quantities: { 1: '1' }, serials: { 1: ['S7'] } });
    refuses([line(1, { CARE_PLAN: 'Y' })], { serials: { 1: ['S1'] } });
    refuses([line(1), line(2)], { quantities: { 1: '0', 2: '1' }, serials: { 1: ['S1'] } });
  });

  test('refused: more units than ordered, negative units, no units, an order without lines', () => {
    const sales = order('sales_order');
    for (const quantity of ['3.01', '-1', 'three', ''])
      refused(invoiceOrder(sales, [line(1)], ask({ quantities: { 1: quantity } })), 'QUANTITY_NOT_ALLOWED');
    refused(invoiceOrder(sales, [line(1)], ask({ quantities: { 1: '0' } })), 'QUANTITY_NOT_ALLOWED');
    refused(invoiceOrder(sales, [], ask()), 'STAGE_NOT_ALLOWED');
  });

  test('a credit is invoiced with negative units', () => {
    const step = done(
      invoiceOrder(order('sales_order'), [line(1, { QUANTITY: '-3' })], ask({ quantities: { 1: '-1' } })),
    );
    assert.deepEqual([step.lines[0]!['QUANTITY'], step.backorder!.lines[0]!['QUANTITY']], ['-1', '-2']);
    assert.deepEqual(step.stock, [{ PART_CODE: 'P1', onHand: '1', committed: '1' }]);
  });

  test('a quantity lies within a bound on the same side of 0', () => {
    for (const [quantity, bound, inside] of [
      ['0', '3', true],
      ['3', '3', true],
      ['3.1', '3', false],
      ['-1', '3', false],
      ['-1', '-3', true],
      ['-3', '-3', true],
      ['-4', '-3', false],
      ['1', '-3', false],
      ['0', '0', true],
      ['0', '-1', true],
    ] as const)
      assert.equal(within(quantity, bound), inside, `${quantity} in ${bound}`);
  });
});

/**
 * An order whose lines have quantities in hundredths of a unit, and the percentage of each open line that each round
 * invoices.
 */
const story = fc.record({
  dropShip: fc.constantFrom('', 'Y', 'N'),
  stage: fc.constantFrom('worksheet', 'quote', 'sales_order'),
  approve: fc.boolean(),
  tax: fc.constantFrom('', '0', '7.77'),
  lines: fc.array(
    fc.record({
      part: fc.constantFrom('A', 'B', ''),
      hundredths: fc.integer({ min: -500, max: 500 }),
      carePlan: fc.constantFrom('', 'N', 'Y'),
      price: fc.constantFrom('', '0', '10', '-10', '0.333'),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  rounds: fc.array(fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 6, maxLength: 6 }), { maxLength: 5 }),
});
const write = (hundredths: number): string => String(hundredths / 100);
const count = (text: string | undefined): number => Math.round(Number(text ?? 0) * 100);

/** Plays a story until everything is invoiced. Returns the lines, the invoices, and every movement of stock. */
function play({
  dropShip,
  stage,
  approve,
  tax,
  lines: wanted,
  rounds,
}: typeof story extends fc.Arbitrary<infer S> ? S : never) {
  const lines = wanted.map(({ part, hundredths, carePlan, price }, index) =>
    line(index + 1, { PART_CODE: part, QUANTITY: write(hundredths), CARE_PLAN: carePlan, UNIT_PRICE: price }),
  );
  const begun = order(stage, { DROP_SHIP: dropShip, REFERENCE_NUMBER: '#1', TAX_TOTAL: tax, ...markTotals({}) });
  let open = { order: { ...begun, ...sumUp(begun, lines) }, lines };
  const movements: StockMovement[] = [...stockMovements([open.order, []], [open.order, lines])];
  const invoices: Values[][] = [];
  if (approve && stage !== 'sales_order') {
    const step = done(approveOrder(open.order, open.lines));
    movements.push(...step.stock);
    open = { order: step.order, lines: step.lines };
  }
  for (const shares of [...rounds, undefined]) {
    const part = (one: Values): number =>
      Math.trunc((count(one['QUANTITY']) * shares![Number(one['LINE_NUMBER']) - 1]!) / 100);
    const quantities = shares && Object.fromEntries(open.lines.map((one) => [one['LINE_NUMBER']!, write(part(one))]));
    const outcome = invoiceOrder(open.order, open.lines, ask(quantities ? { quantities } : {}));
    if (outcome instanceof Refusal) {
      assert.equal(outcome.code, 'QUANTITY_NOT_ALLOWED', outcome.message);
      assert.ok(Object.values(quantities!).every((quantity) => Number(quantity) === 0));
      continue;
    }
    assert.equal(outcome.order['ORDER_TYPE'], 'invoice');
    movements.push(...outcome.stock);
    invoices.push(outcome.lines);
    if (!outcome.backorder) return { lines, invoices, movements };
    assert.equal(outcome.backorder.order['REFERENCE_NUMBER'], '#1');
    assert.equal(outcome.backorder.order['ORDER_TYPE'], 'sales_order');
    for (const name of ['SUBTOTAL', 'TAX_TOTAL', 'ORDER_TOTAL']) {
      const totalOf = ({ order: { [name]: total = '' } }: { order: Values }): string => total;
      const sum = addDecimals(totalOf(outcome), totalOf(outcome.backorder));
      assert.equal(sum, totalOf(open) || '0', `${name} of both adds up to the one of the order`);
    }
    if (outcome.backorder.lines.some((one) => one['UNIT_PRICE']))
      assert.notEqual(outcome.backorder.order['SUBTOTAL'], '');
    // A store gives each line of a backorder a code.
    const coded = outcome.backorder.lines.map((one) => ({ ...one, LINE_REF_LOCK_CODE: `lock-${one['LINE_NUMBER']}` }));
    open = { order: outcome.backorder.order, lines: coded };
  }
  throw new Error('The last round invoices everything.');
}

test('a serial number that is given twice is found, also among thirty thousand, in a tenth of a second of CPU', () => {
  const serials = Array.from({ length: 30_000 }, (_, at) => String(at));
  const units = String(serials.length);
  const began = process.cpuUsage();
  assert.equal(refuseSerialsOf({ SERIALIZED: 'Y' }, units, serials), undefined);
  assert.ok(process.cpuUsage(began).user < 100_000);
  const refusal = refuseSerialsOf({}, units, [...serials.slice(1), '7']);
  assert.match(refusal!.message, /'7' is given twice/);
});

suite('splits', () => {
  test('units and totals over all records of a reference always add up to what was ordered', () => {
    fc.assert(
      fc.property(story, (told) => {
        const { lines, invoices } = play(told);
        for (const { LINE_NUMBER: number, QUANTITY: ordered } of lines) {
          const shares = invoices.flat().filter((one) => one['LINE_NUMBER'] === number);
          const found = shares.reduce((sum, one) => addDecimals(sum, one['QUANTITY']!), '0');
          assert.equal(found, ordered);
          for (const one of shares) assert.equal(one['NUMBER_SHIPPED'], one['QUANTITY']);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('after all units are invoiced none is committed, and exactly the shipped goods have left the stock', () => {
    fc.assert(
      fc.property(story, (told) => {
        const { movements } = play(told);
        for (const part of ['A', 'B', '']) {
          const sum = (what: 'onHand' | 'committed') =>
            movements
              .filter((one) => one.PART_CODE === part)
              .reduce((total, one) => addDecimals(total, one[what]), '0');
          const goods = told.lines.filter(
            (one) => one.part === part && part !== '' && one.carePlan !== 'Y' && told.dropShip !== 'Y',
          );
          if (goods.length === 0)
            assert.ok(
              !movements.some((one) => one.PART_CODE === part),
              'what is no goods, or is shipped by others, moves nothing at any step',
            );
          assert.equal(sum('committed'), '0');
          assert.equal(count(sum('onHand')), 0 - goods.reduce((total, { hundredths }) => total + hundredths, 0));
        }
      }),
      { numRuns: 500 },
    );
  });

  test('a split neither creates nor loses a unit: the commitment falls by the units that leave the stock', () => {
    fc.assert(
      fc.property(story, ({ lines: wanted, rounds }) => {
        const lines = wanted.map(({ part, hundredths }, index) =>
          line(index + 1, { PART_CODE: part, QUANTITY: write(hundredths) }),
        );
        const shares = rounds[0] ?? [50, 50, 50, 50, 50, 50];
        const quantities = Object.fromEntries(
          wanted.map(({ hundredths }, index) => [index + 1, write(Math.trunc((hundredths * shares[index]!) / 100))]),
        );
        const step = invoiceOrder(order('sales_order'), lines, ask({ quantities }));
        if (step instanceof Refusal) return;
        for (const { PART_CODE, onHand, committed } of step.stock) {
          assert.notEqual(PART_CODE, '');
          assert.equal(onHand, committed);
          assert.notEqual(compareDecimals(onHand, '0'), 0, 'a movement of nothing is none');
        }
        const lockCodes = [...step.lines, ...(step.backorder?.lines ?? [])]
          .map((one) => one['LINE_REF_LOCK_CODE'])
          .filter((code) => code !== '');
        assert.equal(new Set(lockCodes).size, lockCodes.length, 'no lock code names two lines');
      }),
      { numRuns: 500 },
    );
  });

  test('the reverse movement undoes a movement between two states', () => {
    fc.assert(
      fc.property(story, fc.constantFrom(...STAGES), fc.constantFrom(...STAGES), ({ lines: wanted }, from, to) => {
        const lines = wanted.map(({ part, hundredths }, index) =>
          line(index + 1, { PART_CODE: part, QUANTITY: write(hundredths), NUMBER_SHIPPED: write(hundredths) }),
        );
        const there = stockMovements([order(from), lines], [order(to), lines]);
        const back = stockMovements([order(to), lines], [order(from), lines]);
        assert.deepEqual(
          back,
          there.map((one) => ({
            ...one,
            onHand: subtractDecimals('0', one.onHand),
            committed: subtractDecimals('0', one.committed),
          })),
        );
        if (from === to) assert.deepEqual(there, []);
      }),
    );
  });
});
