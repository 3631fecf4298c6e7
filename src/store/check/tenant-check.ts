/**
 * Checks the records of a tenant against the rules: lines and their orders, totals, the stock that orders hold,
 * numbers, kept responses. Reads one order with its lines at a time, so memory grows only with the number of parts.
 */
import { addDecimals, compareDecimals, subtractDecimals } from '../../pims/rules/decimal.ts';
import { stockMovements } from '../../pims/rules/stock.ts';
import { CANCELLED_MARK, STAGES } from '../../pims/rules/stages.ts';
import { sumUp, TOTALS_FIELDS } from '../../pims/rules/totals.ts';
import { sortKey, sortKeyOfLine, type Values } from '../../pims/rules/values.ts';
import { isCounted } from '../../pims/writes/writes.ts';
import { toRecord } from '../control/control.ts';
import { RESTORE, type CheckedDatabase, type Findings } from './checked-store.ts';

export interface RecordCounts {
  orders: number;
  lines: number;
}

const ORDER = ['SORT_KEY', 'ORDER_NUMBER', 'ORDER_TYPE', 'DROP_SHIP', CANCELLED_MARK, ...TOTALS_FIELDS];
const LINE = ['PART_CODE', 'QUANTITY', 'NUMBER_SHIPPED', 'UNIT_PRICE', 'DISCOUNT', 'CARE_PLAN', 'LINE_REF_LOCK_CODE'];
const STOCK = ['PART_CODE', 'SORT_KEY', 'QTY_ONHAND', 'QTY_COMMITTED', 'QTY_AVAILABLE', 'SERIALIZED'];
/** The records that PIMS numbers. */
const NUMBERED = [
  { name: 'orders', operation: 'createOrder', table: 'ORDERS', column: 'ORDER_NUMBER' },
  { name: 'customers', operation: 'createCustomer', table: 'CUSTOMER', column: 'CUSTOMER_CODE' },
] as const;
const COUNT_AGAIN = 'Count the part, with the serial numbers of the units that are there.';
const BY_HAND = `Correct the record in the database. Otherwise: ${RESTORE}`;

const aliased = (alias: string, names: readonly string[]) => names.map((name) => `${alias}."${name}"`).join(', ');

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
  await checkChanges(db, teamId, findings);
}

/** Checks the orders with their lines, and returns how many units of each part they commit. */
async function checkOrders(
  { schema, each, linesOf }: CheckedDatabase,
  teamId: string,
  counts: RecordCounts,
  findings: Findings,
): Promise<Map<string, string>> {
  const committed = new Map<string, string>();
  let order: Values | undefined;
  let lines: Values[] = [];
  const finish = () => {
    if (!order) return;
    counts.orders++;
    counts.lines += lines.length;
    for (const { PART_CODE, committed: units } of stockMovements([{}, []], [order, lines]))
      committed.set(PART_CODE, addDecimals(committed.get(PART_CODE) ?? '0', units));
    for (const fault of faultsOfOrder(order, lines))
      findings.addFinding(`order ${order['ORDER_NUMBER']} of ${teamId}`, fault, BY_HAND);
  };
  await each(
    `SELECT ${aliased('o', ORDER)}, l."LINE_NUMBER", ${aliased('l', LINE)} FROM ${schema}"ORDERS" o
      LEFT JOIN ${schema}"ORDER_LINEITEMS" l
      ON ${linesOf.isOf(`l."${linesOf.column}"`, `o."${linesOf.column}"`)} ORDER BY o."SORT_KEY", l."${linesOf.by}"`,
    (row) => {
      if (row[0] !== order?.['SORT_KEY']) {
        finish();
        order = toRecord<Values>(ORDER, row);
        lines = [];
      }
      if (row[ORDER.length] !== null) lines.push(toRecord<Values>(LINE, row.slice(ORDER.length + 1)));
    },
  );
  finish();
  const orphans = new Map<string, number>();
  await each<[string, number, string, string | null]>(
    `SELECT l."ORDER_NUMBER", l."LINE_NUMBER", l."SORT_KEY", o."SORT_KEY" FROM ${schema}"ORDER_LINEITEMS" l
      LEFT JOIN ${schema}"ORDERS" o ON o."ORDER_NUMBER" = l."ORDER_NUMBER"`,
    ([ORDER_NUMBER, number, key, orderKey]) => {
      if (orderKey === null) orphans.set(ORDER_NUMBER, (orphans.get(ORDER_NUMBER) ?? 0) + 1);
      else if (key !== sortKeyOfLine({ ORDER_NUMBER, LINE_NUMBER: String(number) }))
        findings.addFinding(`order ${ORDER_NUMBER} of ${teamId}`, `its line ${number} cannot be found`, BY_HAND);
    },
  );
  for (const [number, count] of orphans)
    findings.addFinding(`order ${number} of ${teamId}`, `the order is missing, but ${count} of its lines exist`);
  return committed;
}

