/**
 * Checks the records of a tenant against the rules: lines and their orders, totals, the stock that orders hold, numbers,
 * kept answers. Reads orders with their lines one after the other, so memory grows with the parts alone.
 */
import { addDecimals, compareDecimals, subtractDecimals } from '../../pims/rules/decimal.ts';
import { stockMovements } from '../../pims/rules/stock.ts';
import { CANCELLED_MARK, STAGES } from '../../pims/rules/stages.ts';
import { areTotalsBehind, sumUp, TOTALS_FIELDS } from '../../pims/rules/totals.ts';
import { sortKey, type Values } from '../../pims/rules/values.ts';
import { isCounted } from '../../pims/writes/writes.ts';
import type { Row } from '../writing.ts';
import { RESTORE, type Findings } from './findings.ts';
import type { CheckedDatabase } from './port.ts';

export interface RecordCounts {
  orders: number;
  lines: number;
}

const ORDER = ['SORT_KEY', 'ORDER_NUMBER', 'ORDER_TYPE', 'DROP_SHIP', CANCELLED_MARK, ...TOTALS_FIELDS];
const LINE = ['PART_CODE', 'QUANTITY', 'NUMBER_SHIPPED', 'UNIT_PRICE', 'DISCOUNT', 'CARE_PLAN', 'LINE_REF_LOCK_CODE'];
const STOCK = ['PART_CODE', 'SORT_KEY', 'QTY_ONHAND', 'QTY_COMMITTED', 'QTY_AVAILABLE'];
const BY_HAND = `Correct the record in the database, or: ${RESTORE}`;

const namesOf = (alias: string, names: readonly string[]): string =>
  names.map((name) => `${alias}."${name}"`).join(', ');
const valuesOf = (names: readonly string[], row: Row, from = 0): Values =>
  Object.fromEntries(names.map((name, index) => [name, row[from + index] as string]));

export async function checkTenant(
  db: CheckedDatabase,
  teamId: string,
  counts: RecordCounts,
  findings: Findings,
): Promise<void> {
  const committed = await checkOrders(db, teamId, counts, findings);
  await checkStock(db, teamId, committed, findings);
  await checkNumbers(db, teamId, findings);
  await checkAnswers(db, teamId, findings);
}

/** Answers what the orders commit of each part. */
async function checkOrders(
  { schema, each }: CheckedDatabase,
  teamId: string,
  counts: RecordCounts,
  findings: Findings,
): Promise<Map<string, string>> {
  const committed = new Map<string, string>();
  let order: Values | undefined;
  let lines: Values[] = [];
  const finish = (): void => {
    if (!order) return;
    counts.orders++;
    counts.lines += lines.length;
    for (const { PART_CODE, committed: units } of stockMovements([{}, []], [order, lines]))
      committed.set(PART_CODE, addDecimals(committed.get(PART_CODE) ?? '0', units));
    for (const fault of faultsOfOrder(order, lines))
      findings.add(`order ${order['ORDER_NUMBER']} of ${teamId}`, fault, BY_HAND);
  };
  await each(
    `SELECT ${namesOf('o', ORDER)}, l."LINE_NUMBER", ${namesOf('l', LINE)} FROM ${schema}"ORDERS" o
      LEFT JOIN ${schema}"ORDER_LINEITEMS" l ON l."ORDER_NUMBER" = o."ORDER_NUMBER"
      ORDER BY o."SORT_KEY", l."LINE_NUMBER"`,
    (row) => {
      if (row[0] !== order?.['SORT_KEY']) {
        finish();
        order = valuesOf(ORDER, row);
        lines = [];
      }
      if (row[ORDER.length] !== null) lines.push(valuesOf(LINE, row, ORDER.length + 1));
    },
  );
  finish();
  await each<[string, number]>(
    `SELECT l."ORDER_NUMBER", count(*) FROM ${schema}"ORDER_LINEITEMS" l
      LEFT JOIN ${schema}"ORDERS" o ON o."ORDER_NUMBER" = l."ORDER_NUMBER"
      WHERE o."ORDER_NUMBER" IS NULL GROUP BY l."ORDER_NUMBER"`,
    ([number, count]) => findings.add(`order ${number} of ${teamId}`, `it is missing, and ${count} lines are there`),
  );
  return committed;
}

