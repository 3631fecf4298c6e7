/**
 * Routes of the pages of records beyond the operations: approve, invoice and void an order, list and extend the field
 * dictionary, move stock, create and change parts, and import tables. The rules are in order.ts and stock.ts of
 * src/pims/rules, and in src/pims/import.ts.
 */
import { POSITION } from '../../administration/action.ts';
import { orThrow } from '../../errors.ts';
import { listOf, objectOf, oneOf, required, textOf, type TypedSchema } from '../../json-schema.ts';
import { importTable } from '../../pims/import-rows.ts';
import {
  actOnStock,
  addField,
  advanceOrder,
  createPart,
  listHistory,
  listWaiting,
  setOnOrder,
  updatePart,
  voidInvoice,
} from '../../pims/operations.ts';
import { subtractDecimals } from '../../pims/rules/decimal.ts';
import { CUSTOM_FIELD_TYPES, RECORD_TYPES, type RecordType } from '../../pims/rules/fields.ts';
import { splitList } from '../../pims/rules/lists.ts';
import type { OrderTransition } from '../../pims/rules/order.ts';
import { FIELDS_MAX } from '../../pims/rules/record-bounds.ts';
import type { StockAction } from '../../pims/rules/stock.ts';
import { declareChange, nameFields, pick, declareRead, type RequestContext } from './typed-route.ts';

const LINES_MAX = 1000;
const any = textOf();
const filled = required();
const flag: TypedSchema<boolean> = { type: 'boolean' };
/** Describes an object with values of this schema by LINE_NUMBER. */
const byLine = <T>(values: TypedSchema<T>): TypedSchema<Record<string, T>> => ({
  type: 'object',
  additionalProperties: values,
  maxProperties: LINES_MAX,
});
const STOCK = { PART_CODE: filled, quantity: filled };
const SERIALS = listOf(any, { maxItems: 1000 });
const reason = textOf(undefined, { maxLength: 500 });
/** Values by field. */
const RECORD: TypedSchema<Record<string, string>> = {
  type: 'object',
  additionalProperties: any,
  maxProperties: FIELDS_MAX,
};
const ORDER = objectOf({ ORDER_NUMBER: filled });
const PART = objectOf({ PART_CODE: filled });
const RECORD_TYPE_NAMES = Object.keys(RECORD_TYPES) as RecordType[];
const recordType = oneOf(RECORD_TYPE_NAMES);

async function advance(
  { pims, note, writeOptions }: RequestContext,
  ORDER_NUMBER: string,
  transition: OrderTransition,
) {
  const { stage, backorder } = await advanceOrder(await pims(), ORDER_NUMBER, transition, writeOptions);
  const action = stage === 'invoice' ? 'order invoiced' : 'order approved';
  await note(action, ORDER_NUMBER, backorder === null ? {} : { backorder });
  /** `backorder` is the number of the sales order with the open units, or null if there are none. */
  return { ORDER_NUMBER, ORDER_TYPE: stage, backorder };
}

