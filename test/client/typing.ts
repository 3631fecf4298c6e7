/** Shows what the types of the TypeScript client allow and refuse. `tsc` checks this file, and nothing runs it. */
import {
  deriveFulfillment,
  step,
  type AdvancedOrder,
  type BatchStep,
  type Customer,
  type CustomFields,
  type ErrorCode,
  type Filter,
  type InvoiceLine,
  type Order,
  type OrderLine,
  type Storeroom,
  type StoreroomError,
  verifyWebhook,
} from '../../client/src/storeroom.ts';

type Shop = Storeroom<{ orders: 'GIFT_NOTE' | 'GIFT_WRAP'; lines: 'ENGRAVING' }>;
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** `unknown` if both types are the same; otherwise `never`, which no value has. */
type Same<A, B> = Equal<A, B> extends true ? unknown : never;
const holds = <Claim>(claim: Claim): void => void claim;

export async function checkRecords(plain: Storeroom, shop: Shop): Promise<void> {
  const order = await shop.orders.get('1');
  holds<Same<typeof order.GIFT_NOTE, string>>(0);
  holds<Same<typeof order.ORDER_TYPE, 'worksheet' | 'quote' | 'sales_order' | 'invoice'>>(0);
  holds<Same<typeof order.etag, string>>(0);
  holds<Same<(typeof order.lines)[number]['ENGRAVING'], string>>(0);
  // @ts-expect-error -- a custom field of another record type
  void order.ENGRAVING;
  // @ts-expect-error -- a custom field that the type argument does not name
  void (await plain.orders.get('1')).GIFT_NOTE;
  // @ts-expect-error -- records from the service are read-only
  order.NOTES = 'x';

  const some = await shop.orders.get('1', { fields: ['SHIP_VIA', 'GIFT_NOTE'] });
  holds<Same<keyof typeof some, 'SHIP_VIA' | 'GIFT_NOTE' | 'lines' | 'etag'>>(0);
  // @ts-expect-error -- not asked for
  void some.NOTES;
  // @ts-expect-error -- no such field
  await shop.orders.get('1', { fields: ['SHIPVIA'] });

  const fresh = await shop.orders.get('1', { ifNoneMatch: some.etag });
  // @ts-expect-error -- null if nothing has changed
  void fresh.ORDER_NUMBER;
  holds<Same<typeof fresh, Order<{ orders: 'GIFT_NOTE' | 'GIFT_WRAP'; lines: 'ENGRAVING' }> | null>>(0);
  const found = await plain.customers.find('1', { fields: ['NOTES'] });
  // @ts-expect-error -- undefined if there is no such customer
  void found.NOTES;
  holds<Same<keyof NonNullable<typeof found>, 'NOTES' | 'etag'>>(0);
}

export async function checkWrites(
  plain: Storeroom,
  shop: Shop,
  loose: Storeroom<{ orders: Uppercase<string> }>,
): Promise<void> {
  const number = await shop.orders.create({ ORDER_TYPE: 'quote', FREIGHT: 12.5, GIFT_WRAP: true, NOTES: undefined });
  holds<Same<typeof number, string>>(0);
  await loose.orders.create({ WHATEVER: 1 });
  // @ts-expect-error -- no call can make an invoice
  await plain.orders.create({ ORDER_TYPE: 'invoice' });
  // @ts-expect-error -- PIMS assigns it
  await plain.orders.create({ ORDER_NUMBER: '1' });
  // @ts-expect-error -- misspelt
  await plain.orders.create({ REFRENCE_NUMBER: '#1' });
  // @ts-expect-error -- a field of an order, not of a line
  await shop.lines.add({ ORDER_NUMBER: '1', GIFT_NOTE: 'x' });
  // @ts-expect-error -- the order is missing
  await plain.lines.add({ PART_CODE: '11' });
  // @ts-expect-error -- the line is missing
  await plain.lines.update({ ORDER_NUMBER: '1', QUANTITY: 2 });
  // @ts-expect-error -- only the back office changes the stage
  await plain.orders.update({ ORDER_NUMBER: '1', ORDER_TYPE: 'quote' });
  // @ts-expect-error -- a new record has no tag yet
  await plain.orders.create({}, { ifMatch: '"a"' });
  const day = new Date(0);
  // @ts-expect-error -- a Date is a time, and has a zone
  await plain.orders.create({ ORDER_DATE: day });
  // @ts-expect-error -- a custom field cannot be a Date either
  await loose.orders.create({ WHATEVER: day });
  // @ts-expect-error -- a value in a step cannot be a Date either
  await plain.batch([{ operation: 'createOrder', body: { ORDER_DATE: day } }]);
  // @ts-expect-error -- the value of a filter cannot be a Date either
  plain.orders.query([{ field: 'MODIFIED_DATE', op: 'ge', value: day }]);
  // @ts-expect-error -- an object cannot be a value
  await plain.customers.create({ NOTES: { a: 1 } });
  const changed = await plain.orders.update({ ORDER_NUMBER: 1, NOTES: null }, { ifMatch: '"a"', idempotencyKey: 'b' });
  // @ts-expect-error -- a write returns no lines
  void changed.lines;
}

