/** Clients change, cancel and fill the same orders at once. The committed stock is what open sales orders hold. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDecimals, subtractDecimals } from '../../src/pims/rules/decimal.ts';
import { times } from '../kit/lists.ts';
import { Shop, succeed, type Values } from '../kit/records.ts';
import { trials } from '../kit/trials.ts';
import type { Answer } from '../kit/service.ts';

const CLIENTS = 64;
const CALLS = trials('RACES', { quick: 5, all: 50 });
const ORDERS = 6;
const PARTS = ['A', 'B', 'C'];

const shop = await Shop.shared();
await shop.load(
  'inventory',
  PARTS.map((PART_CODE) => ({ PART_CODE, QTY_ONHAND: '1000' })),
);

/** Returns the sum of the lines of open sales orders for each part. */
async function sumOpen(numbers: readonly string[]): Promise<Record<string, string>> {
  const sums: Record<string, string> = Object.fromEntries(PARTS.map((part) => [part, '0']));
  for (const number of numbers) {
    const order = await shop.order(number);
    if (order['ORDER_STATUS'] === 'CANCELLED' || order['DROP_SHIP'] === 'Y') continue;
    for (const { PART_CODE, QUANTITY } of await shop.lines(number))
      sums[PART_CODE!] = addDecimals(sums[PART_CODE!]!, QUANTITY!);
  }
  return sums;
}

test(`${CLIENTS} clients change, cancel and fill the same orders: committed is what the open ones hold`, async () => {
  const numbers = await Promise.all(times(ORDERS, () => shop.newOrder({ ORDER_TYPE: 'sales_order' })));
  const lines: { ORDER_NUMBER: string; LINE_REF_LOCK_CODE: string }[] = [];
  const outcomes = new Map<string, number>();
  const act = async (client: number, turn: number): Promise<void> => {
    const ORDER_NUMBER = numbers[(client + turn) % ORDERS]!;
    const PART_CODE = PARTS[(client * 7 + turn) % PARTS.length];
    const QUANTITY = String(((client + turn * 3) % 5) + 0.5);
    const line = lines[(client * 31 + turn) % Math.max(lines.length, 1)];
    const kind = (client * 5 + turn) % 8;
    let answer: Answer;
    // The first orders are cancelled while others still write to them; the rest stay open.
    if (turn > CALLS / 2 && client < ORDERS / 2) answer = await shop.cancelOrder({ ORDER_NUMBER: numbers[client] });
    else if (kind < 2)
      answer = await shop.updateOrder({ ORDER_NUMBER, DROP_SHIP: kind === 0 ? 'Y' : 'N', NOTES: `${client}` });
    else if (kind < 5 || !line) answer = await shop.addLineItem({ ORDER_NUMBER, PART_CODE, QUANTITY });
    else answer = await shop.updateLineItem({ ...line, PART_CODE, QUANTITY });
    const { status, body } = answer;
    const { ORDER_NUMBER: of, LINE_REF_LOCK_CODE } = (body.data ?? {}) as Partial<(typeof lines)[0]>;
    if (of !== undefined && LINE_REF_LOCK_CODE !== undefined) lines.push({ ORDER_NUMBER: of, LINE_REF_LOCK_CODE });
    const outcome = status === 200 ? 'done' : `${status} ${body.code}`;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  };
  await Promise.all(
    times(CLIENTS, async (client) => {
      for (let turn = 0; turn < CALLS; turn++) await act(client, turn);
    }),
  );
  for (const number of numbers.slice(0, ORDERS / 2)) await succeed(shop.cancelOrder({ ORDER_NUMBER: number }));
  await succeed(shop.updateOrder({ ORDER_NUMBER: numbers.at(-1), DROP_SHIP: 'N' }));
  assert.deepEqual([...outcomes.keys()].toSorted(), ['400 ORDER_CLOSED', 'done']);
  const open = await sumOpen(numbers);
  assert.ok(
    Object.values(open).some((sum) => sum !== '0'),
    JSON.stringify([...outcomes]),
  );
  for (const part of PARTS) {
    const { QTY_COMMITTED, QTY_AVAILABLE }: Values = await succeed(shop.getInventoryItem(part));
    assert.deepEqual([QTY_COMMITTED, QTY_AVAILABLE], [open[part], subtractDecimals('1000', open[part]!)], part);
  }
});