const ORDER_ROUTES = {
  /** Makes a worksheet or quote a sales order. */
  'POST /orders/approve': declareChange('clerk', 'none', ORDER, (context, { ORDER_NUMBER }) =>
    advance(context, ORDER_NUMBER, { approve: true }),
  ),
  /**
   * The names in `quantities` and `serials` are LINE_NUMBERs. Without quantities, everything is invoiced.
   * QUANTITY_NOT_ALLOWED, SERIALS_NOT_ALLOWED, STAGE_NOT_ALLOWED.
   */
  'POST /orders/invoice': declareChange(
    'clerk',
    'none',
    objectOf({ ORDER_NUMBER: filled, quantities: byLine(any), serials: byLine(listOf(any)), tracking: listOf(any) }),
    (context, { ORDER_NUMBER, quantities, serials, tracking }) => {
      const asked = { quantities: new Map(Object.entries(quantities)), serials: new Map(Object.entries(serials)) };
      return advance(context, ORDER_NUMBER, { invoice: { ...asked, tracking } });
    },
  ),
  /** The changes of an order, newest first, from the change feed. */
  'GET /orders/history': declareRead(
    'viewer',
    async ({ pims, signal }, { ORDER_NUMBER }) => listHistory(await pims(), 'orders', ORDER_NUMBER, signal),
    ORDER,
  ),
  /** Voids an invoice: its units and serial numbers are in stock again. ORDER_NOT_FOUND, STAGE_NOT_ALLOWED. */
  'POST /orders/void': declareChange(
    'clerk',
    'none',
    objectOf({ ORDER_NUMBER: filled, reason }),
    async ({ pims, note, writeOptions }, { ORDER_NUMBER, reason: why }) => {
      const done = await voidInvoice(await pims(), ORDER_NUMBER, why, writeOptions);
      await note('invoice voided', ORDER_NUMBER, why === '' ? {} : { reason: why });
      return done;
    },
  ),
};

const MOVEMENTS_PAGE = 100;

const act =
  (kind: StockAction['kind']) =>
  async (
    { pims, note, writeOptions }: RequestContext,
    given: { PART_CODE: string; quantity: string; reason: string; serials?: string[] },
  ) => {
    const { PART_CODE, quantity, reason: why, serials = [] } = given;
    const action = { kind, quantity, reason: why, serials: serials.flatMap(splitList) };
    const done = await actOnStock(await pims(), PART_CODE, action, writeOptions);
    await note(`stock ${kind}`, PART_CODE, { quantity, ...(why !== '' && { reason: why }) });
    return done;
  };
const COUNTED = objectOf({ ...STOCK, reason }, { serials: SERIALS });

type WaitingFields = Record<'ORDER_NUMBER' | 'ORDER_DATE' | 'CUSTOMER_CODE' | 'BNAME', string>;

const STOCK_ROUTES = {
  /** This route and the next three: NOT_FOUND, QUANTITY_NOT_ALLOWED, SERIALS_NOT_ALLOWED. */
  'POST /stock/receive': declareChange(
    'clerk',
    'none',
    objectOf({ ...STOCK, serials: SERIALS, reason }),
    act('received'),
  ),
  'POST /stock/count': declareChange('clerk', 'none', COUNTED, act('counted')),
  /** MISSING_FIELD without a reason. */
  'POST /stock/adjust': declareChange('clerk', 'none', COUNTED, act('adjusted')),
  'POST /stock/on-order': declareChange(
    'clerk',
    'none',
    objectOf(STOCK),
    async ({ pims, note, writeOptions }, { PART_CODE, quantity }) => {
      const done = await setOnOrder(await pims(), PART_CODE, quantity, writeOptions);
      await note('stock on order', PART_CODE, { quantity });
      return done;
    },
  ),
  /** Returns the movements, newest first, at most 100. `next` is the `before` of the next page. */
  'GET /stock/movements': declareRead(
    'viewer',
    async ({ pims, signal }, { PART_CODE, before = Number.MAX_SAFE_INTEGER }) => {
      const rows = orThrow(await (await pims()).look('movements', signal, PART_CODE, Number(before), MOVEMENTS_PAGE));
      const last = rows.at(-1)?.NUMBER ?? 1;
      const movements = rows.map((row) => ({
        number: row.NUMBER,
        at: row.AT,
        kind: row.KIND,
        quantity: row.QUANTITY,
        /** QTY_ONHAND before the movement. */
        before: subtractDecimals(row.AFTER, row.QUANTITY),
        after: row.AFTER,
        reason: row.REASON,
        by: row.DONE_BY,
        orderNumber: row.ORDER_NUMBER,
        serials: splitList(row.SERIALS),
      }));
      return { movements, next: last > 1 ? last : null };
    },
    objectOf({ PART_CODE: filled }, { before: POSITION }),
  ),
  'GET /stock/waiting': declareRead(
    'viewer',
    async ({ pims, signal }, { PART_CODE }) => {
      const waiting = await listWaiting(await pims(), PART_CODE, signal);
      return { orders: waiting.map(({ order, ...about }) => ({ ...(order as WaitingFields), ...about })) };
    },
    PART,
  ),
  /** The parts that have a unit with this serial number, and the invoice that sold it. */
  'GET /stock/serial': declareRead(
    'viewer',
    async ({ pims, signal }, { serial }) => ({
      units: [...orThrow(await (await pims()).look('serials', signal, serial))],
    }),
    objectOf({ serial: filled }),
  ),
};

