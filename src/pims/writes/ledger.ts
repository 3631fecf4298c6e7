/**
 * Moves the stock of parts with a row of the ledger for each change of QTY_ONHAND, and keeps which serial numbers are
 * in stock and which are sold. Source: decision 0010.
 */
import { orThrow, Refusal, refuseField } from '../../errors.ts';
import { addDecimals, isZero } from '../rules/decimal.ts';
import { splitList } from '../rules/lists.ts';
import { refuseHandReturn } from '../rules/order.ts';
import {
  applyMovement,
  countStock,
  holdsStock,
  isUnstocked,
  refuseSerialsOf,
  type StockAction,
  type StockMovement,
} from '../rules/stock.ts';
import type { Values } from '../rules/values.ts';
import {
  requestLoad,
  loadValue,
  loadWith,
  requestSave,
  type KeptSerial,
  type LedgerRow,
  type Script,
} from './script.ts';

/** The columns of a movement besides the units. */
export interface Cause extends Partial<Pick<LedgerRow, 'KIND' | 'REASON' | 'ORDER_NUMBER' | 'SERIALS'>> {
  readonly now: string;
  readonly by?: string | undefined;
}

/** Maximum number of parts whose stock is moved one by one. */
const MOVED_SINGLY_MAX = 100;
/** Maximum number of parts that are moved with one load, which must not hold the event loop for long. */
const MOVED_TOGETHER_MAX = 500;

/** Returns the row of the ledger for a movement after which the part has this QTY_ONHAND. */
export const ledgerRow = (
  { PART_CODE = '', QTY_ONHAND = '' }: Values,
  QUANTITY: string,
  { now, by = '', KIND, REASON = '', ORDER_NUMBER = '', SERIALS = '' }: Cause,
): LedgerRow => ({
  KIND: KIND ?? (QUANTITY.startsWith('-') ? 'sold' : 'returned'),
  REASON,
  ORDER_NUMBER,
  SERIALS,
  PART_CODE,
  AT: now,
  QUANTITY,
  AFTER: QTY_ONHAND || '0',
  DONE_BY: by,
});

/** Sets the quantities of new parts, and opens their ledger. Orders may already have committed units of them. */
export function* countParts(parts: readonly Values[], cause: Cause): Script<void> {
  const committed = new Map<string, string>();
  const codes = parts.map((part) => part['PART_CODE']!);
  for (const [code, quantity] of codes.length === 0 ? [] : yield* loadValue('commitments', codes))
    addUnits(committed, code, quantity);
  for (const part of parts)
    Object.assign(part, countStock(part['QTY_ONHAND'] || '0', committed.get(part['PART_CODE']!) ?? '0'));
  const filled = parts.filter(({ QTY_ONHAND = '' }) => !isZero(QTY_ONHAND));
  if (filled.length === 0) return;
  yield requestSave(
    'openLedger',
    filled.map((part) => ledgerRow(part, part['QTY_ONHAND']!, cause)),
  );
}

export const addUnits = (sums: Map<string, string>, code: string, quantity: string): unknown =>
  sums.set(code, addDecimals(sums.get(code) ?? '0', quantity));

/**
 * Moves the stock of parts in INVENTORY. Moves up to 100 one by one, because a load of many parts makes later writes of
 * the same commit restart.
 */
export function* moveStock(movements: readonly StockMovement[], cause: Cause): Script<void> {
  if (movements.length > MOVED_SINGLY_MAX) {
    yield* moveStocks(movements, cause);
    return;
  }
  const rows: LedgerRow[] = [];
  const ahead = movements.map(({ PART_CODE }) => requestLoad('stock', PART_CODE));
  for (const movement of movements) {
    const { PART_CODE, onHand } = movement;
    const stock = yield* loadWith(ahead.splice(0), 'stock', PART_CODE);
    if (!stock) continue;
    const moved = applyMovement(stock, movement);
    yield requestSave('update', 'inventory', { ...counted(stock), PART_CODE }, { ...moved, MODIFIED_DATE: cause.now });
    if (!isZero(onHand)) rows.push(ledgerRow({ ...moved, PART_CODE }, onHand, cause));
  }
  if (rows.length > 0) yield requestSave('recordMovements', rows);
}

/** Returns a part with QTY_AVAILABLE, which loads of stock omit. */
const counted = (part: Values): Values => ({
  ...part,
  ...countStock(part['QTY_ONHAND'] ?? '', part['QTY_COMMITTED'] ?? ''),
});