function* faultsOfOrder(order: Values, lines: readonly Values[]): Generator<string> {
  if (order['SORT_KEY'] !== sortKey(order['ORDER_NUMBER']!)) yield 'it cannot be found by its number';
  if (!(STAGES as readonly string[]).includes(order['ORDER_TYPE']!))
    yield `its stage '${order['ORDER_TYPE']}' does not exist`;
  const codes = lines.map((line) => line['LINE_REF_LOCK_CODE']);
  if (new Set(codes).size < codes.length) yield 'two lines have the same lock code';
  const sums = sumUp(order, lines);
  for (const name of ['SUBTOTAL', 'ORDER_TOTAL']) {
    const [kept, sum] = [order[name]!, sums[name]];
    // ORDER_TOTAL is empty until the first line with a price.
    if (sum === undefined || (name === 'ORDER_TOTAL' && kept === '')) continue;
    if (compareDecimals(kept, sum) !== 0) yield `${name} is ${kept || 'empty'}, but its lines add up to ${sum}`;
  }
}

async function checkStock(
  { schema, each }: CheckedDatabase,
  teamId: string,
  committed: ReadonlyMap<string, string>,
  findings: Findings,
): Promise<void> {
  const moved = new Map<string, string>();
  await each<[string, string]>(`SELECT "PART_CODE", "QUANTITY" FROM ${schema}"MOVEMENTS"`, ([code, units]) =>
    moved.set(code, addDecimals(moved.get(code) ?? '0', units)),
  );
  const serials = new Map<string, number>();
  await each<[string, number]>(
    `SELECT "PART_CODE", count(*) FROM ${schema}"SERIALS" WHERE "ORDER_NUMBER" = '' GROUP BY "PART_CODE"`,
    ([code, count]) => serials.set(code, count),
  );
  await each<string[]>(
    `SELECT s."PART_CODE", s."SERIAL", s."ORDER_NUMBER" FROM ${schema}"SERIALS" s
      LEFT JOIN ${schema}"ORDERS" o ON o."ORDER_NUMBER" = s."ORDER_NUMBER" AND o."ORDER_TYPE" = 'invoice'
        AND o."${CANCELLED_MARK}" <> 'Y' WHERE s."ORDER_NUMBER" <> '' AND o."ORDER_NUMBER" IS NULL`,
    ([code, serial, order]) =>
      findings.addFinding(
        `part ${code} of ${teamId}`,
        `its serial number ${serial} is sold on order ${order}, which is no valid invoice`,
        BY_HAND,
      ),
  );
  await each(`SELECT ${aliased('p', STOCK)} FROM ${schema}"INVENTORY" p`, (row) => {
    const [code, key, onHand, kept, left, serialized] = row as [string, string, string, string, string, string];
    const place = `part ${code} of ${teamId}`;
    const held = committed.get(code) ?? '0';
    if (key !== sortKey(code)) findings.addFinding(place, 'it cannot be found by its code', BY_HAND);
    if (compareDecimals(kept, held) !== 0)
      findings.addFinding(place, `QTY_COMMITTED is ${kept || '0'}, but open sales orders hold ${held}`, BY_HAND);
    const sum = moved.get(code) ?? '0';
    moved.delete(code);
    if (compareDecimals(onHand, sum) !== 0)
      findings.addFinding(place, `QTY_ONHAND is ${onHand || '0'}, but its movements add up to ${sum}`, BY_HAND);
    const inStock = String(serialized === 'Y' ? (serials.get(code) ?? 0) : 0);
    if (inStock !== '0' && compareDecimals(inStock, onHand) > 0)
      findings.addFinding(
        place,
        `QTY_ONHAND is ${onHand || '0'}, but ${inStock} serial numbers are in stock`,
        COUNT_AGAIN,
      );
    const available = subtractDecimals(onHand, kept);
    if (compareDecimals(left, available) !== 0)
      findings.addFinding(
        place,
        `QTY_AVAILABLE is ${left || '0'}, but on hand minus committed is ${available}`,
        BY_HAND,
      );
  });
  for (const code of moved.keys())
    findings.addFinding(`part ${code} of ${teamId}`, 'the part is missing, but it has movements');
}

