/**
 * Contract: orders with their lines, in order and with their lock codes; stages, splits and stock in one step with
 * them. Whatever is done to orders, the stock is what the orders say: QTY_COMMITTED what sales orders hold, QTY_ONHAND
 * what invoices have left.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal } from '../../src/errors.ts';
import { addDecimals, subtractDecimals } from '../../src/pims/decimal.ts';
import type { Values } from '../../src/pims/values.ts';
import type { PimsStore } from '../../src/pims/port.ts';
import {
  NOW,
  type StoreUnderTest,
  accepted,
  addLine,
  advanceOrder,
  createOrder,
  importAll,
  lineOf,
  newLine,
  readAll,
  readOrder,
  readRecord,
  updateLine,
  write,
} from './store-under-test.ts';

const everything = {
  quantities: new Map<string, string>(),
  serials: new Map<string, string[]>(),
  tracking: [] as string[],
};
/** Invoices units by line number; gives the number of the order with what is still open. */
async function invoice(
  pims: PimsStore,
  order: string,
  quantities: Record<string, string> = {},
  serials: Record<string, string[]> = {},
): Promise<string | null> {
  const request = {
    ...everything,
    quantities: new Map(Object.entries(quantities)),
    serials: new Map(Object.entries(serials)),
  };
  return (
    JSON.parse(accepted(await advanceOrder(pims, order, { invoice: request }, write())).data) as {
      backorder: string | null;
    }
  ).backorder;
}

const stockOf = async (pims: PimsStore, part: string): Promise<string> => {
  const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = (await readRecord(pims, 'inventory', part))!;
  return `${QTY_ONHAND} on hand, ${QTY_COMMITTED} committed, ${QTY_AVAILABLE} available`;
};