/** Moves the stock of any number of parts, many with one load and one save. */
export function* moveStocks(movements: readonly StockMovement[], cause: Cause): Script<void> {
  for (let at = 0; at < movements.length; at += MOVED_TOGETHER_MAX)
    yield* moveTogether(movements.slice(at, at + MOVED_TOGETHER_MAX), cause);
}

function* moveTogether(movements: readonly StockMovement[], cause: Cause): Script<void> {
  const byPart = new Map(movements.map((movement) => [movement.PART_CODE, movement]));
  const parts: [Values, Values][] = [];
  const rows: LedgerRow[] = [];
  for (const part of yield* loadValue('stocks', [...byPart.keys()])) {
    const PART_CODE = part['PART_CODE']!;
    const movement = byPart.get(PART_CODE)!;
    const moved = { PART_CODE, ...applyMovement(part, movement), MODIFIED_DATE: cause.now };
    parts.push([counted(part), moved]);
    if (!isZero(movement.onHand)) rows.push(ledgerRow(moved, movement.onHand, cause));
  }
  yield requestSave('updateStocks', parts);
  if (rows.length > 0) yield requestSave('recordMovements', rows);
}

/**
 * Records the serial numbers of an invoice's lines as sold, and those that only the lines `before` had as in stock.
 * Throws SERIALS_NOT_ALLOWED if units of a SERIALIZED part do not have one each, or if one is sold already. Care plans
 * and drop-shipped orders have no serial numbers in stock, and neither do parts that are not in INVENTORY.
 */
export function* sellSerials(order: Values, lines: readonly Values[], before: readonly Values[] = []): Script<void> {
  if (!holdsStock(order)) return;
  const orderNumber = order['ORDER_NUMBER']!;
  const sold = yield* listSerials(
    lines,
    () => orderNumber,
    (stock, line, serials) => refuseSerialsOf(stock, line['QUANTITY'] ?? '', serials) ?? refuseHandReturn(stock, line),
  );
  const own = before.flatMap((line) => serialsOf(line, ''));
  const ownNames = new Set(own.map(nameOf));
  const names = new Set<string>();
  const kept = yield* loadOwners([...sold, ...own]);
  for (const serial of sold) {
    const name = nameOf(serial);
    const owner = names.has(name) ? orderNumber : kept.get(name);
    if (owner && (names.has(name) || owner !== orderNumber || !ownNames.has(name))) throw refuseSold(serial, owner);
    names.add(name);
  }
  const freed = own.filter((serial) => kept.get(nameOf(serial)) === orderNumber && !names.has(nameOf(serial)));
  if (sold.length + freed.length > 0) yield requestSave('saveSerials', [...freed, ...sold]);
}

/**
 * Records which serial numbers leave stock and which come into it with an action, and returns them. After a count of a
 * SERIALIZED part, exactly those that were counted are in stock. Otherwise throws SERIALS_NOT_ALLOWED if a serial
 * number comes that is in stock, or leaves that is not.
 */
export function* moveSerials(
  { PART_CODE = '', SERIALIZED }: Values,
  { kind, serials }: StockAction,
  moved: string,
): Script<readonly string[]> {
  const isWhole = kind === 'counted' && (SERIALIZED === 'Y' || serials.length > 0);
  const asStocked = (these: readonly string[]) => these.map((serial): KeptSerial => [PART_CODE, serial, '']);
  const known = isWhole
    ? yield* loadValue('serialsInStock', PART_CODE, Number.MAX_SAFE_INTEGER)
    : yield* loadSerials(asStocked(serials));
  const there = new Set(known.flatMap(([, serial, owner]) => (owner === '' ? serial : [])));
  const leave = moved.startsWith('-');
  const odd = isWhole ? undefined : serials.find((serial) => there.has(serial) !== leave);
  if (odd !== undefined)
    throw refuseSerial(`The serial number '${odd}' of part ${PART_CODE} is ${leave ? 'not' : 'already'} in stock.`);
  const gone = isWhole ? [...there.difference(new Set(serials))] : [...there];
  const come = serials.filter((serial) => !there.has(serial));
  if (gone.length > 0) yield requestSave('deleteSerials', asStocked(gone));
  if (come.length > 0) yield requestSave('saveSerials', asStocked(come));
  return [...gone, ...come];
}

/**
 * Lists the serial numbers of the lines, each with its owner, and throws what `refuse` returns for the stock and the
 * serial numbers of a line. Care plans and parts that are not in INVENTORY have no stock.
 */