function* faultsOfOrder(order: Values, lines: readonly Values[]): Generator<string> {
  if (order['SORT_KEY'] !== sortKey(order['ORDER_NUMBER']!)) yield 'it is not found under its number';
  if (!(STAGES as readonly string[]).includes(order['ORDER_TYPE']!)) yield `it has the stage '${order['ORDER_TYPE']}'`;
  const codes = lines.map((line) => line['LINE_REF_LOCK_CODE']);
  if (new Set(codes).size < codes.length) yield 'two lines have one lock code';
  if (areTotalsBehind(order)) return;
  const sums = sumUp(order, lines);
  for (const name of ['SUBTOTAL', 'ORDER_TOTAL']) {
    const [kept, sum] = [order[name]!, sums[name]];
    // ORDER_TOTAL is empty until the first line with a price.
    if (sum === undefined || (name === 'ORDER_TOTAL' && kept === '')) continue;
    if (compareDecimals(kept, sum) !== 0) yield `${name} is ${kept || 'empty'}, and its lines make ${sum}`;
  }
}

async function checkStock(
  { schema, each }: CheckedDatabase,
  teamId: string,
  committed: ReadonlyMap<string, string>,
  findings: Findings,
): Promise<void> {
  await each(`SELECT ${namesOf('p', STOCK)} FROM ${schema}"INVENTORY" p`, (row) => {
    const part = valuesOf(STOCK, row);
    const { PART_CODE = '', QTY_ONHAND = '', QTY_COMMITTED = '', QTY_AVAILABLE = '' } = part;
    const place = `part ${PART_CODE} of ${teamId}`;
    const held = committed.get(PART_CODE) ?? '0';
    if (part['SORT_KEY'] !== sortKey(PART_CODE)) findings.add(place, 'it is not found under its code', BY_HAND);
    if (compareDecimals(QTY_COMMITTED, held) !== 0)
      findings.add(place, `QTY_COMMITTED is ${QTY_COMMITTED || '0'}, and open sales orders hold ${held}`, BY_HAND);
    const available = subtractDecimals(QTY_ONHAND, QTY_COMMITTED);
    if (compareDecimals(QTY_AVAILABLE, available) !== 0)
      findings.add(place, `QTY_AVAILABLE is ${QTY_AVAILABLE || '0'}, and on hand less committed ${available}`, BY_HAND);
  });
}

/** The next number lies beyond every number that was given out, so that none is given out twice. */
async function checkNumbers(
  { schema, read, each }: CheckedDatabase,
  teamId: string,
  findings: Findings,
): Promise<void> {
  const next = new Map(await read<[string, number]>(`SELECT "NAME", "NEXT" FROM ${schema}"COUNTERS"`));
  for (const [name, table, column] of [
    ['orders', 'ORDERS', 'ORDER_NUMBER'],
    ['customers', 'CUSTOMER', 'CUSTOMER_CODE'],
  ] as const) {
    let highest = 0;
    await each<[string]>(`SELECT "${column}" FROM ${schema}"${table}"`, ([number]) => {
      if (isCounted(number)) highest = Math.max(highest, Number(number));
    });
    const following = next.get(name) ?? 0;
    const remedy = `Set NEXT of ${name} in COUNTERS to ${highest + 1}, with the service stopped.`;
    if (following <= highest)
      findings.add(`numbers of ${teamId}`, `the next of ${name} is ${following}, and ${highest} is taken`, remedy);
  }
}

/** What an Idempotency-Key was answered is there. */
async function checkAnswers({ schema, each }: CheckedDatabase, teamId: string, findings: Findings): Promise<void> {
  const place = `kept answers of ${teamId}`;
  await each<[string, string, string]>(
    `SELECT "OPERATION", "IDEMPOTENCY_KEY", "ANSWER" FROM ${schema}"IDEMPOTENCY"`,
    ([operation, key, answer]) => {
      if (!isJson(answer)) findings.add(place, `that of ${operation} under ${JSON.stringify(key)} is no JSON`);
    },
  );
  for (const [operation, table, column] of [
    ['createOrder', 'ORDERS', 'ORDER_NUMBER'],
    ['createCustomer', 'CUSTOMER', 'CUSTOMER_CODE'],
  ])
    await each<[string]>(
      `SELECT i."ANSWER" FROM ${schema}"IDEMPOTENCY" i
        LEFT JOIN ${schema}"${table}" r ON r."${column}" = trim(i."ANSWER", '"')
        WHERE i."OPERATION" = '${operation}' AND r."${column}" IS NULL`,
      ([answer]) => findings.add(place, `${operation} was answered ${answer}, which is not there`),
    );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
