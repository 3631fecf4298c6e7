/**
 * What the pages of records do beyond the operations of the API: carry an order to its next stage, show and extend the field dictionary. Stages, quantities,
 * serials and stock are decided in pims/lifecycle.ts. Looking at records is the operations themselves (dashboard.ts).
 */
import { orThrow } from '../../errors.ts';
import { advanceOrder } from '../../pims/operations.ts';
import type { OrderTransition } from '../../pims/lifecycle.ts';
import { CUSTOM_FIELD_TYPES, RECORD_TYPES, type Dictionaries, type Field, type RecordType } from '../../pims/fields.ts';
import type { OperationServices } from '../route.ts';
import { listOf, objectOf, required, textOf, type Schema } from '../schemas.ts';
import type { DashboardServices } from './services.ts';
import { entryOf, type Route, type Visit } from './door.ts';
import type {
  AddFieldRequest,
  AdvancedOrderView,
  ApproveRequest,
  FieldsView,
  InvoiceOrderRequest,
} from './interface.ts';

const orderNumber = required('PIMS order number.');
const LINES_MAX = 1000;
const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values, maxProperties: LINES_MAX });

export function recordRoutes({ pims, audit }: OperationServices & DashboardServices): Route[] {
  async function advance(visit: Visit<{ ORDER_NUMBER: string }>, step: OrderTransition): Promise<AdvancedOrderView> {
    const { signedIn, body, nowMs } = visit;
    const { tenant } = signedIn;
    const { stage, backorder } = await advanceOrder(pims(tenant), body.ORDER_NUMBER, step, {
      now: new Date(nowMs).toISOString(),
      strict: tenant.strict,
    });
    const entry = entryOf(
      visit,
      stage === 'invoice' ? 'order invoiced' : 'order approved',
      body.ORDER_NUMBER,
      backorder === null ? {} : { backorder },
    );
    await audit.appendAudit(tenant.teamId, entry);
    return { ORDER_NUMBER: body.ORDER_NUMBER, ORDER_TYPE: stage, backorder };
  }

  return [
    {
      method: 'POST',
      path: '/orders/approve',
      role: 'developer',
      body: objectOf({ ORDER_NUMBER: orderNumber }),
      run: (visit: Visit<ApproveRequest>) => advance(visit, { approve: true }),
    },
    {
      method: 'POST',
      path: '/orders/invoice',
      role: 'developer',
      body: objectOf({
        ORDER_NUMBER: orderNumber,
        quantities: mapOf(textOf()),
        serials: mapOf(listOf(textOf())),
        tracking: listOf(textOf()),
      }),
      run: (visit: Visit<InvoiceOrderRequest>) => {
        const { quantities, serials, tracking } = visit.body;
        return advance(visit, {
          invoice: {
            quantities: new Map(Object.entries(quantities)),
            serials: new Map(Object.entries(serials)),
            tracking,
          },
        });
      },
    },
    {
      method: 'GET',
      path: '/fields',
      role: 'viewer',
      run: async ({ signedIn }: Visit): Promise<FieldsView> => ({
        fields: listFields(await pims(signedIn.tenant).dictionaries()),
      }),
    },
    {
      method: 'POST',
      path: '/fields',
      role: 'developer',
      body: objectOf({
        recordType: { enum: Object.keys(RECORD_TYPES) },
        name: textOf(),
        type: { enum: CUSTOM_FIELD_TYPES },
      }),
      run: async (visit: Visit<AddFieldRequest>): Promise<void> => {
        const { tenant } = visit.signedIn;
        const { recordType, name, type } = visit.body;
        orThrow(await pims(tenant).addField({ recordType, name, type }));
        await audit.appendAudit(tenant.teamId, entryOf(visit, 'field added', name, { recordType, type }));
      },
    },
  ];
}

function listFields(dictionaries: Dictionaries): Record<RecordType, Field[]> {
  const list = (recordType: RecordType): Field[] => [...dictionaries[recordType].values()];
  return { orders: list('orders'), lines: list('lines'), customers: list('customers'), inventory: list('inventory') };
}
