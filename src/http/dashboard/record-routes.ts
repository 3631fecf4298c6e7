/**
 * Routes of the pages of records beyond the operations: approve, invoice and void an order, list and extend the field
 * dictionary, move stock, create and change parts, and import tables. The rules are in order.ts and stock.ts of
 * src/pims/rules, and in src/pims/import.ts.
 */
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
import { importTable } from '../../pims/import-rows.ts';
import { orThrow } from '../../errors.ts';
import type { NumberedMovement } from '../../pims/pims-port.ts';
import { subtractDecimals } from '../../pims/rules/decimal.ts';
import type { OrderTransition } from '../../pims/rules/order.ts';
import type { Dictionaries, RecordType } from '../../pims/rules/fields.ts';
import { splitList } from '../../pims/rules/lists.ts';
import type { StockAction } from '../../pims/rules/stock.ts';
import type { AdvancedOrderView, FieldsView, MovementsView, WaitingView } from './interface.ts';
import { nameFields, pick, type Handlers, type RequestContext } from './typed-route.ts';

async function advance(
  { body: { ORDER_NUMBER }, pims, note, writeOptions }: RequestContext<{ ORDER_NUMBER: string }>,
  transition: OrderTransition,
): Promise<AdvancedOrderView> {
  const { stage, backorder } = await advanceOrder(await pims(), ORDER_NUMBER, transition, writeOptions);
  const action = stage === 'invoice' ? 'order invoiced' : 'order approved';
  await note(action, ORDER_NUMBER, backorder === null ? {} : { backorder });
  return { ORDER_NUMBER, ORDER_TYPE: stage, backorder };
}

const ORDER_ROUTES = {
  'POST /orders/approve': (context) => advance(context, { approve: true }),
  'POST /orders/invoice': (context) => {
    const { quantities, serials, tracking } = context.body;
    const asked = { quantities: new Map(Object.entries(quantities)), serials: new Map(Object.entries(serials)) };
    return advance(context, { invoice: { ...asked, tracking } });
  },
  'GET /orders/backorders': async ({ pims, signal }) => {
    const rows = orThrow(await (await pims()).look('backorders', signal));
    return { numbers: rows.map((row) => row['ORDER_NUMBER']!) };
  },
  'GET /orders/history': async ({ query, pims, signal }) =>
    listHistory(await pims(), 'orders', query.ORDER_NUMBER, signal),
  'POST /orders/void': async ({ body: { ORDER_NUMBER, reason }, pims, note, writeOptions }) => {
    const done = await voidInvoice(await pims(), ORDER_NUMBER, reason, writeOptions);
    await note('invoice voided', ORDER_NUMBER, reason === '' ? {} : { reason });
    return done;
  },
  'GET /fields': async ({ pims }) => ({ fields: listFields(await (await pims()).dictionaries()) }),
  'POST /fields': async ({ body: { recordType, name, type }, pims, note, writeOptions }) => {
    await addField(await pims(), { recordType, name, type }, writeOptions);
    await note('field added', name, { recordType, type });
  },
  'POST /imports': async ({ body, pims, note, writeOptions }) => {
    const { recordType, file, updates, isDry, ...table } = body;
    const options = { ...writeOptions, updates, isDry };
    const done = await importTable(await pims(), recordType, table, options);
    const { imported, updated, rejected } = done;
    const counts = { imported: String(imported), updated: String(updated), rejected: String(rejected.length) };
    if (imported + updated > 0) await note('records imported', recordType, { file, ...counts });
    return done;
  },
} satisfies Partial<Handlers>;

function listFields(dictionaries: Dictionaries): FieldsView['fields'] {
  const list = (recordType: RecordType) =>
    [...dictionaries[recordType].values()].map((field) =>
      pick(field, 'name', 'type', 'assigned', 'indexed', 'searched', 'custom'),
    );
  return { orders: list('orders'), lines: list('lines'), customers: list('customers'), inventory: list('inventory') };
}

const MOVEMENTS_PAGE = 100;

type ActionBody = { PART_CODE: string; quantity: string; reason: string; serials?: string[] };

const act =
  (kind: StockAction['kind']) =>
  async ({ body, pims, note, writeOptions }: RequestContext<ActionBody>) => {
    const { PART_CODE, quantity, reason, serials = [] } = body;
    const action = { kind, quantity, reason, serials: serials.flatMap(splitList) };
    const done = await actOnStock(await pims(), PART_CODE, action, writeOptions);
    await note(`stock ${kind}`, PART_CODE, { quantity, ...(reason !== '' && { reason }) });
    return done;
  };

const STOCK_ROUTES = {
  'POST /stock/receive': act('received'),
  'POST /stock/count': act('counted'),
  'POST /stock/adjust': act('adjusted'),
  'POST /stock/on-order': async ({ body: { PART_CODE, quantity }, pims, note, writeOptions }) => {
    const done = await setOnOrder(await pims(), PART_CODE, quantity, writeOptions);
    await note('stock on order', PART_CODE, { quantity });
    return done;
  },
  'GET /stock/movements': async ({ query: { PART_CODE, before = Number.MAX_SAFE_INTEGER }, pims, signal }) => {
    const rows = orThrow(await (await pims()).look('movements', signal, PART_CODE, Number(before), MOVEMENTS_PAGE));
    const last = rows.at(-1)?.NUMBER ?? 1;
    return { movements: rows.map(viewMovement), next: last > 1 ? last : null };
  },
  'GET /stock/waiting': async ({ query, pims, signal }) => {
    const waiting = await listWaiting(await pims(), query.PART_CODE, signal);
    return { orders: waiting.map(({ order, ...about }) => ({ ...order, ...about }) as unknown as WaitingView) };
  },
  'GET /stock/serial': async ({ query, pims, signal }) => ({
    units: [...orThrow(await (await pims()).look('serials', signal, query.serial))],
  }),
  'POST /parts': async ({ body, pims, note, writeOptions }) => {
    const PART_CODE = await createPart(await pims(), body.values, writeOptions);
    await note('part created', PART_CODE);
    return { PART_CODE };
  },
  'POST /parts/update': async ({ body: { PART_CODE, values }, pims, note, writeOptions }) => {
    await updatePart(await pims(), { ...values, PART_CODE }, writeOptions);
    await note('part changed', PART_CODE, { fields: nameFields(values) });
    return { PART_CODE };
  },
} satisfies Partial<Handlers>;

export const RECORD_ROUTES = { ...ORDER_ROUTES, ...STOCK_ROUTES };

const viewMovement = (row: NumberedMovement): MovementsView['movements'][number] => ({
  number: row.NUMBER,
  at: row.AT,
  kind: row.KIND,
  quantity: row.QUANTITY,
  before: subtractDecimals(row.AFTER, row.QUANTITY),
  after: row.AFTER,
  reason: row.REASON,
  by: row.DONE_BY,
  orderNumber: row.ORDER_NUMBER,
  serials: splitList(row.SERIALS),
});