export async function checkOffice(plain: Storeroom, shop: Storeroom<{ inventory: 'SHELF' }>): Promise<void> {
  const lines: readonly InvoiceLine[] = [{ LINE_REF_LOCK_CODE: 'a', QUANTITY: 1 }];
  const invoiced = await plain.orders.invoice('1', { lines, SHIP_VIA: null }, { ifMatch: '"a"', idempotencyKey: 'b' });
  holds<Same<typeof invoiced, AdvancedOrder>>(0);
  // @ts-expect-error -- a line needs its units
  await plain.orders.invoice('1', { lines: [{ LINE_REF_LOCK_CODE: 'a' }] });
  // @ts-expect-error -- a reason belongs to a void
  await plain.orders.approve('1', { REASON: 'x' });
  await shop.inventory.create({ PART_CODE: 'A', SHELF: '3' });
  await shop.inventory.update({ PART_CODE: 'A', SHELF: '4', UNIT_PRICE: 2 });
  // @ts-expect-error -- the code is missing
  await plain.inventory.create({ UNIT_PRICE: 2 });
  // @ts-expect-error -- stock is counted, not written
  await plain.inventory.update({ PART_CODE: 'A', QTY_ONHAND: 2 });
  const part = await shop.stock.receive('A', 2, { SERIAL_NUMBERS: 'S1,S2', FROM_QUANTITY: '0' });
  holds<Same<typeof part.SERIAL_NUMBERS, string | undefined>>(0);
  holds<Same<typeof part.SHELF, string>>(0);
  // @ts-expect-error -- an adjustment needs a reason
  await plain.stock.adjust('A', -1, {});
  // @ts-expect-error -- the service checks no tag of a part
  await plain.stock.count('A', 1, {}, { ifMatch: '"a"' });

  const line = { LINE_REF_LOCK_CODE: step(0).data.LINE_REF_LOCK_CODE, QUANTITY: step(0).data.QUANTITY };
  const answers = await plain.batch([
    { operation: 'addLineItem', body: { ORDER_NUMBER: '1' } },
    { operation: 'invoiceOrder', body: { ORDER_NUMBER: '1', lines: [line] } },
    { operation: 'updateOrder', body: { ORDER_NUMBER: step(1).data.BACKORDER_NUMBER, NOTES: 'late' } },
    { operation: 'createPart', body: { PART_CODE: 'A' } },
    { operation: 'receiveStock', body: { PART_CODE: step(3).data, QUANTITY: 2 } },
    { operation: 'createCustomer', body: { NOTES: step(4).data.QTY_ONHAND } },
  ]);
  holds<Same<(typeof answers)[1], AdvancedOrder>>(0);
  holds<Same<(typeof answers)[3], string>>(0);
  void answers[4].QTY_ONHAND;
  await plain.batch([
    { operation: 'createOrder', body: {} },
    // @ts-expect-error -- the data of createOrder is a text, in the lines of an invoice too
    { operation: 'invoiceOrder', body: { ORDER_NUMBER: step(0).data, lines: [line] } },
  ]);
  await plain.batch([
    { operation: 'addLineItem', body: { ORDER_NUMBER: '1' } },
    // @ts-expect-error -- a line of an invoice has no such field
    { operation: 'invoiceOrder', body: { ORDER_NUMBER: '1', lines: [{ ...line, DISCOUNT: 1 }] } },
  ]);
}

