/**
 * A tenant and its records: the operations by name, `storeroom import`, and checks of the two kinds of answer: a
 * success, and a refusal that changes nothing. The lists of fields are copied from the documents.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharedService, temporaryFolder, type Answer, type Keys, type Service } from './service.ts';

export type Values = Record<string, string>;
/** Filters of a request. Invalid ones may have any members. */
export type Filters = readonly Record<string, unknown>[];

const ADDRESS = `BNAME BATTN BADDRESS1 BADDRESS2 BCITY BSTATE BZIPCODE BCOUNTRY BPHONE BEMAIL
  SNAME SATTN SADDRESS1 SADDRESS2 SCITY SSTATE SZIPCODE SCOUNTRY SPHONE SEMAIL`;
const STAMPS = 'CREATE_DATE MODIFIED_DATE';
export const FIELDS = {
  orders: `ORDER_NUMBER ORDER_TYPE REFERENCE_NUMBER CUSTOMER_CODE LOCATION_CODE ORDER_DATE ORDER_STATUS SALESPERSON_CODE
    PO_NUMBER TERMS_CODE SHIP_VIA DROP_SHIP TRACKING_NUMBERS NOTES SUBTOTAL FREIGHT TAX_TOTAL ORDER_TOTAL
    ${ADDRESS} BACKORDER_OF RETURN_OF ${STAMPS}`.split(/\s+/),
  lines: `ORDER_NUMBER LINE_NUMBER PART_CODE DESCRIPTION QUANTITY NUMBER_SHIPPED UNIT_PRICE DISCOUNT SERIAL_NUMBERS
    CARE_PLAN LINE_REF_LOCK_CODE ${STAMPS}`.split(/\s+/),
  customers: `CUSTOMER_CODE CUSTOMER_NAME ${ADDRESS} TERMS_CODE CREDIT_LIMIT NOTES ${STAMPS}`.split(/\s+/),
  inventory: `PART_CODE PART_DESCRIPTION BARCODE CATEGORY LOCATION_CODE QTY_ONHAND QTY_COMMITTED QTY_AVAILABLE
    QTY_ONORDER UNIT_PRICE UNIT_COST SERIALIZED CARE_PLAN ${STAMPS}`.split(/\s+/),
};
export type RecordType = keyof typeof FIELDS;

const NUMBERS =
  /^(SUBTOTAL|FREIGHT|TAX_TOTAL|ORDER_TOTAL|QUANTITY|UNIT_PRICE|UNIT_COST|DISCOUNT|CREDIT_LIMIT|QTY_\w+)$/;
const FLAGS = /^(DROP_SHIP|CARE_PLAN|SERIALIZED)$/;
const ASSIGNED =
  /^(LINE_NUMBER|LINE_REF_LOCK_CODE|NUMBER_SHIPPED|CREATE_DATE|MODIFIED_DATE|QTY_COMMITTED|QTY_AVAILABLE|BACKORDER_OF|RETURN_OF)$/;

/** Returns a valid value for every field that can be sent. `mark` distinguishes records. */
export function sampleOf(recordType: RecordType, mark = 1): Values {
  const names = FIELDS[recordType].filter((name) => !ASSIGNED.test(name) && name !== 'ORDER_NUMBER');
  const sample = (name: string, index: number): string => {
    if (name === 'ORDER_TYPE') return 'quote';
    if (name === 'ORDER_DATE') return `0${mark}/15/2026`;
    if (FLAGS.test(name)) return mark === 1 ? 'N' : 'Y';
    return NUMBERS.test(name) ? `${mark}${index + 10}.5` : `${name} of ${mark}`;
  };
  return Object.fromEntries(names.map((name, index) => [name, sample(name, index)]));
}

/** Values of a customer of 104 kB. A page of 4 MiB holds 40 such customers. */
export const WIDE_CUSTOMER = Object.fromEntries(
  'CUSTOMER_NAME BNAME BATTN BADDRESS1 BADDRESS2 BCITY BCOUNTRY SNAME SATTN SADDRESS1 SADDRESS2 SCITY NOTES'
    .split(' ')
    .map((name) => [name, 'x'.repeat(8000)]),
);

/** A tenant of a running service. */
export class Shop {
  readonly service: Service;
  readonly keys: Keys;

  private constructor(service: Service, keys: Keys) {
    this.service = service;
    this.keys = keys;
  }

  /** Makes a tenant of the service that the test files share. */
  static async shared(teamID = 'shop', ...settings: string[]): Promise<Shop> {
    return Shop.open(await sharedService(), teamID, ...settings);
  }

  /** Makes the tenant. `settings` are arguments of `tenant set`. */
  static async open(service: Service, teamID: string, ...settings: string[]): Promise<Shop> {
    return new Shop(service, await service.makeTenant(teamID, ...settings));
  }

