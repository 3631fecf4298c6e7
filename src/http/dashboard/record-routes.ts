/**
 * Routes of the pages of records beyond the operations: approve, invoice and void an order, list and extend the field
 * dictionary, move stock, create and change parts, and import tables. The rules are in lifecycle.ts and stock.ts of
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
import type { NumberedMovement } from '../../pims/pims-port.ts';
import { subtractDecimals } from '../../pims/rules/decimal.ts';
import type { OrderTransition } from '../../pims/rules/lifecycle.ts';
import type { Dictionaries, RecordType } from '../../pims/rules/fields.ts';
import { splitList } from '../../pims/rules/lists.ts';
import type { StockAction } from '../../pims/rules/stock.ts';
import type { AdvancedOrderView, FieldsView, FieldView, MovementsView, WaitingView } from './interface.ts';
import {
  entryOf,
  pick,
  readInTurn,
  writeOptionsOf,
  type DashboardServices,
  type Handlers,
  type RequestContext,
} from './typed-route.ts';

export const recordRoutes = (services: DashboardServices) => ({
  ...orderRoutes(services),
  ...stockRoutes(services),
  ...importRoutes(services),
});

function orderRoutes({ pims, audit }: DashboardServices) {
  async function advance(
    context: RequestContext<{ ORDER_NUMBER: string }>,
    transition: OrderTransition,
  ): Promise<AdvancedOrderView> {
    const { tenant } = context.signedIn;
    const { ORDER_NUMBER } = context.body;
    const store = await pims(tenant);
    const { stage, backorder } = await advanceOrder(store, ORDER_NUMBER, transition, writeOptionsOf(context));
    const action = stage === 'invoice' ? 'order invoiced' : 'order approved';
    const entry = entryOf(context, action, ORDER_NUMBER, backorder === null ? {} : { backorder });
    await audit.appendAudit(tenant.teamId, entry);
    return { ORDER_NUMBER, ORDER_TYPE: stage, backorder };
  }

  return {
    'POST /orders/approve': (context) => advance(context, { approve: true }),
    'POST /orders/invoice': (context) => {
      const { quantities, serials, tracking } = context.body;
      const asked = { quantities: new Map(Object.entries(quantities)), serials: new Map(Object.entries(serials)) };
      return advance(context, { invoice: { ...asked, tracking } });
    },
    'GET /orders/backorders': async ({ signedIn }) => {
      const rows = await (await pims(signedIn.tenant)).look('backorders');
      return { numbers: rows.map((row) => row['ORDER_NUMBER']!) };
    },
    'GET /fields': async ({ signedIn }) => ({ fields: listFields(await (await pims(signedIn.tenant)).dictionaries()) }),
    'POST /fields': async (context) => {
      const { tenant } = context.signedIn;
      const { recordType, name, type } = context.body;
      await addField(await pims(tenant), { recordType, name, type });
      await audit.appendAudit(tenant.teamId, entryOf(context, 'field added', name, { recordType, type }));
    },
  } satisfies Partial<Handlers>;
}

function listFields(dictionaries: Dictionaries): FieldsView['fields'] {
  const list = (recordType: RecordType): FieldView[] =>
    [...dictionaries[recordType].values()].map((field) =>
      pick(field, 'name', 'type', 'assigned', 'indexed', 'searched', 'custom'),
    );
  return { orders: list('orders'), lines: list('lines'), customers: list('customers'), inventory: list('inventory') };
}

const MOVEMENTS_PAGE = 100;
/** Maximum fields of a changed part that the audit log names. */
const FIELDS_NAMED_MAX = 20;

type ActionBody = { PART_CODE: string; quantity: string; reason: string; serials?: string[] };