/** Checks that the next number is above every assigned number, so that no number is assigned twice. */
async function checkNumbers(db: CheckedDatabase, teamId: string, findings: Findings): Promise<void> {
  const next = new Map(await db.readRows<[string, number]>(`SELECT "NAME", "NEXT" FROM ${db.schema}"COUNTERS"`));
  for (const { name, table, column } of NUMBERED) {
    let highest = 0;
    await db.each<[string]>(`SELECT "${column}" FROM ${db.schema}"${table}"`, ([number]) => {
      if (isCounted(number)) highest = Math.max(highest, Number(number));
    });
    const following = next.get(name) ?? 0;
    const remedy = `Stop the service and set NEXT of ${name} in COUNTERS to ${highest + 1}.`;
    if (following <= highest)
      findings.addFinding(
        `numbers of ${teamId}`,
        `the next number of ${name} is ${following}, but ${highest} is already in use`,
        remedy,
      );
  }
}

/** Checks that kept responses are JSON, and that the records they name exist. */
async function checkAnswers({ schema, each }: CheckedDatabase, teamId: string, findings: Findings): Promise<void> {
  const place = `stored responses of ${teamId}`;
  await each<[string, string, string]>(
    `SELECT "OPERATION", "IDEMPOTENCY_KEY", "ANSWER" FROM ${schema}"IDEMPOTENCY"`,
    ([operation, key, answer]) => {
      if (!isJson(answer))
        findings.addFinding(place, `the response to ${operation} with the key ${JSON.stringify(key)} is not JSON`);
    },
  );
  for (const { operation, table, column } of NUMBERED)
    await each<[string]>(
      `SELECT i."ANSWER" FROM ${schema}"IDEMPOTENCY" i
        LEFT JOIN ${schema}"${table}" r ON r."${column}" = trim(i."ANSWER", '"')
        WHERE i."OPERATION" = '${operation}' AND r."${column}" IS NULL`,
      ([answer]) => findings.addFinding(place, `${operation} returned ${answer}, which does not exist`),
    );
}

/** Checks that the change feed has no gap, and that its rows are JSON. */
async function checkChanges({ schema, each }: CheckedDatabase, teamId: string, findings: Findings): Promise<void> {
  let last: number | undefined;
  const sql = `SELECT "SEQ", "BEFORE", "CHANGED" FROM ${schema}"CHANGES" ORDER BY "SEQ"`;
  await each<[number | string, number | string, string]>(sql, ([seq, before, changed]) => {
    if (Number(before) !== (last ?? Number(before)) || !isJson(changed))
      findings.addFinding(`changes of ${teamId}`, `number ${seq} does not follow ${last ?? before}, or is not JSON`);
    last = Number(seq);
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
