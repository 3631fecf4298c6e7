/** Every kind of write as a call with random arguments. The kinds follow from the operations, so none can be left out. */
import * as fc from 'fast-check';
import { Refusal } from '../../src/errors.ts';
import { importBatch } from '../../src/pims/import.ts';
import type { BatchOperation } from '../../src/pims/batch.ts';
import * as operations from '../../src/pims/operations.ts';
import type { PimsStore } from '../../src/pims/pims-port.ts';
import { ADDRESS_FIELDS, type RecordType } from '../../src/pims/rules/fields.ts';
import type { Values } from '../../src/pims/rules/values.ts';
import type { Body, WriteContext } from '../../src/pims/writes/writes.ts';
import { times } from '../kit/lists.ts';
import { idempotency, write, type Pims } from './store-under-test.ts';

type Operations = typeof operations;
/** The operations that write: their last argument says when, and by whom. */
type WriteOperation = {
  [Name in keyof Operations]: Required<Parameters<Operations[Name]>> extends [PimsStore, ...unknown[], infer Last]
    ? WriteContext extends Last
      ? Name
      : never
    : never;
}[keyof Operations];
type Invoice = 'invoiceWhole' | 'invoicePart' | 'invoiceSerials' | 'voidReturn';
export type Kind =
  | Exclude<WriteOperation, 'writeRecord'>
  | Exclude<BatchOperation, 'invoiceOrder'>
  | Invoice
  | `import ${RecordType}`
  | 'repeated';

/** Arguments of a call. `order` is one of those that `prepare` makes, and `at` is the call's place in its group. */
export interface Call {
  readonly kind: Kind;
  readonly n: number;
  readonly text: string;
  readonly at: number;
  readonly order: string;
}
type Send = (port: PimsStore, call: Call, context: WriteContext) => Promise<unknown>;

const ORDERS = 6;
/** The numbers of the first orders of two groups differ by this. */
export const GROUP_ORDERS = 1000;
const PARTS: readonly string[] = ['P0', 'P1', 'P2'];
/** The part whose units have serial numbers. */
const SERIALIZED = 'P2';
export const SERIALS: readonly string[] = ['S0', 'S1', 'S2'];
const amountOf = ({ at }: Call): string => String((at % 4) + 1);
const partOf = ({ n, at, order }: Call): string => [...PARTS, newPartOf(order)][(n + at) % (PARTS.length + 1)]!;
/** Returns the number of the first order of `prepare`. */
const baseOf = (order: string): number => Math.floor(Number(order) / GROUP_ORDERS) * GROUP_ORDERS;
const newPartOf = (order: string): string => `N${baseOf(order)}`;
const customerOf = ({ n }: Call): string => `C${n}`;
const lineOf = (call: Call): Values => ({ PART_CODE: partOf(call), QUANTITY: amountOf(call), DESCRIPTION: call.text });
const lockOf = ({ order, at }: Call): Values => ({
  ORDER_NUMBER: order,
  LINE_REF_LOCK_CODE: `${order}-${(at % 2) + 1}`,
});
const serialOf = ({ at }: Call): string => SERIALS[at % 3]!;

const invoice =
  (request: (call: Call) => { QUANTITY: string; SERIAL_NUMBERS?: string } | undefined): Send =>
  (port, call, context) => {
    const asked = request(call);
    const { LINE_REF_LOCK_CODE } = lockOf({ ...call, at: 0 });
    const lines = asked && [{ LINE_REF_LOCK_CODE, ...asked }];
    const body = { ORDER_NUMBER: call.order, ...(lines && { lines }) } as unknown as Body;
    return operations.writeRecord(port, 'invoiceOrder', body, context);
  };
const act =
  (operation: 'receiveStock' | 'countStock' | 'adjustStock'): Send =>
  (port, call, context) => {
    const PART_CODE = partOf(call);
    const isSerialized = PART_CODE === SERIALIZED;
    const known = operation === 'countStock' ? SERIALS.slice(0, call.at % (SERIALS.length + 1)) : [serialOf(call)];
    const serials = isSerialized || (operation === 'receiveStock' && call.at % 2) ? known : [];
    const units = isSerialized ? String(serials.length) : amountOf(call);
    const QUANTITY = operation === 'adjustStock' && call.at % 2 ? `-${units}` : units;
    const body = { PART_CODE, QUANTITY, SERIAL_NUMBERS: serials.join(), REASON: call.text };
    return operations.writeRecord(port, operation, body, context);
  };
const importRows =
  (recordType: RecordType, row: (call: Call, at: number) => Values): Send =>
  (port, call, context) => {
    const rows = times(3, (at) => ({ lineNumber: at, values: row(call, at) }));
    const options = { ...context, updates: recordType === 'customers' || recordType === 'inventory' };
    function* script() {
      return JSON.stringify(yield* importBatch(recordType, rows, options));
    }
    return operations.writeOnce(port, script, context);
  };

