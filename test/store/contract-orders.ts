/** Contract: orders with their lines; a stage, a split and the stock change together; the stock matches the orders. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { Refusal } from '../../src/errors.ts';
import { addDecimals, subtractDecimals } from '../../src/pims/rules/decimal.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import type { Written } from '../../src/pims/writes/writes.ts';
import { times } from '../kit/lists.ts';
import { NOW, type StoreUnderTest, accepted, lineOf, write, Pims } from './store-under-test.ts';

const everything = {
  quantities: new Map<string, string>(),
  serials: new Map<string, string[]>(),
  tracking: [] as string[],
};
/** Invoices units by line number. Returns the number of the backorder, or null. */
async function invoice(
  pims: Pims,
  order: string,
  quantities: Record<string, string> = {},
  serials: Record<string, string[]> = {},
): Promise<string | null> {
  const request = {
    ...everything,
    quantities: new Map(Object.entries(quantities)),
    serials: new Map(Object.entries(serials)),
  };
  return backorderOf(accepted(await pims.advanceOrder(order, { invoice: request })));
}
const backorderOf = ({ data }: Written): string | null =>
  (JSON.parse(data) as { BACKORDER_NUMBER: string }).BACKORDER_NUMBER || null;

const stockOf = async (pims: Pims, part: string): Promise<string> => {
  const { QTY_ONHAND, QTY_COMMITTED, QTY_AVAILABLE } = (await pims.readRecord('inventory', part))!;
  return `${QTY_ONHAND} on hand, ${QTY_COMMITTED} committed, ${QTY_AVAILABLE} available`;
};

