/**
 * Routes of the pages of records beyond the operations: approve and invoice an order, list and extend the field
 * dictionary. The rules are in src/pims/lifecycle.ts.
 */
import { addField, advanceOrder } from '../../pims/operations.ts';
import type { OrderTransition } from '../../pims/lifecycle.ts';
import type { Dictionaries, RecordType } from '../../pims/fields.ts';
import type { OperationServices } from '../stages.ts';
import type { AdvancedOrderView, FieldsView, FieldView } from './interface.ts';
import { APPROVAL, INVOICE, NEW_FIELD } from './request-schemas.ts';
import type { DashboardServices } from './services.ts';
import { entryOf, route, type RequestContext, type Route } from './typed-route.ts';

export function recordRoutes({ pims, audit }: OperationServices & DashboardServices): Route[] {
  async function advance(
    context: RequestContext<{ ORDER_NUMBER: string }>,
    transition: OrderTransition,
  ): Promise<AdvancedOrderView> {
    const { signedIn, body, nowMs } = context;
    const { tenant } = signedIn;
    const { stage, backorder } = await advanceOrder(pims(tenant), body.ORDER_NUMBER, transition, {
      now: new Date(nowMs).toISOString(),
      strict: tenant.strict,
    });
    const entry = entryOf(
      context,
      stage === 'invoice' ? 'order invoiced' : 'order approved',
      body.ORDER_NUMBER,
      backorder === null ? {} : { backorder },
    );
    await audit.appendAudit(tenant.teamId, entry);
    return { ORDER_NUMBER: body.ORDER_NUMBER, ORDER_TYPE: stage, backorder };
  }

  return [
    route('POST /orders/approve', {
      role: 'developer',
      body: APPROVAL,
      run: (context) => advance(context, { approve: true }),
    }),
    route('POST /orders/invoice', {
      role: 'developer',
      body: INVOICE,
      run: (context) => {
        const { quantities, serials, tracking } = context.body;
        return advance(context, {
          invoice: {
            quantities: new Map(Object.entries(quantities)),
            serials: new Map(Object.entries(serials)),
            tracking,
          },
        });
      },
    }),
    route('GET /fields', {
      role: 'viewer',
      run: async ({ signedIn }) => ({
        fields: listFields(await pims(signedIn.tenant).dictionaries()),
      }),
    }),
    route('POST /fields', {
      role: 'developer',
      body: NEW_FIELD,
      run: async (context) => {
        const { tenant } = context.signedIn;
        const { recordType, name, type } = context.body;
        await addField(pims(tenant), { recordType, name, type });
        await audit.appendAudit(tenant.teamId, entryOf(context, 'field added', name, { recordType, type }));
      },
    }),
  ];
}

function listFields(dictionaries: Dictionaries): FieldsView['fields'] {
  const list = (recordType: RecordType): FieldView[] =>
    [...dictionaries[recordType].values()].map(({ name, type, assigned, indexed, searched, custom }) => ({
      name,
      type,
      assigned,
      indexed,
      searched,
      custom,
    }));
  return { orders: list('orders'), lines: list('lines'), customers: list('customers'), inventory: list('inventory') };
}