const LONG = 'd'.repeat(100);
const TEXTS = fc.constantFrom('', 'a', 'b\\', '"c', '\t', 'É', `${LONG}e`, `${LONG}f`);

const SENDERS = {
  createOrder: (port, { text }, context) => operations.writeRecord(port, 'createOrder', { NOTES: text }, context),
  createCustomer: (port, call, context) =>
    operations.writeRecord(port, 'createCustomer', { CUSTOMER_CODE: customerOf(call), NOTES: call.text }, context),
  updateCustomer: (port, call, context) => {
    const wide = Object.fromEntries([...ADDRESS_FIELDS, 'NOTES'].map((field) => [field, call.text]));
    const change = call.at % 3 ? wide : { NOTES: call.text };
    return operations.writeRecord(port, 'updateCustomer', { CUSTOMER_CODE: customerOf(call), ...change }, context);
  },
  addLineItem: (port, call, context) =>
    operations.writeRecord(port, 'addLineItem', { ORDER_NUMBER: call.order, ...lineOf(call) }, context),
  repeated: (port, call, context) => {
    const { idempotency: once } = idempotency(`key ${call.at}`, { operation: 'addLineItem' });
    return operations.writeRecord(
      port,
      'addLineItem',
      { ORDER_NUMBER: call.order, ...lineOf(call) },
      { ...context, idempotency: once },
    );
  },
  updateLineItem: (port, call, context) => {
    const changes = [{ SERIAL_NUMBERS: serialOf(call) }, { DESCRIPTION: call.text }, { QUANTITY: amountOf(call) }];
    return operations.writeRecord(port, 'updateLineItem', { ...lockOf(call), ...changes[call.n % 3] }, context);
  },
  updateOrder: (port, { order, at, text }, context) => {
    const change = at % 3 ? { DROP_SHIP: at % 2 ? 'Y' : 'N' } : { NOTES: text };
    return operations.writeRecord(port, 'updateOrder', { ORDER_NUMBER: order, ...change }, context);
  },
  cancelOrder: (port, { order }, context) =>
    operations.writeRecord(port, 'cancelOrder', { ORDER_NUMBER: order }, context),
  writeBatch: (port, call, context) => {
    const line = lineOf(call);
    // While the customer does not exist, the batch is refused at its sixth step.
    const steps = [
      ['createOrder', { NOTES: call.text, ORDER_TYPE: 'sales_order' }],
      ['addLineItem', { ...line, ORDER_NUMBER: '$0.data' }],
      ['addLineItem', { ...line, ORDER_NUMBER: call.order }],
      ['updateLineItem', { ...lockOf(call), DESCRIPTION: '$1.data.DESCRIPTION' }],
      ['updateLineItem', { ...lockOf(call), QUANTITY: '$2.data.LINE_NUMBER' }],
      ['updateCustomer', { CUSTOMER_CODE: customerOf(call), BCITY: '$0.data' }],
      ['createOrder', { REFERENCE_NUMBER: '$4.data.QUANTITY' }],
    ] as const;
    const all = steps.map(([operation, body]) => ({ operation, body, refusal: undefined }));
    return operations.writeBatch(port, all, context);
  },
  addField: (port, { n, order }, context) =>
    operations.addField(port, { recordType: 'customers', name: `OWN_${order}_${n}`, type: 'text' }, context),
  approveOrder: (port, { order }, context) =>
    operations.writeRecord(port, 'approveOrder', { ORDER_NUMBER: order }, context),
  invoiceWhole: invoice(() => undefined),
  invoicePart: invoice(() => ({ QUANTITY: '1' })),
  invoiceSerials: invoice((call) => ({ QUANTITY: '1', SERIAL_NUMBERS: serialOf(call) })),
  voidInvoice: (port, { order, text }, context) =>
    operations.writeRecord(port, 'voidInvoice', { ORDER_NUMBER: order, REASON: text }, context),
  returnOrder: (port, call, context) => {
    const { ORDER_NUMBER, LINE_REF_LOCK_CODE } = lockOf({ ...call, at: 0 });
    const line = { LINE_REF_LOCK_CODE, QUANTITY: '1', RESTOCK: call.at % 3 ? 'Y' : 'N' };
    const lines = [call.at % 2 ? { ...line, SERIAL_NUMBERS: serialOf(call) } : line];
    return operations.writeRecord(
      port,
      'returnOrder',
      { ORDER_NUMBER, lines, REASON: call.text } as unknown as Body,
      context,
    );
  },
  voidReturn: (port, { order, text }, context) =>
    operations.writeRecord(
      port,
      'voidInvoice',
      { ORDER_NUMBER: String(Number(order) + ORDERS), REASON: text },
      context,
    ),
  receiveStock: act('receiveStock'),
  countStock: act('countStock'),
  adjustStock: act('adjustStock'),
  createPart: (port, { order, at }, context) =>
    operations.writeRecord(port, 'createPart', { PART_CODE: newPartOf(order), QTY_ONORDER: String(at) }, context),
  updatePart: (port, call, context) =>
    operations.writeRecord(port, 'updatePart', { PART_CODE: partOf(call), PART_DESCRIPTION: call.text }, context),
  'import orders': importRows('orders', ({ order, at }, row) => ({
    ORDER_NUMBER: row === 0 ? '' : `${Number(order) + 100 + at + row}`,
    ORDER_TYPE: row === 1 ? 'sales_order' : 'quote',
  })),
  'import lines': importRows('lines', (call, row) => ({
    ...lineOf(call),
    ORDER_NUMBER: `${baseOf(call.order) + row}`,
  })),
  'import customers': importRows('customers', ({ n, text }, row) => ({
    CUSTOMER_CODE: row === 0 ? '' : `C${n + row}`,
    BCITY: text,
  })),
  'import inventory': importRows('inventory', (call, row) => ({
    PART_CODE: row === 0 ? newPartOf(call.order) : PARTS[(call.at + row) % 3]!,
    QTY_ONHAND: row === 1 ? '' : String(call.at),
    PART_DESCRIPTION: call.text,
  })),
} as const satisfies Record<Kind, Send>;