  getOrder = (orderNum: string): Promise<Answer> => this.#get('/orders/single', { orderNum });
  queryOrders = (filters: Filters, query?: Values): Promise<Answer> => this.#query('/orders/query', filters, query);
  queryLines = (filters: Filters, query?: Values): Promise<Answer> => this.#query('/lines/query', filters, query);
  createOrder = (body: unknown): Promise<Answer> => this.#write('PUT', '/orders/create', body);
  addLineItem = (body: unknown): Promise<Answer> => this.#write('PUT', '/orders/line_item', body);
  updateLineItem = (body: unknown): Promise<Answer> => this.#write('POST', '/orders/line_item', body);
  updateOrder = (body: unknown): Promise<Answer> => this.#write('POST', '/orders/update', body);
  cancelOrder = (body: unknown): Promise<Answer> => this.#write('POST', '/orders/cancel', body);
  findOrdersByStorefrontReference = (storefront: string): Promise<Answer> =>
    this.#get('/orders/by_storefront_reference', { storefront_order_number: storefront });
  getCustomer = (customerCode: string): Promise<Answer> => this.#get('/customers/single', { customerCode });
  queryCustomers = (filters: Filters, query?: Values): Promise<Answer> =>
    this.#query('/customers/query', filters, query);
  createCustomer = (body: unknown): Promise<Answer> => this.#write('PUT', '/customers/create', body);
  updateCustomer = (body: unknown): Promise<Answer> => this.#write('POST', '/customers/update', body);
  getInventoryItem = (partCode: string): Promise<Answer> => this.#get('/inventory/single', { partCode });
  queryInventoryItems = (filters: Filters, query?: Values): Promise<Answer> =>
    this.#query('/inventory/query', filters, query);

  #get = (path: string, query: Values): Promise<Answer> => this.service.call(this.keys, 'GET', path, { query });
  #query = (path: string, body: unknown, query?: Values): Promise<Answer> =>
    this.service.call(this.keys, 'POST', path, { query, body });
  #write = (method: string, path: string, body: unknown): Promise<Answer> =>
    this.service.call(this.keys, method, path, { body });

  /** Makes an order and returns its number. */
  newOrder = (body: unknown = {}): Promise<string> => succeed<string>(this.createOrder(body));

  /** Returns the fields of an order. */
  order = async (orderNum: string): Promise<Values> => (await this.getOrder(orderNum)).body.data as Values;

  /** Returns the lines of an order, as the answer lists them. */
  async lines(orderNum: string): Promise<Values[]> {
    const { subRecords } = (await this.getOrder(orderNum)).body as { subRecords: { ORDER_LINEITEMS: Values }[] | null };
    return (subRecords ?? []).map((entry) => entry.ORDER_LINEITEMS);
  }

  /** Loads records through `storeroom import`, which must accept every row. The first record has all columns. */
  async load(recordType: RecordType, records: readonly Values[]): Promise<void> {
    const names = Object.keys(records[0]!);
    const rows = [names, ...records.map((record) => names.map((name) => record[name] ?? ''))];
    const file = join(temporaryFolder(), `${recordType}.csv`);
    writeFileSync(
      file,
      rows.map((cells) => `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')}\n`).join(''),
    );
    await this.run('import', this.keys.teamID, recordType, file);
  }

  /** Runs a command, which must succeed, beside the service, and returns its JSON. */
  async run<T = Values>(...words: string[]): Promise<T> {
    const { code, stderr, json } = await this.service.command(...words, '--json');
    assert.equal(code, 0, `${words.join(' ')}: ${stderr}`);
    return json() as T;
  }

  /** Returns everything the tenant has as one text: all records, and the lines of every order. */
  async everything(): Promise<string> {
    const lists = [await this.queryOrders([]), await this.queryCustomers([]), await this.queryInventoryItems([])];
    const orders = lists[0]!.body.data as Values[];
    const lines = await Promise.all(orders.map(({ ORDER_NUMBER = '' }) => this.lines(ORDER_NUMBER)));
    return JSON.stringify([lists.map(({ body }) => body as unknown), lines], undefined, 1);
  }

  /**
   * Makes writes that must be refused with 400, this code and the field that they are listed under ('' means no field).
   * Together they must change nothing the tenant has. Returns the messages.
   */
  async refuses(
    operation: (body: unknown) => Promise<Answer>,
    code: string,
    bodiesByField: Record<string, unknown[]>,
  ): Promise<string[]> {
    const before = await this.everything();
    const messages: string[] = [];
    for (const [field, bodies] of Object.entries(bodiesByField))
      for (const body of bodies) messages.push(expectRefusal(await operation(body), 400, code, field));
    assert.equal(await this.everything(), before, `${code}: a refused write changed something`);
    return messages;
  }
}

/** Checks a success, which is 200 with the envelope and subRecords null, and returns its data. */
export async function succeed<T = Values>(answering: Promise<Answer>): Promise<T> {
  const { status, body, text } = await answering;
  assert.equal(status, 200, text);
  assert.deepEqual(Object.keys(body as object), ['status', 'data', 'subRecords']);
  assert.equal(body.status, 'success');
  assert.equal(body.subRecords, null);
  return body.data as T;
}

export { valuesOf } from './lists.ts';

/** Checks a refusal and returns its message. The field '' means no field. */
export function expectRefusal(
  { status, body, text }: Answer,
  httpStatus: number,
  code: string,
  field?: string,
): string {
  assert.equal(`${status} ${body.code}`, `${httpStatus} ${code}`, text);
  assert.equal(body.status, 'error');
  if (field !== undefined) assert.equal(body.field ?? '', field, text);
  return body.message as string;
}

/** Returns `{ NAME: bodies, … }` for `refuses`. Each body has the members of `base` and one of the values as NAME. */
export const eachAs = (
  names: readonly string[],
  values: readonly unknown[],
  base: object = {},
): Record<string, unknown[]> =>
  Object.fromEntries(names.map((name) => [name, values.map((value) => ({ ...base, [name]: value }))]));
