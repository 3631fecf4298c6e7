/** The writes of the back office to parts: new and changed parts, receipts, counts, adjustments and units on order. */
import { orThrow, refuseField } from '../../errors.ts';
import { compareDecimals, parseDecimal } from '../rules/decimal.ts';
import type { Dictionaries } from '../rules/fields.ts';
import { applyAction, type StockAction } from '../rules/stock.ts';
import { checkText, parseValues, type Values } from '../rules/values.ts';
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

/** Receives, counts or adjusts a part and returns its QTY_ONHAND. */
export function* actOnStock(partCode: string, action: StockAction, { now, by }: WriteOptions): Script<Json> {
  checkText('reason', action.reason);
  for (const serial of action.serials) checkText('serials', serial);
  const part = yield* loadPart(partCode);
  const [changed, moved] = orThrow(applyAction(part, action));
  yield* saveChange('inventory', part, changed, { now });
  const SERIALS = (yield* moveSerials(part, action, moved)).join(',');
  const cause = { now, by, KIND: action.kind, REASON: action.reason, SERIALS };
  yield requestSave('recordMovements', [ledgerRow({ ...changed, PART_CODE: partCode }, moved, cause)]);
  return JSON.stringify({ QTY_ONHAND: changed['QTY_ONHAND'] });
}

/** Sets the units of a part that are ordered from suppliers. */
export function* setOnOrder(partCode: string, quantity: string, options: WriteOptions): Script<Json> {
  const QTY_ONORDER = parseDecimal(quantity);
  if (QTY_ONORDER === undefined || compareDecimals(QTY_ONORDER, '0') < 0)
    throw refuseField('QUANTITY_NOT_ALLOWED', 'quantity', 'The quantity on order must be 0 or more.');
  yield* saveChange('inventory', yield* loadPart(partCode), { QTY_ONORDER }, options);
  return JSON.stringify({ QTY_ONORDER });
}

/** Creates a part and returns its code. Its QTY_ONHAND is the first movement of its ledger. */
export function* createPart({ inventory }: Dictionaries, body: Body, { now, by }: WriteOptions): Script<Json> {
  const values = parseValues(inventory, 'inventory', body);
  const { PART_CODE = '' } = values;
  if (PART_CODE === '') throw refuseField('MISSING_FIELD', 'PART_CODE', 'PART_CODE is required.');
  checkNewKey('inventory', PART_CODE, yield* loadValue('isThere', 'inventory', PART_CODE));
  const part = { ...values, ...createdAt(now) };
  yield* countParts([part], { now, by, KIND: 'counted', REASON: 'new part' });
  yield requestSave('insert', 'inventory', part);
  return JSON.stringify(PART_CODE);
}

/** Changes fields of a part and returns its code. QTY_ONHAND changes only by movements. */
export function* updatePart({ inventory }: Dictionaries, body: Body, options: WriteOptions): Script<Json> {
  const { key, fields } = splitKey(body, 'PART_CODE');
  const change = parseValues(inventory, 'inventory', fields, ['QTY_ONHAND']);
  yield* saveChange('inventory', yield* loadPart(key), change, options);
  return JSON.stringify(key);
}

function* loadPart(partCode: string): Script<Values> {
  checkText('PART_CODE', partCode);
  const part = yield* loadValue('record', 'inventory', partCode);
  if (!part) throw recordNotFound('inventory', partCode);
  return part;
}