export const KINDS = Object.keys(SENDERS) as Kind[];

/** Makes calls of these kinds on the orders of `prepare`. */
export const callsOf = (kinds: fc.Arbitrary<Kind[]>, base: number): fc.Arbitrary<Call[]> =>
  fc.tuple(kinds, fc.infiniteStream(fc.record({ n: fc.nat(ORDERS - 1), text: TEXTS }))).map(([all, rest]) =>
    all.map((kind, at) => {
      const { n, text } = rest.next().value as Pick<Call, 'n' | 'text'>;
      return { kind, n, text, at, order: String(base + n) };
    }),
  );

/** Lists the same call for each order and customer, its own first, then in the next form, such as without a serial. */
export const onEach = (call: Call): Call[] =>
  times(2 * ORDERS, (more) => {
    const n = (call.n + more) % ORDERS;
    return { ...call, n, at: call.at + Math.floor(more / ORDERS), order: String(baseOf(call.order) + n) };
  });

/** Returns the call that voids a return. The first returns have the numbers after those of the prepared orders. */
export const voidingOf = (call: Call, number: string): Call => ({ ...call, order: String(Number(number) - ORDERS) });

/** Sends a call. Returns what it answers without the lock codes that the store assigned, or its refusal. */
export async function send(port: PimsStore, call: Call, by: string): Promise<string> {
  const now = new Date(Date.UTC(2026, 10, 21) + call.at).toISOString();
  const context: WriteContext = { ...write({ now, by }), defaultStage: 'worksheet' };
  try {
    return withoutLocks(JSON.stringify((await SENDERS[call.kind](port, call, context)) ?? null));
  } catch (refusal) {
    if (refusal instanceof Refusal) return `${refusal.code} ${refusal.message}`;
    throw refusal;
  }
}

/** Removes the lock codes that the store assigned. The others have a hyphen at the end of their order's number. */
export const withoutLocks = (text: string): string =>
  text.replaceAll(/(LINE_REF_LOCK_CODE\\?":\\?")(?!\d+-\d\\?")[^"\\]*/g, '$1');

/** Imports parts once, and orders with the numbers from `base` with two lines each: sales orders, and a quote. */
export async function prepare(pims: Pims, base: number): Promise<void> {
  const parts = PARTS.map((PART_CODE) => ({
    PART_CODE,
    QTY_ONHAND: '1000',
    SERIALIZED: PART_CODE === SERIALIZED ? 'Y' : 'N',
  }));
  if ((await pims.readRecord('inventory', 'P0')) === undefined) await pims.importAll('inventory', parts);
  const numbers = times(ORDERS, (n) => String(base + n));
  const stages = numbers.map((_, n) => (n < ORDERS - 1 ? 'sales_order' : 'quote'));
  await pims.importAll(
    'orders',
    numbers.map((ORDER_NUMBER, n) => ({ ORDER_NUMBER, ORDER_TYPE: stages[n]! })),
  );
  const line = (ORDER_NUMBER: string, n: number, PART_CODE: string, QUANTITY: string): Values => ({
    ORDER_NUMBER,
    PART_CODE,
    QUANTITY,
    UNIT_PRICE: '2.5',
    LINE_REF_LOCK_CODE: `${ORDER_NUMBER}-${n}`,
  });
  await pims.importAll(
    'lines',
    numbers.flatMap((order) => [line(order, 1, 'P0', '2'), line(order, 2, 'P1', '1')]),
  );
}