function* listSerials(
  lines: readonly Values[],
  ownerOf: (line: Values) => string,
  refuse?: (stock: Values, line: Values, serials: string[]) => Refusal | undefined,
): Script<KeptSerial[]> {
  const all: KeptSerial[] = [];
  for (const line of lines) {
    const { PART_CODE = '', CARE_PLAN } = line;
    const stock = PART_CODE === '' || CARE_PLAN === 'Y' ? undefined : yield* loadValue('stock', PART_CODE);
    if (!stock) continue;
    const serials = serialsOf(line, ownerOf(line));
    const names = serials.map(([, serial]) => serial);
    orThrow(refuse?.({ ...stock, PART_CODE }, line, names));
    all.push(...serials);
  }
  return all;
}

/**
 * Moves the serial numbers of a return's lines from its invoice into stock, or to the return if their units are not in
 * stock again. Throws SERIALS_NOT_ALLOWED if units of a SERIALIZED part do not have one each, or if one is elsewhere.
 */
export function* takeBackSerials(order: Values, lines: readonly Values[]): Script<void> {
  if (!holdsStock(order)) return;
  const back = yield* listSerials(lines, placeIn(order), (stock, line, serials) =>
    refuseSerialsOf(stock, line['QUANTITY']!.replace('-', ''), serials),
  );
  const invoice = order['RETURN_OF']!;
  // An imported invoice has serial numbers that are not kept.
  const odd = (yield* loadSerials(back)).find(([, , owner]) => owner !== invoice);
  if (odd) throw refuseSerial(`The serial number '${odd[1]}' of part ${odd[0]} is no longer sold on order ${invoice}.`);
  if (back.length > 0) yield requestSave('saveSerials', back);
}

/** Moves the serial numbers of a void return back to its invoice. Throws ORDER_CLOSED if one is elsewhere by then. */
export function* keepSold(order: Values, lines: readonly Values[]): Script<void> {
  if (!holdsStock(order)) return;
  const back = yield* listSerials(lines, placeIn(order));
  const kept = yield* loadOwners(back);
  for (const serial of back) {
    const owner = kept.get(nameOf(serial));
    if (owner === serial[2]) continue;
    const where = owner ? `is sold on order ${owner}` : owner === '' ? 'is in stock' : 'is no longer in stock';
    const message = `The serial number '${serial[1]}' of part ${serial[0]} ${where}, so the return ${order['ORDER_NUMBER']} can no longer be voided.`;
    throw new Refusal('ORDER_CLOSED', message, { field: 'ORDER_NUMBER', ...(owner && { suggestion: owner }) });
  }
  if (back.length > 0)
    yield requestSave(
      'saveSerials',
      back.map(([part, serial]) => [part, serial, order['RETURN_OF']!]),
    );
}

/** Makes the function that returns the owner of the serial numbers of a return's line: '' in stock, or the return. */
const placeIn =
  (order: Values) =>
  (line: Values): string =>
    isUnstocked(order, line) ? order['ORDER_NUMBER']! : '';

/** Records the serial numbers that were sold on an order as in stock again. */
export function* returnSerials(orderNumber: string, lines: readonly Values[]): Script<void> {
  const known = yield* loadSerials(lines.flatMap((line) => serialsOf(line, '')));
  const sold = known.filter(([, , owner]) => owner === orderNumber);
  if (sold.length > 0)
    yield requestSave(
      'saveSerials',
      sold.map(([part, serial]) => [part, serial, '']),
    );
}

const serialsOf = ({ PART_CODE = '', SERIAL_NUMBERS = '' }: Values, orderNumber: string): KeptSerial[] =>
  splitList(SERIAL_NUMBERS).map((serial) => [PART_CODE, serial, orderNumber]);
const nameOf = ([partCode, serial]: KeptSerial) => JSON.stringify([partCode, serial]);

function* loadSerials(serials: readonly KeptSerial[]): Script<readonly KeptSerial[]> {
  return serials.length === 0 ? [] : yield* loadValue('serials', serials);
}

function* loadOwners(serials: readonly KeptSerial[]): Script<ReadonlyMap<string, string>> {
  return new Map((yield* loadSerials(serials)).map((serial) => [nameOf(serial), serial[2]]));
}

const refuseSerial = (message: string) => refuseField('SERIALS_NOT_ALLOWED', 'SERIAL_NUMBERS', message);
const refuseSold = ([part, serial]: KeptSerial, order: string) =>
  refuseSerial(`The serial number '${serial}' of part ${part} is already sold on order ${order}.`);