export async function checkQueries(plain: Storeroom, shop: Shop): Promise<void> {
  for await (const order of shop.orders.query([{ field: 'GIFT_NOTE', op: 'contains', value: 'x' }], {
    sort: '-GIFT_NOTE',
  })) {
    holds<Same<typeof order.GIFT_NOTE, string>>(0);
    // @ts-expect-error -- without include there are no lines
    void order.lines;
  }
  const [first] = await shop.orders.query([], { include: 'lines', fields: ['NOTES'] }).toArray({ limit: 1 });
  holds<Same<keyof NonNullable<typeof first>, 'NOTES' | 'ORDER_NUMBER' | 'lines'>>(0);
  // @ts-expect-error -- only orders have lines
  plain.customers.query([], { include: 'lines' });
  // @ts-expect-error -- no such field
  plain.orders.query([{ field: 'GIFT_NOTE', value: 'x' }]);
  // @ts-expect-error -- no such field to sort by
  plain.orders.query([], { sort: '-GIFT_NOTE' });
  // @ts-expect-error -- no such operator
  plain.orders.query([{ field: 'NOTES', op: 'like', value: 'x' }]);
  // @ts-expect-error -- `in` needs a list
  plain.orders.query([{ field: 'NOTES', op: 'in', value: 'x' }]);
  // @ts-expect-error -- other operators accept no list
  plain.orders.query([{ field: 'NOTES', value: ['x'] }]);
  // @ts-expect-error -- `empty` accepts no value
  plain.orders.query([{ field: 'NOTES', op: 'empty', value: 'x' }]);
  // @ts-expect-error -- a conjunction is AND or OR
  plain.orders.query([{ field: 'NOTES', value: 'x', conjunction: 'XOR' }]);
  // @ts-expect-error -- the limit is missing
  await plain.orders.query().toArray();
  const kept: readonly Filter<'NOTES'>[] = [{ field: 'NOTES', op: 'not_empty' }];
  plain.inventory.query([{ field: 'QTY_ONHAND', op: 'lt', value: 3 }], { pageSize: 5 });
  plain.customers.query(kept);
}

export async function checkBatches(plain: Storeroom, shop: Shop): Promise<void> {
  const answers = await shop.batch([
    { operation: 'createOrder', body: { GIFT_NOTE: 'x' } },
    { operation: 'addLineItem', body: { ORDER_NUMBER: step(0).data, ENGRAVING: 'y' } },
    { operation: 'updateOrder', body: { ORDER_NUMBER: step(0).data, NOTES: step(1).data.LINE_REF_LOCK_CODE } },
  ]);
  holds<Same<(typeof answers)['length'], 3>>(0);
  holds<Same<(typeof answers)[0], string>>(0);
  holds<Same<(typeof answers)[1], OrderLine<{ orders: 'GIFT_NOTE' | 'GIFT_WRAP'; lines: 'ENGRAVING' }>>>(0);
  void answers[2].GIFT_WRAP;
  await plain.batch([
    { operation: 'createOrder', body: {} },
    // @ts-expect-error -- there is no such step before this one
    { operation: 'addLineItem', body: { ORDER_NUMBER: step(1).data } },
  ]);
  await plain.batch([
    { operation: 'createOrder', body: {} },
    // @ts-expect-error -- an order's number has no fields
    { operation: 'addLineItem', body: { ORDER_NUMBER: step(0).data.ORDER_NUMBER } },
  ]);
  await plain.batch([
    { operation: 'addLineItem', body: { ORDER_NUMBER: '1' } },
    // @ts-expect-error -- a line is not text; one of its fields would be
    { operation: 'updateOrder', body: { ORDER_NUMBER: '1', NOTES: step(0).data } },
  ]);
  await plain.batch([
    { operation: 'addLineItem', body: { ORDER_NUMBER: '1' } },
    // @ts-expect-error -- a field of an order, not of a line
    { operation: 'updateOrder', body: { ORDER_NUMBER: '1', NOTES: step(0).data.SHIP_VIA } },
  ]);
  // @ts-expect-error -- no such field
  await plain.batch([{ operation: 'createOrder', body: { REFRENCE_NUMBER: '#1' } }]);
  // @ts-expect-error -- a batch has no reads
  await plain.batch([{ operation: 'getOrder', body: {} }]);
  // @ts-expect-error -- the order is missing
  await plain.batch([{ operation: 'addLineItem', body: {} }]);

  const steps: [BatchStep & { operation: 'createOrder' }, ...BatchStep[]] = [{ operation: 'createOrder', body: {} }];
  for (const part of ['1', '2'])
    steps.push({ operation: 'addLineItem', body: { ORDER_NUMBER: step(0).data, PART_CODE: part } });
  const [number] = await plain.batch(steps);
  holds<Same<typeof number, string>>(0);
  const lines: BatchStep<unknown, 'addLineItem'>[] = [{ operation: 'addLineItem', body: { ORDER_NUMBER: '1' } }];
  const [first, ...added] = await plain.batch([{ operation: 'createOrder', body: {} }, ...lines]);
  holds<Same<typeof first, string>>(0);
  holds<Same<(typeof added)[number], OrderLine<CustomFields>>>(0);
  // @ts-expect-error -- the list only accepts addLineItem
  lines.push({ operation: 'createOrder', body: {} });
}