export function describeOrders(store: StoreUnderTest): void {
  test('a record comes back with every field of its dictionary, as it was written', async () => {
    const { pims } = await store.newTenant();
    const { orders } = await pims.dictionaries();
    const values = {
      REFERENCE_NUMBER: '#1001',
      NOTES: 'line\n"quoted" \\ \u0001 é 😀 \u2028 <&>',
      BNAME: ' spaces ',
      ORDER_TOTAL: '12.5',
    };
    const number = await createOrder(pims, values);
    const { order, lines } = await readOrder(pims, number);
    assert.deepEqual(Object.keys(order), [...orders.keys()]);
    const empty = Object.fromEntries([...orders.keys()].map((name) => [name, '']));
    assert.deepEqual(order, {
      ...empty,
      ...values,
      ORDER_NUMBER: number,
      ORDER_TYPE: 'worksheet',
      CREATE_DATE: NOW,
      MODIFIED_DATE: NOW,
    });
    assert.deepEqual(lines, []);
    assert.equal((await pims.getOrder(number))!.lines, null);
  });

  test('500 lines come back in the order they were added, also after one was changed', async () => {
    const { pims } = await store.newTenant();
    await importAll(pims, 'orders', [{ ORDER_NUMBER: '1', REFERENCE_NUMBER: '#1' }]);
    await importAll(
      pims,
      'lines',
      Array.from({ length: 497 }, (_, index) => ({
        ORDER_NUMBER: '1',
        DESCRIPTION: `line ${index + 1}`,
        QUANTITY: '1',
      })),
    );
    for (let index = 498; index <= 500; index++)
      await newLine(pims, '1', { DESCRIPTION: `line ${index}`, QUANTITY: '1' });
    const expected = Array.from({ length: 500 }, (_, index) => `${index + 1} line ${index + 1}`);
    const show = (lines: readonly Values[]): string[] =>
      lines.map((line) => `${line['LINE_NUMBER']} ${line['DESCRIPTION']}`);
    const { lines } = await readOrder(pims, '1');
    assert.deepEqual(show(lines), expected);
    accepted(await updateLine(pims, '1', lines[99]!['LINE_REF_LOCK_CODE']!, { DESCRIPTION: 'changed' }, write()));
    expected[99] = '100 changed';
    assert.deepEqual(show((await readOrder(pims, '1')).lines), expected);
    const [found] = await pims.findOrders('#1');
    assert.deepEqual(show(found!.lines), expected);
    assert.deepEqual(show(await readAll(pims, 'lines')), expected);
  });

  test('lines added at once have numbers of their own', async () => {
    const { pims } = await store.newTenant();
    const order = await createOrder(pims);
    const lines = await Promise.all(Array.from({ length: 50 }, () => newLine(pims, order, { QUANTITY: '1' })));
    assert.deepEqual(
      lines.map((line) => Number(line['LINE_NUMBER'])).toSorted((a, b) => a - b),
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
  });

  test('a lock code cannot be guessed, stays for the life of its line, and comes back wherever the line is', async () => {
    const { pims } = await store.newTenant();
    const order = await createOrder(pims, { REFERENCE_NUMBER: '#1' });
    const added = await Promise.all(Array.from({ length: 20 }, () => newLine(pims, order, { QUANTITY: '2' })));
    const codes = added.map((line) => line['LINE_REF_LOCK_CODE']!);
    assert.equal(new Set(codes).size, 20);
    for (const code of codes) assert.match(code, /^[A-Za-z0-9_-]{22,}$/, 'at least 128 bits, fit for a URL');
    for (const code of codes.slice(0, 5))
      assert.equal(lineOf(await updateLine(pims, order, code, { QUANTITY: '3' }, write()))['LINE_REF_LOCK_CODE'], code);
    const wherever = [
      (await readOrder(pims, order)).lines,
      (await pims.findOrders('#1'))[0]!.lines,
      await readAll(pims, 'lines'),
    ];
    for (const lines of wherever)
      assert.deepEqual(new Set(lines.map((line) => line['LINE_REF_LOCK_CODE'])), new Set(codes));
  });

  test('an answered line is the line a reader finds', async () => {
    const { pims } = await store.newTenant();
    const order = await createOrder(pims);
    const { lines: dictionary } = await pims.dictionaries();
    const added = await newLine(pims, order, { PART_CODE: 'MB/14', QUANTITY: '2', UNIT_PRICE: '9.95' });
    assert.deepEqual(Object.keys(added), [...dictionary.keys()]);
    assert.equal(added['NUMBER_SHIPPED'], '0');
    assert.deepEqual((await readOrder(pims, order)).lines, [added]);
    const changed = lineOf(
      await updateLine(
        pims,
        order,
        added['LINE_REF_LOCK_CODE']!,
        { QUANTITY: '5', NUMBER_SHIPPED: '1' },
        write({ now: '2027-01-01T00:00:00.000Z' }),
      ),
    );
    assert.deepEqual((await readOrder(pims, order)).lines, [changed]);
    assert.deepEqual(changed, {
      ...added,
      QUANTITY: '5',
      NUMBER_SHIPPED: '1',
      MODIFIED_DATE: '2027-01-01T00:00:00.000Z',
    });
    assert.equal((await readOrder(pims, order)).order['MODIFIED_DATE'], '2027-01-01T00:00:00.000Z');
  });

  test('a known part fills the description and the care-plan flag of its lines', async () => {
    const { pims } = await store.newTenant();
    await importAll(pims, 'inventory', [{ PART_CODE: 'CP+1', PART_DESCRIPTION: 'Care plan', CARE_PLAN: 'Y' }]);
    const order = await createOrder(pims);
    const line = await newLine(pims, order, { PART_CODE: 'CP+1' });
    assert.equal(`${line['DESCRIPTION']} ${line['CARE_PLAN']}`, 'Care plan Y');
  });

  test('stock follows the life of an order, step by step', async () => {
    const { pims } = await store.newTenant();
    await importAll(pims, 'inventory', [{ PART_CODE: 'P', QTY_ONHAND: '10' }]);
    const order = await createOrder(pims, { REFERENCE_NUMBER: '#1' });
    const { LINE_REF_LOCK_CODE: lock = '' } = await newLine(pims, order, { PART_CODE: 'P', QUANTITY: '12' });
    assert.equal(await stockOf(pims, 'P'), '10 on hand, 0 committed, 10 available');
    accepted(await advanceOrder(pims, order, { approve: true }, write()));
    assert.equal(await stockOf(pims, 'P'), '10 on hand, 12 committed, -2 available');
    accepted(await updateLine(pims, order, lock, { QUANTITY: '8' }, write()));
    assert.equal(await stockOf(pims, 'P'), '10 on hand, 8 committed, 2 available');
    const backorder = await invoice(pims, order, { '1': '5' }, { '1': ['S1', 'S2'] });
    assert.equal(await stockOf(pims, 'P'), '5 on hand, 3 committed, 2 available');
    assert.equal(await invoice(pims, backorder!), null);
    assert.equal(await stockOf(pims, 'P'), '2 on hand, 0 committed, 2 available');
    const records = await pims.findOrders('#1');
    const show = records.map(({ order: one, lines }) =>
      [
        one['ORDER_TYPE'],
        ...lines.map((line) => `${line['QUANTITY']}/${line['NUMBER_SHIPPED']} ${line['SERIAL_NUMBERS']}`),
      ].join(' '),
    );
    assert.deepEqual(show.toSorted(), ['invoice 3/3 ', 'invoice 5/5 S1,S2']);
  });

  test('whatever is done to orders, stock is what they say, and no unit is lost', async () => {
    const step = fc.record({
      kind: fc.constantFrom('create', 'create', 'line', 'line', 'line', 'change', 'approve', 'invoice', 'invoice'),
      which: fc.nat(20),
      part: fc.constantFrom('A', 'B', 'unknown', ''),
      quantity: fc.integer({ min: -20, max: 400 }).map((tenths) => String(tenths / 10)),
      stage: fc.constantFrom('worksheet', 'quote', 'sales_order'),
      dropShip: fc.constantFrom('', '', 'N', 'Y'),
      carePlan: fc.constantFrom('', '', 'N', 'Y'),
    });
    const { pims } = await store.newTenant();
    await importAll(pims, 'inventory', [{ PART_CODE: 'A', QTY_ONHAND: '100' }, { PART_CODE: 'B' }]);
    const orders: string[] = [];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
        for (const { kind, which, part, quantity, stage, dropShip, carePlan } of steps) {
          const order = orders[orders.length - 1 - (which % Math.max(1, orders.length))];
          if (kind === 'create' || order === undefined)
            orders.push(await createOrder(pims, { ORDER_TYPE: stage, DROP_SHIP: dropShip }));
          else if (kind === 'line')
            await addLine(pims, order, { PART_CODE: part, QUANTITY: quantity, CARE_PLAN: carePlan }, write());
          else if (kind === 'approve') await advanceOrder(pims, order, { approve: true }, write());
          else {
            const { lines } = await readOrder(pims, order);
            const line = lines[which % Math.max(1, lines.length)];
            if (!line) continue;
            const { LINE_NUMBER: number = '', LINE_REF_LOCK_CODE: lock = '', QUANTITY: ordered = '' } = line;
            const units = which % 3 === 0 ? ordered : quantity;
            if (kind === 'change')
              await updateLine(
                pims,
                order,
                lock,
                { PART_CODE: part, QUANTITY: quantity, CARE_PLAN: carePlan },
                write(),
              );
            else {
              const quantities = new Map(which % 4 === 0 ? [] : [[number, units]]);
              const invoiced = await advanceOrder(pims, order, { invoice: { ...everything, quantities } }, write());
              const { backorder } =
                invoiced instanceof Refusal
                  ? { backorder: null }
                  : (JSON.parse(invoiced.data) as { backorder: string | null });
              if (backorder !== null) orders.push(backorder);
            }
          }
        }
        const byNumber = new Map((await readAll(pims, 'orders')).map((order) => [order['ORDER_NUMBER'], order]));
        const onHand: Record<string, string> = { A: '100', B: '0' };
        const committed: Record<string, string> = { A: '0', B: '0' };
        for (const { ORDER_NUMBER, PART_CODE = '', QUANTITY = '', NUMBER_SHIPPED = '', CARE_PLAN } of await readAll(
          pims,
          'lines',
        )) {
          const { ORDER_TYPE, DROP_SHIP } = byNumber.get(ORDER_NUMBER)!;
          if (DROP_SHIP === 'Y' || CARE_PLAN === 'Y' || onHand[PART_CODE] === undefined) continue;
          if (ORDER_TYPE === 'sales_order') committed[PART_CODE] = addDecimals(committed[PART_CODE]!, QUANTITY);
          if (ORDER_TYPE === 'invoice') onHand[PART_CODE] = subtractDecimals(onHand[PART_CODE], NUMBER_SHIPPED);
        }
        for (const part of ['A', 'B'])
          assert.equal(
            await stockOf(pims, part),
            `${onHand[part]} on hand, ${committed[part]} committed, ${subtractDecimals(onHand[part]!, committed[part]!)} available`,
          );
      }),
      { numRuns: 25 },
    );
    const stages = new Set((await readAll(pims, 'orders')).map((order) => order['ORDER_TYPE']));
    assert.equal(stages.size, 4, 'the run has seen every stage');
  });
}
