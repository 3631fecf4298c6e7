/** The writes of the back office to parts: new and changed parts, receipts, counts and adjustments. */
import { orThrow, refuseField, startOf } from '../../errors.ts';
import { compareDecimals, parseDecimal } from '../rules/decimal.ts';
import { STOCK_FIELDS, type Dictionaries, type FieldDictionary } from '../rules/fields.ts';
import { splitList } from '../rules/lists.ts';
import { SERIALS_CHARACTERS_MAX, SERIALS_SHOWN_MAX } from '../rules/record-bounds.ts';
import { applyAction, type StockAction } from '../rules/stock.ts';
import { changedNames, checkText, complete, parseReason, parseValues, type Values } from '../rules/values.ts';
import { countParts, ledgerRow, moveSerials } from './ledger.ts';
import type { Json } from '../rules/json.ts';
import { loadValue, requestSave, type Script } from './script.ts';
import {
  checkNewKey,
  createdAt,
  recordNotFound,
  saveChange,
  splitKey,
  type Body,
  type WriteOptions,
} from './writes.ts';

/** The members of a change of stock besides PART_CODE. */
const STOCK_MEMBERS = ['QUANTITY', 'SERIAL_NUMBERS', 'REASON', 'FROM_QUANTITY'];

/**
 * Receives, counts or adjusts a part and returns it, with the serial numbers in stock if it is SERIALIZED and they are
 * not too many. With FROM_QUANTITY, throws RECORD_CHANGED if QTY_ONHAND is another.
 */
const actOnStock = (kind: StockAction['kind']) =>
  function* ({ inventory }: Dictionaries, body: Body, { now, by }: WriteOptions): Script<Json> {
    const { key: partCode, fields } = splitKey(body, 'PART_CODE');
    const { QUANTITY, SERIAL_NUMBERS, REASON, FROM_QUANTITY, ...others } = fields;
    const [other] = Object.keys(others);
    if (other !== undefined) {
      const message = `There is no member '${startOf(other)}'. Besides PART_CODE there are ${STOCK_MEMBERS.join(', ')}.`;
      throw refuseField('UNKNOWN_FIELD', startOf(other), message);
    }
    if ((QUANTITY ?? '') === '') throw refuseField('MISSING_FIELD', 'QUANTITY', 'QUANTITY is required.');
    const text = String(SERIAL_NUMBERS ?? '');
    checkText('SERIAL_NUMBERS', text, SERIALS_CHARACTERS_MAX);
    const reason = parseReason(REASON);
    const part = yield* loadPart(partCode);
    if (FROM_QUANTITY !== undefined) checkQuantity(part, String(FROM_QUANTITY));
    const action = { kind, quantity: String(QUANTITY), serials: splitList(text), reason };
    const [changed, moved] = orThrow(applyAction(part, action));
    yield* saveChange('inventory', part, changed, { now });
    const SERIALS = (yield* moveSerials(part, action, moved)).join(',');
    const cause = { now, by, KIND: kind, REASON: reason, SERIALS };
    yield requestSave('recordMovements', [ledgerRow({ ...changed, PART_CODE: partCode }, moved, cause)]);
    const dates = changedNames(part, changed).length > 0 && { MODIFIED_DATE: now };
    const after = complete(inventory.keys(), { ...part, ...changed, ...dates });
    if (part['SERIALIZED'] !== 'Y') return JSON.stringify(after);
    const serials = yield* loadValue('serialsInStock', partCode, SERIALS_SHOWN_MAX + 1);
    if (serials.length > SERIALS_SHOWN_MAX) return JSON.stringify(after);
    return JSON.stringify({ ...after, SERIAL_NUMBERS: serials.map(([, serial]) => serial).join(',') });
  };

function checkQuantity(part: Values, text: string): void {
  const expected = parseDecimal(text);
  if (expected === undefined) {
    const message = `FROM_QUANTITY must be the QTY_ONHAND that you read, not '${startOf(text)}'.`;
    throw refuseField('QUANTITY_NOT_ALLOWED', 'FROM_QUANTITY', message);
  }
  const onHand = part['QTY_ONHAND'] || '0';
  if (compareDecimals(expected, onHand) === 0) return;
  const message = `Part ${part['PART_CODE']} has ${onHand} on hand, not ${expected}. Read it again and retry.`;
  throw refuseField('RECORD_CHANGED', 'FROM_QUANTITY', message);
}

/** Creates a part with nothing on hand, and returns its code. */
function* createPart({ inventory }: Dictionaries, body: Body, { now }: WriteOptions): Script<Json> {
  const values = parsePart(inventory, body);
  const { PART_CODE = '' } = values;
  if (PART_CODE === '') throw refuseField('MISSING_FIELD', 'PART_CODE', 'PART_CODE is required.');
  checkNewKey('inventory', PART_CODE, yield* loadValue('isThere', 'inventory', PART_CODE));
  const part = { ...values, ...createdAt(now) };
  yield* countParts([part], { now });
  yield requestSave('insert', 'inventory', part);
  return JSON.stringify(PART_CODE);
}

/** Changes fields of a part and returns its code. */
function* updatePart({ inventory }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key, fields } = splitKey(body, 'PART_CODE');
  const change = parsePart(inventory, fields);
  yield* saveChange('inventory', yield* loadPart(key), change, options);
  return JSON.stringify(key);
}

/** Parses the fields of a part that are not its stock. Throws QUANTITY_NOT_ALLOWED for a QTY_ONORDER below 0. */
function parsePart(dictionary: FieldDictionary, body: Body): Values {
  const values = parseValues(dictionary, 'inventory', body, STOCK_FIELDS);
  const onOrder = values['QTY_ONORDER'];
  if (!onOrder?.startsWith('-')) return values;
  throw refuseField('QUANTITY_NOT_ALLOWED', 'QTY_ONORDER', `QTY_ONORDER must be 0 or more, not '${onOrder}'.`);
}

function* loadPart(partCode: string): Script<Values> {
  const part = yield* loadValue('record', 'inventory', partCode);
  if (!part) throw recordNotFound('inventory', partCode);
  return part;
}

export const STOCK_WRITES = {
  createPart,
  updatePart,
  receiveStock: actOnStock('received'),
  countStock: actOnStock('counted'),
  adjustStock: actOnStock('adjusted'),
};