export async function checkOrdersWithLines(plain: Storeroom, shop: Shop): Promise<void> {
  const { orderNumber, lines } = await shop.orders.createWithLines(
    { ORDER_TYPE: 'sales_order', GIFT_NOTE: 'x' },
    [{ PART_CODE: '11', QUANTITY: 2, ENGRAVING: 'y' }, {}],
    { idempotencyKey: '#1' },
  );
  holds<Same<typeof orderNumber, string>>(0);
  holds<Same<(typeof lines)[number]['ENGRAVING'], string>>(0);
  // @ts-expect-error -- the lines belong to the new order
  await plain.orders.createWithLines({}, [{ ORDER_NUMBER: '1' }]);
  // @ts-expect-error -- misspelt
  await plain.orders.createWithLines({}, [{ PARTCODE: '1' }]);
  // @ts-expect-error -- a custom field of an order
  await shop.orders.createWithLines({}, [{ GIFT_NOTE: '1' }]);
  // @ts-expect-error -- a Date cannot be a value
  await plain.orders.createWithLines({ ORDER_DATE: new Date(0) }, []);
  // @ts-expect-error -- a new record has no tag yet
  await plain.orders.createWithLines({}, [], { ifMatch: '"a"' });
}

export async function checkChanges(plain: Storeroom, shop: Shop): Promise<void> {
  for await (const change of plain.changes({ after: 0, types: ['orders'] })) {
    holds<Same<typeof change.seq, string>>(0);
    // @ts-expect-error -- not asked for
    void change.record;
  }
  for await (const { changes, next } of shop.changes({ include: 'records' }).pages()) {
    holds<Same<typeof next, string>>(0);
    for (const { type, record } of changes)
      if (type === 'orders') void record?.GIFT_NOTE;
      else if (type === 'customers') void record?.CUSTOMER_NAME;
      // @ts-expect-error -- a field of an order, not of a part
      else void record?.GIFT_NOTE;
  }
  const { changes } = await shop.listChanges({ after: '7', waitSeconds: 25, include: 'records' });
  // @ts-expect-error -- a record may be missing
  void changes[0]!.record.CREATE_DATE;
  // @ts-expect-error -- a change of a line is a change of its order
  plain.changes({ types: ['lines'] });
  // @ts-expect-error -- following always waits
  plain.changes({ waitSeconds: 5 });
  const event = await verifyWebhook(['a', 'b'], new Headers(), '', { toleranceSeconds: 1 });
  // @ts-expect-error -- a test event has no change
  void event.data.seq.length;
  if (event.type !== 'test') holds<Same<typeof event.data.seq, string>>(0);
}

export async function checkRest(plain: Storeroom, error: StoreroomError): Promise<Customer> {
  const many = await plain.orders.byStorefrontReference(['#1']);
  void deriveFulfillment(many[0]!).lines[0]?.serialNumbers;
  // @ts-expect-error -- the lookup of a list returns a list of lists
  deriveFulfillment(many);
  // @ts-expect-error -- no such record type
  await plain.fields.list('parts');
  const known: ErrorCode = 'RATE_LIMITED';
  void (error.code === known || error.code === 'NO_ANSWER');
  // @ts-expect-error -- misspelt
  const unknown: ErrorCode = 'RATE_LIMIT';
  void unknown;
  return plain.customers.get('1');
}