function stockRoutes({ pims, audit, takeTurn }: DashboardServices) {
  const storeOf = ({ signedIn }: RequestContext) => pims(signedIn.tenant);
  const note = (context: RequestContext, action: string, target: string, detail: Record<string, string> = {}) =>
    audit.appendAudit(context.signedIn.tenant.teamId, entryOf(context, action, target, detail));
  const act = (kind: StockAction['kind']) => async (context: RequestContext<ActionBody>) => {
    const { PART_CODE, quantity, reason, serials = [] } = context.body;
    const action = { kind, quantity, reason, serials: serials.flatMap(splitList) };
    const done = await actOnStock(await storeOf(context), PART_CODE, action, writeOptionsOf(context));
    await note(context, `stock ${kind}`, PART_CODE, { quantity, ...(reason !== '' && { reason }) });
    return done;
  };

  return {
    'POST /stock/receive': act('received'),
    'POST /stock/count': act('counted'),
    'POST /stock/adjust': act('adjusted'),
    'POST /stock/on-order': async (context) => {
      const { PART_CODE, quantity } = context.body;
      const done = await setOnOrder(await storeOf(context), PART_CODE, quantity, writeOptionsOf(context));
      await note(context, 'stock on order', PART_CODE, { quantity });
      return done;
    },
    'GET /stock/movements': async (context) => {
      const { PART_CODE, before = Number.MAX_SAFE_INTEGER } = context.query;
      const rows = await (await storeOf(context)).look('movements', PART_CODE, Number(before), MOVEMENTS_PAGE);
      const last = rows.at(-1)?.NUMBER ?? 1;
      return { movements: rows.map(viewMovement), next: last > 1 ? last : null };
    },
    'GET /stock/waiting': async (context) => {
      const waiting = await listWaiting(await storeOf(context), context.query.PART_CODE);
      return { orders: waiting.map(({ order, ...about }) => ({ ...order, ...about }) as unknown as WaitingView) };
    },
    'GET /stock/serial': async (context) => ({
      units: [...(await (await storeOf(context)).look('serials', context.query.serial))],
    }),
    'GET /orders/history': async (context) => {
      const store = await storeOf(context);
      const list = (ended: AbortSignal) => listHistory(store, 'orders', context.query.ORDER_NUMBER, ended);
      return readInTurn(takeTurn, context, list);
    },
    'POST /orders/void': async (context) => {
      const { ORDER_NUMBER, reason } = context.body;
      const done = await voidInvoice(await storeOf(context), ORDER_NUMBER, reason, writeOptionsOf(context));
      await note(context, 'invoice voided', ORDER_NUMBER, reason === '' ? {} : { reason });
      return done;
    },
    'POST /parts': async (context) => {
      const PART_CODE = await createPart(await storeOf(context), context.body.values, writeOptionsOf(context));
      await note(context, 'part created', PART_CODE);
      return { PART_CODE };
    },
    'POST /parts/update': async (context) => {
      const { PART_CODE, values } = context.body;
      await updatePart(await storeOf(context), { ...values, PART_CODE }, writeOptionsOf(context));
      const fields = Object.keys(values).slice(0, FIELDS_NAMED_MAX).join(' ');
      await note(context, 'part changed', PART_CODE, { fields });
      return { PART_CODE };
    },
  } satisfies Partial<Handlers>;
}

function importRoutes({ pims, audit }: DashboardServices) {
  return {
    'POST /imports': async (context) => {
      const { tenant } = context.signedIn;
      const { recordType, file, updates, isDry, ...table } = context.body;
      const options = { ...writeOptionsOf(context), updates, isDry };
      const { imported, updated, rejected } = await importTable(await pims(tenant), recordType, table, options);
      const counts = { imported: String(imported), updated: String(updated), rejected: String(rejected.length) };
      if (!isDry && imported + updated > 0)
        await audit.appendAudit(tenant.teamId, entryOf(context, 'records imported', recordType, { file, ...counts }));
      return {
        imported,
        updated,
        rejected: rejected.map(({ lineNumber, reason }) => ({ row: lineNumber, message: reason.message })),
      };
    },
  } satisfies Partial<Handlers>;
}

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
