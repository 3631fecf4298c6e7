/**
 * Routes of the pages of records beyond the operations: approve and invoice an order, list and extend the field
 * dictionary. The rules are in src/pims/rules/lifecycle.ts.
 */
import { addField, advanceOrder } from '../../pims/operations.ts';
import type { OrderTransition } from '../../pims/rules/lifecycle.ts';
import type { Dictionaries, RecordType } from '../../pims/rules/fields.ts';
import type { AdvancedOrderView, FieldsView, FieldView } from './interface.ts';
import { entryOf, pick, type Handlers, type RequestContext, type DashboardServices } from './typed-route.ts';

export function recordRoutes({ pims, audit }: DashboardServices) {
  async function advance(
    context: RequestContext<{ ORDER_NUMBER: string }>,
    transition: OrderTransition,
  ): Promise<AdvancedOrderView> {
    const { tenant } = context.signedIn;
    const { ORDER_NUMBER } = context.body;
    const options = { now: new Date(context.client.nowMs).toISOString(), strict: tenant.strict };
    const { stage, backorder } = await advanceOrder(await pims(tenant), ORDER_NUMBER, transition, options);
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