/** The proof that each change needs is decided in decision 0023. */
export const RECORD_ROUTES = {
  ...ORDER_ROUTES,
  ...STOCK_ROUTES,
  /** The numbers of open backorders, newest first, at most 100. */
  'GET /orders/backorders': declareRead('viewer', async ({ pims, signal }) => {
    const rows = orThrow(await (await pims()).look('backorders', signal));
    return { numbers: rows.map((row) => row['ORDER_NUMBER']!) };
  }),
  /** Creates a part. CODE_TAKEN, and the codes for fields and values of the API. */
  'POST /parts': declareChange(
    'clerk',
    'none',
    objectOf({ values: RECORD }),
    async ({ pims, note, writeOptions }, { values }) => {
      const PART_CODE = await createPart(await pims(), values, writeOptions);
      await note('part created', PART_CODE);
      return { PART_CODE };
    },
  ),
  /** NOT_FOUND. */
  'POST /parts/update': declareChange(
    'clerk',
    'none',
    objectOf({ PART_CODE: filled, values: RECORD }),
    async ({ pims, note, writeOptions }, { PART_CODE, values }) => {
      await updatePart(await pims(), { ...values, PART_CODE }, writeOptions);
      await note('part changed', PART_CODE, { fields: nameFields(values) });
      return { PART_CODE };
    },
  ),
  /** Imports at most 200 rows of a table. `isDry` only checks them. UNKNOWN_FIELD, COMMAND_REFUSED. */
  'POST /imports': declareChange(
    'clerk',
    'none',
    objectOf({
      recordType,
      file: filled,
      fields: listOf(any, { minItems: 1, maxItems: FIELDS_MAX }),
      rows: listOf(listOf(any, { maxItems: FIELDS_MAX }), { maxItems: 200 }),
      updates: flag,
      isDry: flag,
    }),
    async ({ pims, note, writeOptions }, { recordType: of, file, updates, isDry, ...table }) => {
      const done = await importTable(await pims(), of, table, { ...writeOptions, updates, isDry });
      const { imported, updated, rejected } = done;
      const counts = { imported: String(imported), updated: String(updated), rejected: String(rejected.length) };
      if (imported + updated > 0) await note('records imported', of, { file, ...counts });
      return done;
    },
  ),
  'GET /fields': declareRead('viewer', async ({ pims }) => {
    const dictionaries = await (await pims()).dictionaries();
    const listOfType = (of: RecordType) =>
      [...dictionaries[of].values()].map((field) =>
        pick(field, 'name', 'type', 'assigned', 'indexed', 'searched', 'custom'),
      );
    const fields = Object.fromEntries(RECORD_TYPE_NAMES.map((of) => [of, listOfType(of)]));
    return { fields: fields as Record<RecordType, ReturnType<typeof listOfType>> };
  }),
  /** Adds a custom field. COMMAND_REFUSED. */
  'POST /fields': declareChange(
    'developer',
    'none',
    objectOf({ recordType, name: any, type: oneOf(CUSTOM_FIELD_TYPES) }),
    async ({ pims, note, writeOptions }, field) => {
      await addField(await pims(), field, writeOptions);
      await note('field added', field.name, { recordType: field.recordType, type: field.type });
    },
  ),
};