export function describeOrders(store: StoreUnderTest): void {
  test('a line that is sent unchanged, at the time of its last change, stays unchanged', async () => {
    const { pims } = await store.newTenant();
    const order = await pims.createOrder();
    const line = await pims.newLine(order, { QUANTITY: '2' });
    const { data } = accepted(await pims.updateLine(order, line['LINE_REF_LOCK_CODE']!, { QUANTITY: '2' }));
    assert.deepEqual(JSON.parse(data), line);
    assert.deepEqual((await pims.readOrder(order)).lines, [line]);
  });

  test('equal records with one number in two tenants have different tags', async () => {
    const made = await Promise.all(
      times(3, async () => {
        const { pims } = await store.newTenant();
        const [order, customer] = [await pims.createOrder(), await pims.createCustomer()];
        await pims.importAll('inventory', [{ PART_CODE: 'A' }]);
        const records = [await pims.port.getRecord('customers', customer), await pims.port.getRecord('inventory', 'A')];
        return [accepted(await pims.port.getOrder(order)), ...records].map((found) => found!.tag);
      }),
    );
    assert.equal(new Set(made.flat()).size, 9);
  });

  test('a record is read back with every field of its dictionary, as it was written', async () => {
    const { pims } = await store.newTenant();
    const { orders } = await pims.port.dictionaries();
    const values = {
      REFERENCE_NUMBER: '#1001',
      NOTES: 'line\n"quoted" \\ \u0001 é 😀 \u2028 <&>',
      BNAME: ' spaces ',
      ORDER_TOTAL: '12.5',
    };
    const number = await pims.createOrder(values);
    const { order, lines } = await pims.readOrder(number);
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
    assert.equal(accepted(await pims.port.getOrder(number))!.lines, null);
  });

  test('500 lines are read back in the order in which they were added, also after one was changed', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('orders', [{ ORDER_NUMBER: '1', REFERENCE_NUMBER: '#1' }]);
    await pims.importAll(
      'lines',
      times(497, (index) => ({ ORDER_NUMBER: '1', DESCRIPTION: `line ${index + 1}`, QUANTITY: '1' })),
    );
    for (let index = 498; index <= 500; index++)
      await pims.newLine('1', { DESCRIPTION: `line ${index}`, QUANTITY: '1' });
    const expected = times(500, (index) => `${index + 1} line ${index + 1}`);
    const show = (lines: readonly Values[]): string[] =>
      lines.map((line) => `${line['LINE_NUMBER']} ${line['DESCRIPTION']}`);
    const { lines } = await pims.readOrder('1');
    assert.deepEqual(show(lines), expected);
    accepted(await pims.updateLine('1', lines[99]!['LINE_REF_LOCK_CODE']!, { DESCRIPTION: 'changed' }));
    expected[99] = '100 changed';
    assert.deepEqual(show((await pims.readOrder('1')).lines), expected);
    const [found] = await pims.viewOrders('#1');
    const seen = found!.items.map(({ description }, index) => `${index + 1} ${description}`);
    assert.deepEqual(seen, expected);
    assert.deepEqual(show(await pims.readAll('lines')), expected);
  });

  test('all orders of a storefront number are found, for any number of them', async () => {
    const { pims } = await store.newTenant();
    for (let count = 1; count <= 12; count++) {
      await pims.createOrder({ REFERENCE_NUMBER: '#1' });
      assert.equal((await pims.viewOrders('#1')).length, count);
    }
  });

  test('a lock code cannot be guessed, never changes, and is in every result with the line', async () => {
    const { pims } = await store.newTenant();
    const order = await pims.createOrder({ REFERENCE_NUMBER: '#1' });
    const added = await Promise.all(times(20, () => pims.newLine(order, { QUANTITY: '2' })));
    const codes = added.map((line) => line['LINE_REF_LOCK_CODE']!);
    assert.equal(new Set(codes).size, 20);
    for (const code of codes) assert.match(code, /^[A-Za-z0-9_-]{22,}$/, 'at least 128 bits, fit for a URL');
    for (const code of codes.slice(0, 5))
      assert.equal(lineOf(await pims.updateLine(order, code, { QUANTITY: '3' }))['LINE_REF_LOCK_CODE'], code);
    const wherever = [(await pims.readOrder(order)).lines, await pims.readAll('lines')];
    for (const lines of wherever)
      assert.deepEqual(new Set(lines.map((line) => line['LINE_REF_LOCK_CODE'])), new Set(codes));
  });

  test('a returned line equals the line that a reader finds', async () => {
    const { pims } = await store.newTenant();
    const order = await pims.createOrder();
    const { lines: dictionary } = await pims.port.dictionaries();
    const added = await pims.newLine(order, { PART_CODE: 'MB/14', QUANTITY: '2', UNIT_PRICE: '9.95' });
    assert.deepEqual(Object.keys(added), [...dictionary.keys()]);
    assert.equal(added['NUMBER_SHIPPED'], '0');
    assert.deepEqual((await pims.readOrder(order)).lines, [added]);
    const changed = lineOf(
      await pims.updateLine(
        order,
        added['LINE_REF_LOCK_CODE']!,
        { QUANTITY: '5', NUMBER_SHIPPED: '1' },
        write({ now: '2027-01-01T00:00:00.000Z' }),
      ),
    );
    assert.deepEqual((await pims.readOrder(order)).lines, [changed]);
    assert.deepEqual(changed, {
      ...added,
      QUANTITY: '5',
      NUMBER_SHIPPED: '1',
      MODIFIED_DATE: '2027-01-01T00:00:00.000Z',
    });
    assert.equal((await pims.readOrder(order)).order['MODIFIED_DATE'], '2027-01-01T00:00:00.000Z');
  });

  test('stock follows the stages of an order, step by step', async () => {
    const { pims } = await store.newTenant();
    await pims.importAll('inventory', [{ PART_CODE: 'P', QTY_ONHAND: '10' }]);
    const order = await pims.createOrder({ REFERENCE_NUMBER: '#1' });
    const { LINE_REF_LOCK_CODE: lock = '' } = await pims.newLine(order, { PART_CODE: 'P', QUANTITY: '12' });
    assert.equal(await stockOf(pims, 'P'), '10 on hand, 0 committed, 10 available');
    accepted(await pims.advanceOrder(order, { approve: true }));
    assert.equal(await stockOf(pims, 'P'), '10 on hand, 12 committed, -2 available');
    accepted(await pims.updateLine(order, lock, { QUANTITY: '8' }));
    assert.equal(await stockOf(pims, 'P'), '10 on hand, 8 committed, 2 available');
    const backorder = await invoice(pims, order, { '1': '5' }, { '1': ['S1', 'S2'] });
    assert.equal(await stockOf(pims, 'P'), '5 on hand, 3 committed, 2 available');
    assert.equal(await invoice(pims, backorder!), null);
    assert.equal(await stockOf(pims, 'P'), '2 on hand, 0 committed, 2 available');
    const records = await pims.viewOrders('#1');
    const show = records.map(({ order_type: type, items }) =>
      [type, ...items.map((item) => `${item.quantity}/${item.shipped} ${item.serial_numbers.join(',')}`)].join(' '),
    );
    assert.deepEqual(show.toSorted(), ['invoice 3/3 ', 'invoice 5/5 S1,S2']);
  });

  test('after orders are created, changed, approved and invoiced in any order, stock agrees with them', async () => {
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
    await pims.importAll('inventory', [{ PART_CODE: 'A', QTY_ONHAND: '100' }, { PART_CODE: 'B' }]);
    const orders: string[] = [];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
        for (const { kind, which, part, quantity, stage, dropShip, carePlan } of steps) {
          const order = orders[orders.length - 1 - (which % Math.max(1, orders.length))];
          if (kind === 'create' || order === undefined)
            orders.push(await pims.createOrder({ ORDER_TYPE: stage, DROP_SHIP: dropShip }));
          else if (kind === 'line')
            await pims.addLine(order, { PART_CODE: part, QUANTITY: quantity, CARE_PLAN: carePlan });
          else if (kind === 'approve') await pims.advanceOrder(order, { approve: true });
          else {
            const { lines } = await pims.readOrder(order);
            const line = lines[which % Math.max(1, lines.length)];
            if (!line) continue;
            const { LINE_NUMBER: number = '', LINE_REF_LOCK_CODE: lock = '', QUANTITY: ordered = '' } = line;
            const units = which % 3 === 0 ? ordered : quantity;
            if (kind === 'change')
              await pims.updateLine(order, lock, { PART_CODE: part, QUANTITY: quantity, CARE_PLAN: carePlan });
            else {
              const quantities = new Map(which % 4 === 0 ? [] : [[number, units]]);
              const invoiced = await pims.advanceOrder(order, { invoice: { ...everything, quantities } });
              const backorder = invoiced instanceof Refusal ? null : backorderOf(invoiced);
              if (backorder !== null) orders.push(backorder);
            }
          }
        }
        const ordersByNumber = new Map((await pims.readAll('orders')).map((order) => [order['ORDER_NUMBER'], order]));
        const onHand: Record<string, string> = { A: '100', B: '0' };
        const committed: Record<string, string> = { A: '0', B: '0' };
        for (const line of await pims.readAll('lines')) {
          const { ORDER_NUMBER, PART_CODE = '', QUANTITY = '', NUMBER_SHIPPED = '', CARE_PLAN } = line;
          const { ORDER_TYPE, DROP_SHIP } = ordersByNumber.get(ORDER_NUMBER)!;
          if (DROP_SHIP === 'Y' || CARE_PLAN === 'Y' || onHand[PART_CODE] === undefined) continue;
          if (ORDER_TYPE === 'sales_order') committed[PART_CODE] = addDecimals(committed[PART_CODE]!, QUANTITY);
          if (ORDER_TYPE === 'invoice') onHand[PART_CODE] = subtractDecimals(onHand[PART_CODE], NUMBER_SHIPPED);
        }
        for (const part of ['A', 'B']) {
          const available = subtractDecimals(onHand[part]!, committed[part]!);
          const expected = `${onHand[part]} on hand, ${committed[part]} committed, ${available} available`;
          assert.equal(await stockOf(pims, part), expected);
        }
      }),
      { numRuns: 25 },
    );
    const stages = new Set((await pims.readAll('orders')).map((order) => order['ORDER_TYPE']));
    assert.equal(stages.size, 4, 'the run has seen every stage');
  });
}
