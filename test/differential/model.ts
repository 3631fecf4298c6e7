/** A tenant in plain Maps: a second implementation of the operations, which uses the rules of src/pims. */
import { orThrow, Refusal } from '../../src/errors.ts';
import { addDecimals, subtractDecimals } from '../../src/pims/rules/decimal.ts';
import { parseFilters, parseSort, type Sort } from '../../src/pims/reads/query.ts';
import { addLine, approveOrder, changeLine, type KnownPart } from '../../src/pims/rules/order.ts';
import { invoiceOrder } from '../../src/pims/rules/invoice.ts';
import {
  checkText,
  parseValues,
  refuseMissingKey,
  sortKey,
  sortKeyOfLine,
  type Values,
} from '../../src/pims/rules/values.ts';
import { splitList } from '../../src/pims/rules/lists.ts';
import {
  buildDictionaries,
  findField,
  refuseCustomField,
  type CustomField,
  type Dictionaries,
  type KeyedType,
  type RecordType,
} from '../../src/pims/rules/fields.ts';
import type { BatchStep } from '../../src/pims/batch.ts';
import type { OrderFound, Page, QueryRequest, RecordFound } from '../../src/pims/pims-port.ts';
import type { StockMovement } from '../../src/pims/rules/stock.ts';
import type { Body, WriteContext, WriteOptions, Written } from '../../src/pims/writes/writes.ts';
import { compareKeys, queryModel } from '../store/query-model.ts';
import { doSteps, rememberMap } from './batches.ts';
import { ClosedOrders, committedBy, movementsBetween, refuse } from './closed-orders.ts';
import { Totals } from './totals.ts';
import { compareSorted, compareTexts, holds, positionOf } from './filters.ts';
import { requestOf, type OrderTransition } from '../kit/invoices.ts';
import { SHIPPING_ADDRESS } from '../kit/shipping-address.ts';
import { Tags } from './tags.ts';

const KEYS = {
  orders: 'ORDER_NUMBER',
  lines: 'ORDER_NUMBER',
  customers: 'CUSTOMER_CODE',
  inventory: 'PART_CODE',
} as const;
/** The stages, from the last to the first. */
const LOOKUP_ORDER = ['invoice', 'sales_order', 'quote', 'worksheet'];

/** Compares by key, and lines of an order by their number. */
const compareRecords = (recordType: RecordType, a: Values, b: Values): number =>
  compareKeys(a[KEYS[recordType]]!, b[KEYS[recordType]]!) || Number(a['LINE_NUMBER']) - Number(b['LINE_NUMBER']);

export class Model {
  readonly #records = {
    orders: new Map<string, Values>(),
    customers: new Map<string, Values>(),
    inventory: new Map<string, Values>(),
  };
  /** The lines of each order, in the order of their numbers. */
  readonly #lines = new Map<string, Values[]>();
  readonly #totals = new Totals();
  /** The backorder that each partial invoice left. */
  readonly #backorders = new Map<string, string>();
  readonly #closed = new ClosedOrders();
  readonly #nextNumber = { orders: 10_001, customers: 10_001 };
  readonly #kept = new Map<string, { bodyHash: string; data: string }>();
  readonly #fields: CustomField[] = [];
  readonly #tags = new Tags();
  #dictionaries: Dictionaries = buildDictionaries([]);
  #lockCodes = 0;

  keys = (recordType: KeyedType): string[] => [...this.#records[recordType].keys()];
  values = (recordType: RecordType): Values[] =>
    recordType === 'lines' ? this.lines() : [...this.#records[recordType].values()];
  tagOf = (recordType: KeyedType, key: string): string => this.#tags.of(recordType, key);
  lines = (): Values[] => [...this.#lines.values()].flat();
  /** The names of a record type's fields. */
  names = (recordType: RecordType): string[] => [...this.#dictionaries[recordType].keys()];

  /** Returns the order whose partial invoice left this backorder. */
  orderBefore = (left: string): string | undefined => [...this.#backorders].find(([, number]) => number === left)?.[0];

  getOrder(orderNumber: string, fields?: readonly string[]): OrderFound {
    checkText('orderNum', orderNumber);
    this.#checkFields('orders', fields);
    const order = this.#find('orders', orderNumber, 'orderNum', 'order');
    const lines = this.#linesOf(orderNumber);
    return {
      order: render(order, fields),
      tag: this.#tags.of('orders', orderNumber),
      lines: renderLines(lines),
    };
  }

  getCustomer = (code: string, fields?: readonly string[]): RecordFound =>
    this.#getRecord('customers', code, ['customerCode', 'customer'], fields);
  getInventoryItem = (code: string, fields?: readonly string[]): RecordFound =>
    this.#getRecord('inventory', code, ['partCode', 'part'], fields);

  #getRecord(
    recordType: KeyedType,
    key: string,
    [parameter, noun]: readonly [string, string],
    fields: readonly string[] | undefined,
  ): RecordFound {
    checkText(parameter, key);
    this.#checkFields(recordType, fields);
    const record = render(this.#find(recordType, key, parameter, noun), fields);
    return { record, tag: this.#tags.of(recordType, key) };
  }

  queryOrders = (request: QueryRequest): Page => this.#query('orders', request);
  queryLines = (request: QueryRequest): Page => this.#query('lines', request);
  queryCustomers = (request: QueryRequest): Page => this.#query('customers', request);
  queryInventoryItems = (request: QueryRequest): Page => this.#query('inventory', request);

  createOrder(body: Body, context: WriteContext): Written {
    const values = parseValues(this.#dictionaries.orders, 'orders', body);
    const stage = values['ORDER_TYPE'] || context.defaultStage;
    const text = `ORDER_TYPE of a new order must be one of worksheet, quote, sales_order, not '${stage.slice(0, 64)}'.`;
    if (!['worksheet', 'quote', 'sales_order'].includes(stage)) refuse('INVALID_VALUE', 'ORDER_TYPE', text);
    this.#closed.checkStatus(values);
    return this.#once(context, () => {
      if (context.strict) this.#checkKnown(values, 'CUSTOMER_CODE', 'LOCATION_CODE');
      const made = this.#create('orders', { ...values, ORDER_TYPE: stage }, context.now);
      this.#totals.begin(made, values);
      return made;
    });
  }

  createCustomer(body: Body, context: WriteContext): Written {
    const values = parseValues(this.#dictionaries.customers, 'customers', body);
    checkLength('customers', values['CUSTOMER_CODE'] ?? '');
    return this.#once(context, () => {
      this.#checkFree('customers', values['CUSTOMER_CODE'] ?? '');
      return this.#create('customers', values, context.now);
    });
  }

  updateCustomer(body: Body, context: WriteContext): Written {
    const code = nameOf(body, 'CUSTOMER_CODE');
    const change = parseValues(this.#dictionaries.customers, 'customers', without(body, 'CUSTOMER_CODE'));
    return this.#once(context, () => {
      const customer = this.#records.customers.get(code);
      if (!customer) refuse('CUSTOMER_NOT_FOUND', 'CUSTOMER_CODE', `There is no customer '${code.slice(0, 64)}'.`);
      this.#checkExpected('customers', code, 'customer', context);
      if (!isSame(customer, change)) {
        Object.assign(customer, change, { MODIFIED_DATE: context.now });
        this.#tags.moved('customers', code);
      }
      return code;
    });
  }

  addLineItem(body: Body, context: WriteContext): Written {
    const orderNumber = nameOf(body, 'ORDER_NUMBER');
    const values = parseValues(this.#dictionaries.lines, 'lines', without(body, 'ORDER_NUMBER'), ['NUMBER_SHIPPED']);
    return this.#once(context, () => {
      const order = this.#existingOrder(orderNumber);
      this.#checkExpected('orders', orderNumber, 'order', context);
      if (context.strict) this.#checkKnown(values, 'PART_CODE');
      this.#closed.checkNotCancelled(order);
      const { line, stock } = orThrow(addLine(order, values, this.#part(values['PART_CODE'])));
      const lines = this.#linesOf(orderNumber);
      const LINE_NUMBER = String(1 + Number(lines.at(-1)?.['LINE_NUMBER'] ?? 0));
      const added = this.#complete('lines', {
        ...line,
        ORDER_NUMBER: orderNumber,
        LINE_NUMBER,
        ...this.#newLockCode(),
        ...bornAt(context.now),
      });
      this.#lines.set(orderNumber, [...lines, added]);
      this.#totals.sum(order, this.#linesOf(orderNumber));
      this.#moveStock(stock, context.now);
      order['MODIFIED_DATE'] = context.now;
      this.#tags.moved('orders', orderNumber);
      return added;
    });
  }

  updateLineItem(body: Body, context: WriteContext): Written {
    const orderNumber = nameOf(body, 'ORDER_NUMBER');
    const lockCode = nameOf(body, 'LINE_REF_LOCK_CODE');
    const change = parseValues(this.#dictionaries.lines, 'lines', without(body, 'ORDER_NUMBER', 'LINE_REF_LOCK_CODE'));
    return this.#once(context, () => {
      const order = this.#existingOrder(orderNumber);
      this.#checkExpected('orders', orderNumber, 'order', context);
      const line = this.#linesOf(orderNumber).find((one) => one['LINE_REF_LOCK_CODE'] === lockCode);
      if (!line) this.#refuseLine(orderNumber, lockCode);
      if (context.strict) this.#checkKnown(change, 'PART_CODE');
      this.#closed.checkNotCancelled(order);
      const step = orThrow(
        changeLine(this.#dictionaries.lines, [order, line], change, this.#part(change['PART_CODE'])),
      );
      if (isSame(line, step.line)) return line;
      Object.assign(line, step.line, { MODIFIED_DATE: context.now });
      this.#totals.sum(order, this.#linesOf(orderNumber));
      this.#moveStock(step.stock, context.now);
      order['MODIFIED_DATE'] = context.now;
      this.#tags.moved('orders', orderNumber);
      return line;
    });
  }

  updateOrder(body: Body, context: WriteContext): Written {
    const orderNumber = nameOf(body, 'ORDER_NUMBER');
    const { orders } = this.#dictionaries;
    const change = parseValues(orders, 'orders', without(body, 'ORDER_NUMBER'), ['ORDER_TYPE']);
    return this.#once(context, () => {
      const order = this.#existingOrder(orderNumber);
      this.#checkExpected('orders', orderNumber, 'order', context);
      this.#closed.checkChange(order, change, orders);
      if (change['ORDER_STATUS'] !== order['ORDER_STATUS']) this.#closed.checkStatus(change);
      if (context.strict) this.#checkKnown(change, 'CUSTOMER_CODE', 'LOCATION_CODE');
      if (isSame(order, change)) return order;
      const [lines, before] = [this.#linesOf(orderNumber), { ...order }];
      this.#totals.take(order, change);
      Object.assign(order, change, { MODIFIED_DATE: context.now });
      this.#tags.moved('orders', orderNumber);
      if (before['ORDER_TOTAL']) this.#totals.sum(order, lines);
      this.#moveStock(movementsBetween(committedBy(before, lines), committedBy(order, lines)), context.now);
      return order;
    });
  }

  cancelOrder(body: Body, context: WriteContext): Written {
    const orderNumber = nameOf(body, 'ORDER_NUMBER');
    const others = without(body, 'ORDER_NUMBER');
    parseValues(this.#dictionaries.orders, 'orders', others, Object.keys(others));
    return this.#once(context, () => {
      const order = this.#existingOrder(orderNumber);
      this.#checkExpected('orders', orderNumber, 'order', context);
      if (this.#closed.isCancelled(order)) return order;
      this.#closed.checkNoInvoice(
        order,
        'ORDER_NUMBER',
        ', so it cannot be cancelled. Void it with voidInvoice (POST /orders/void).',
      );
      this.#closed.cancel(orderNumber);
      this.#tags.moved('orders', orderNumber);
      this.#moveStock(movementsBetween(committedBy(order, this.#linesOf(orderNumber)), new Map()), context.now);
      return Object.assign(order, { ORDER_STATUS: 'CANCELLED', MODIFIED_DATE: context.now });
    });
  }

  findOrdersByStorefrontReference(storefrontNumber: string): string {
    checkText('storefront_order_number', storefrontNumber);
    const found = this.values('orders').filter((order) => order['REFERENCE_NUMBER'] === storefrontNumber);
    const newestFirst = (a: Values, b: Values) =>
      Date.parse(b['CREATE_DATE'] || '0001-01-01') - Date.parse(a['CREATE_DATE'] || '0001-01-01');
    const rank = (order: Values) => LOOKUP_ORDER.indexOf(order['ORDER_TYPE']!);
    found.sort((a, b) => rank(a) - rank(b) || newestFirst(a, b) || compareKeys(a['ORDER_NUMBER']!, b['ORDER_NUMBER']!));
    return JSON.stringify({
      storefront_order_number: storefrontNumber,
      orders: found.map((order) =>
        viewOrder(order, this.#linesOf(order['ORDER_NUMBER']!), this.#closed.isCancelled(order)),
      ),
    });
  }

  /** Approves or invoices an order, as a clerk does. */
  advanceOrder(orderNumber: string, step: OrderTransition, options: WriteOptions): Written {
    return this.#once(options, () => {
      const lines = this.#linesOf(orderNumber);
      const request = 'invoice' in step ? requestOf(step.invoice, lines) : undefined;
      if (orderNumber === '') throw refuseMissingKey('ORDER_NUMBER');
      const order = this.#existingOrder(orderNumber);
      for (const code of request?.lines?.keys() ?? [])
        if (!lines.some((line) => line['LINE_REF_LOCK_CODE'] === code)) this.#refuseLine(orderNumber, code);
      this.#closed.checkNotCancelled(order);
      const advanced = orThrow(request ? invoiceOrder(order, lines, request) : approveOrder(order, lines));
      const modified = { MODIFIED_DATE: options.now };
      const before = { ...order };
      Object.assign(order, advanced.order, modified);
      this.#tags.moved('orders', orderNumber);
      const kept = advanced.lines.map((line) => ({ ...line, ...modified }));
      this.#lines.set(orderNumber, kept);
      let backorder = '';
      if (advanced.backorder) {
        const { order: open, lines: openLines } = advanced.backorder;
        const number = this.#create('orders', without(open, 'ORDER_NUMBER'), options.now);
        const moved = openLines.map((line) => ({
          ...line,
          ...(line['LINE_REF_LOCK_CODE'] ? {} : this.#newLockCode()),
          ORDER_NUMBER: number,
          ...modified,
        }));
        this.#lines.set(number, moved);
        this.#totals.split([before, lines], [order, kept], [this.#records.orders.get(number)!, moved]);
        this.#backorders.set(orderNumber, number);
        backorder = number;
      }
      this.#moveStock(advanced.stock, options.now);
      const { ORDER_TYPE, ORDER_STATUS } = order;
      return { ORDER_NUMBER: orderNumber, ORDER_TYPE, ORDER_STATUS, BACKORDER_NUMBER: backorder };
    });
  }

  addField(field: CustomField): void {
    const refusal = refuseCustomField(this.#dictionaries[field.recordType], field.name);
    if (refusal) throw refusal;
    this.#fields.push(field);
    this.#dictionaries = buildDictionaries(this.#fields);
    const records = field.recordType === 'lines' ? this.lines() : this.values(field.recordType);
    for (const record of records) record[field.name] = '';
    this.#tags.fieldAdded(field.recordType === 'lines' ? 'orders' : field.recordType);
  }

  listFields = (recordType: RecordType): string => {
    const valuesOf = { flag: ['Y', 'N'], ORDER_TYPE: ['worksheet', 'quote', 'sales_order', 'invoice'] } as const;
    const fields = [...this.#dictionaries[recordType].values()];
    const listed = fields.map(({ name, type, description, required, assigned, searched, custom, ...field }) => {
      const indexed = field.indexed || (recordType === 'lines' && name === 'SERIAL_NUMBERS');
      const values = valuesOf[name as 'ORDER_TYPE'] ?? valuesOf[type as 'flag'] ?? null;
      return { name, type, description, required, assigned, indexed, searched, custom, values };
    });
    return JSON.stringify(listed);
  };

  /** Imports a row of a file. Refuses a row whose key exists or that is not a valid record. */
  importRow(recordType: KeyedType, given: Readonly<Values>, now: string): void {
    const values: Values = { CREATE_DATE: now, MODIFIED_DATE: now, ...given };
    const key = values[KEYS[recordType]]!;
    this.#checkFree(recordType, key);
    if (recordType === 'inventory') {
      if (key === '') refuse('MISSING_FIELD', 'PART_CODE', 'PART_CODE is required.');
      const onHand = values['QTY_ONHAND'] || '0';
      const part = { ...values, QTY_ONHAND: onHand, QTY_COMMITTED: '0', QTY_AVAILABLE: onHand };
      this.#records.inventory.set(key, this.#complete('inventory', part));
      return;
    }
    const stage = values['ORDER_TYPE'] || 'worksheet';
    if (recordType === 'orders' && !LOOKUP_ORDER.includes(stage))
      refuse(
        'INVALID_VALUE',
        'ORDER_TYPE',
        `ORDER_TYPE must be one of worksheet, quote, sales_order, invoice, not '${stage}'.`,
      );
    const made = this.#create(
      recordType,
      recordType === 'orders' ? { ...values, ORDER_TYPE: stage } : values,
      now,
      values,
    );
    const isCancelled = recordType === 'orders' && values['ORDER_STATUS'] === 'CANCELLED' && stage !== 'invoice';
    if (isCancelled) this.#closed.cancel(made);
  }

  exportRecords(recordType: RecordType): Values[] {
    const inOrder = (type: KeyedType) =>
      this.values(type).toSorted((a, b) => compareKeys(a[KEYS[type]]!, b[KEYS[type]]!));
    const records =
      recordType === 'lines'
        ? inOrder('orders').flatMap((order) => this.#linesOf(order['ORDER_NUMBER']!))
        : inOrder(recordType);
    return records.map((record) => Object.fromEntries(this.names(recordType).map((name) => [name, record[name]!])));
  }

  findOrdersByStorefrontReferences(numbers: unknown): string {
    const asked = numbers as (string | number)[];
    const form = 'The body must be a JSON array of 1 to 100 storefront order numbers.';
    if (asked.length === 0) throw new Refusal('INVALID_BODY', form);
    for (const number of asked) checkText('storefront_order_number', String(number));
    return `[${asked.map((number) => this.findOrdersByStorefrontReference(String(number))).join(',')}]`;
  }

  #query(recordType: RecordType, request: QueryRequest): Page {
    const { filters, limit, after, sort, fields, hasLines, isCounted } = request;
    const dictionary = this.#dictionaries[recordType];
    const sorted = parseSort(dictionary, recordType, sort);
    parseFilters(dictionary, recordType, filters);
    const comparedOf = (name: string) => ({
      type: dictionary.get(name)!.type,
      isKey: name === KEYS[recordType],
      isList: recordType === 'lines' && name === 'SERIAL_NUMBERS',
    });
    // The place of a record among all is its key for the model of queries.
    const all = this.values(recordType).toSorted((a, b) => compareRecords(recordType, a, b));
    // The result of each filter is found here; the model of queries combines the results by their conjunctions.
    const found = all.map((record, place): Values => {
      const truths = filters.map((filter) => holds(record[filter.field]!, comparedOf(filter.field), filter));
      return {
        key: String(place),
        ...Object.fromEntries(truths.map((isTrue, index) => [String(index), isTrue ? 'Y' : 'N'])),
      };
    });
    const asked = filters.map(({ conjunction }, index) => ({
      field: String(index),
      value: 'Y',
      ...(conjunction !== undefined && { conjunction }),
    }));
    const matching = queryModel(found, {}, 'key', asked).map((record) => all[Number(record['key'])]!);
    const { left, position } = this.#sortedBehind(recordType, matching, after, sorted);
    const page = left.slice(0, limit);
    this.#checkFields(recordType, fields);
    const records = page.map((record) => render(record, fields));
    const lines = hasLines ? page.flatMap((record) => this.#linesOf(record['ORDER_NUMBER']!)) : [];
    return {
      records: `[${records.join(',')}]`,
      next: left.length > limit ? position(page.at(-1)!) : null,
      lines: hasLines ? renderLines(lines) : undefined,
      count: isCounted ? matching.length : undefined,
    };
  }

  /** Returns the records after a position, in the requested order. `records` are sorted by key. */
  #sortedBehind(recordType: RecordType, records: readonly Values[], after: string, sort: Sort | undefined) {
    const keyOf = (record: Values): string =>
      recordType === 'lines' ? sortKeyOfLine(record) : sortKey(record[KEYS[recordType]]!);
    if (!sort || sort.field.name === KEYS[recordType]) {
      const left = !sort
        ? records.filter((record) => compareTexts(keyOf(record), after) > 0)
        : records.filter((record) => after === '' || compareTexts(keyOf(record), after) < 0);
      return { left: sort ? left.toReversed() : left, position: keyOf };
    }
    const { name, type } = sort.field;
    const sign = sort.isDescending ? -1 : 1;
    const inOrder = (a: Values, b: Values): number =>
      compareSorted(a[name]!, b[name]!, { type }) || compareRecords(recordType, a, b);
    const all = records.toSorted((a, b) => inOrder(a, b) * sign);
    const position = (record: Values): string => `${positionOf(record[name]!, type)}\0${keyOf(record)}`;
    if (after === '') return { left: all, position };
    const [value = '', last = ''] = after.split('\0');
    const known = this.values(recordType).find((record) => keyOf(record) === last);
    const isCut = known !== undefined && positionOf(known[name]!, type) === value && Array.from(value).length === 256;
    const start = isCut ? known[name]! : value;
    const compareStart = (record: Values): number =>
      type === 'date' ? compareTexts(positionOf(record[name]!, type), value) : compareTexts(record[name]!, start);
    const left = all.filter((record) => (compareStart(record) || compareTexts(keyOf(record), last)) * sign > 0);
    return { left, position };
  }

  #checkFields(recordType: RecordType, fields: readonly string[] = []): void {
    for (const name of fields) findField(this.#dictionaries[recordType], recordType, name);
  }

  /**
   * Carries out all steps or none. A fault in the body of the first step is reported before the Idempotency-Key is
   * looked up.
   */
  batch(steps: readonly BatchStep[], context: WriteContext): Written {
    const probe = { key: '', operation: 'probe', bodyHash: '', keptMs: 0 };
    this.#kept.set(JSON.stringify([probe.operation, probe.key]), { bodyHash: '', data: '""' });
    doSteps(this, steps.slice(0, 1), { ...context, idempotency: probe });
    return this.#once(context, () => {
      const undo = this.#remember();
      try {
        return doSteps(this, steps, { ...context, idempotency: undefined });
      } catch (refusal) {
        undo();
        throw refusal;
      }
    });
  }

  /** Copies everything that a batch can change. Returns a function that restores it. */
  #remember(): () => void {
    const { orders, customers, inventory } = this.#records;
    const undo = [orders, customers, inventory].map(rememberMap);
    undo.push(rememberMap(this.#lines), this.#tags.remember(), this.#totals.remember(), this.#closed.remember());
    const [numbers, lockCodes] = [{ ...this.#nextNumber }, this.#lockCodes];
    return () => {
      for (const bringBack of undo) bringBack();
      Object.assign(this.#nextNumber, numbers);
      this.#lockCodes = lockCodes;
    };
  }

  /** Runs a write once per Idempotency-Key. Repeating the key returns the first result. */
  #once({ idempotency }: WriteOptions, work: () => unknown): Written {
    const name = idempotency && JSON.stringify([idempotency.operation, idempotency.key]);
    const kept = name === undefined ? undefined : this.#kept.get(name);
    if (kept && kept.bodyHash !== idempotency!.bodyHash) throw new Refusal('IDEMPOTENCY_KEY_REUSED');
    if (kept) return { data: kept.data, replayed: true };
    const data = JSON.stringify(work());
    if (name !== undefined) this.#kept.set(name, { bodyHash: idempotency!.bodyHash, data });
    return { data, replayed: false };
  }

  /** Saves a record under the key that it has, or under the next free number. Returns the key. */
  #create(recordType: 'orders' | 'customers', values: Values, now: string, stamps: Values = {}): string {
    let key = values[KEYS[recordType]] || String(this.#nextNumber[recordType]++);
    while (this.#records[recordType].has(key)) key = String(this.#nextNumber[recordType]++);
    // Next numbers continue after a number that a caller has chosen, if it has at most 15 digits.
    if (/^[1-9][0-9]{0,14}$/.test(key))
      this.#nextNumber[recordType] = Math.max(this.#nextNumber[recordType], Number(key) + 1);
    this.#records[recordType].set(
      key,
      this.#complete(recordType, { ...values, [KEYS[recordType]]: key, ...bornAt(now), ...pickStamps(stamps) }),
    );
    return key;
  }

  #moveStock(movements: readonly StockMovement[], now: string): void {
    for (const { PART_CODE, onHand, committed } of movements) {
      const part = this.#records.inventory.get(PART_CODE);
      if (!part) continue;
      part['QTY_ONHAND'] = addDecimals(part['QTY_ONHAND']!, onHand);
      part['QTY_COMMITTED'] = addDecimals(part['QTY_COMMITTED']!, committed);
      part['QTY_AVAILABLE'] = subtractDecimals(part['QTY_ONHAND'], part['QTY_COMMITTED']);
      part['MODIFIED_DATE'] = now;
      this.#tags.moved('inventory', PART_CODE);
    }
  }

  /** Checks for a strict tenant that the sent codes exist. A location exists if a part is there. */
  #checkKnown(values: Values, ...names: string[]): void {
    const places = new Set(this.values('inventory').map((part) => part['LOCATION_CODE']));
    for (const name of names) {
      const code = values[name];
      const isKnown =
        name === 'LOCATION_CODE'
          ? places.has(code)
          : this.#records[name === 'PART_CODE' ? 'inventory' : 'customers'].has(code ?? '');
      if (code && !isKnown) refuse('UNKNOWN_REFERENCE', name, `${name} '${code.slice(0, 64)}' does not exist.`);
    }
  }

  #checkFree(recordType: KeyedType, key: string): void {
    checkLength(recordType, key);
    if (this.#records[recordType].has(key))
      refuse('CODE_TAKEN', KEYS[recordType], `${KEYS[recordType]} '${key.slice(0, 64)}' is already in use.`);
  }

  #find(recordType: KeyedType, key: string, parameter: string, noun: string): Values {
    checkText(parameter, key);
    const record = this.#records[recordType].get(key);
    return record ?? refuse('NOT_FOUND', parameter, `There is no ${noun} '${key.slice(0, 64)}'.`);
  }

  #existingOrder(orderNumber: string): Values {
    const order = this.#records.orders.get(orderNumber);
    return order ?? refuse('ORDER_NOT_FOUND', 'ORDER_NUMBER', `There is no order '${orderNumber.slice(0, 64)}'.`);
  }

  /** Refuses a write unless the current tag of the record is one that the caller sent. */
  #checkExpected(recordType: KeyedType, key: string, noun: string, { expected = '*' }: WriteOptions): void {
    const tag = this.#tags.of(recordType, key);
    if (expected === '*' || expected.includes(tag)) return;
    const what = `The ${noun} '${key.slice(0, 64)}'`;
    const message = `${what} has changed since you read it. Read it again and retry with the new ETag.`;
    throw new Refusal('RECORD_CHANGED', message, { tag });
  }

  #refuseLine(orderNumber: string, lockCode: string): never {
    for (let left = this.#backorders.get(orderNumber); left !== undefined; left = this.#backorders.get(left))
      if (this.#linesOf(left).some((one) => one['LINE_REF_LOCK_CODE'] === lockCode)) refuseMoved(orderNumber, left);
    const missing = `Order ${orderNumber} has no line with the LINE_REF_LOCK_CODE '${lockCode.slice(0, 64)}'.`;
    refuse('LINE_NOT_FOUND', 'LINE_REF_LOCK_CODE', missing);
  }

  #part(code: string | undefined): KnownPart {
    const part = this.#records.inventory.get(code ?? '');
    if (!part) return undefined;
    const { PART_DESCRIPTION = '', UNIT_PRICE = '', CARE_PLAN = '' } = part;
    return { PART_DESCRIPTION, UNIT_PRICE, CARE_PLAN };
  }

  #linesOf = (orderNumber: string): Values[] => this.#lines.get(orderNumber) ?? [];
  #newLockCode = (): Values => ({ LINE_REF_LOCK_CODE: `line ${++this.#lockCodes}` });
  #complete = (recordType: RecordType, values: Values): Values =>
    Object.fromEntries([...this.#dictionaries[recordType].keys()].map((name) => [name, values[name] ?? '']));
}

function refuseMoved(orderNumber: string, left: string): never {
  const message = `A partial invoice of order ${orderNumber} moved this line to order ${left}. Use that number.`;

  throw new Refusal('LINE_MOVED', message, { field: 'ORDER_NUMBER', suggestion: left });
}

/** Renders a record, or only these of its fields, each once. */
function render(record: Values, fields?: readonly string[]): string {
  const names = [...new Set(fields ?? Object.keys(record))];
  return `{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(record[name])}`).join(',')}}`;
}

const renderLines = (lines: readonly Values[]): string | null =>
  lines.length === 0 ? null : JSON.stringify(lines.map((line) => ({ ORDER_LINEITEMS: line })));

function viewOrder(order: Values, lines: readonly Values[], isCancelled: boolean): object {
  return {
    order_type: order['ORDER_TYPE'],
    pims_order_number: order['ORDER_NUMBER'],
    create_date: order['CREATE_DATE'] || null,
    modified_date: order['MODIFIED_DATE'] || null,
    tracking_numbers: splitList(order['TRACKING_NUMBERS']!),
    is_dropship: order['DROP_SHIP'] === 'Y',
    shipping_address: Object.fromEntries(Object.entries(SHIPPING_ADDRESS).map(([name, field]) => [name, order[field]])),
    ...(isCancelled && { cancelled: true }),
    items: lines.map((line) => ({
      part_number: line['PART_CODE'],
      description: line['DESCRIPTION'],
      quantity: Number(line['QUANTITY']),
      shipped: Number(line['NUMBER_SHIPPED']),
      serial_numbers: line['CARE_PLAN'] === 'Y' ? [] : splitList(line['SERIAL_NUMBERS']!),
      is_care_plan: line['CARE_PLAN'] === 'Y',
    })),
  };
}

/** Returns whether a write would leave every value unchanged. */
const isSame = (record: Values, change: Values): boolean =>
  Object.entries(change).every(([name, value]) => record[name] === value);

/** Returns the value of a field that names the record to write to. */
function nameOf(body: Body, field: string): string {
  const name = body[field] ?? '';
  if (name === '') throw refuseMissingKey(field);
  checkText(field, String(name));
  return String(name);
}

/** Refuses a key that is too long, before the Idempotency-Key is looked up, like every fault of the body alone. */
function checkLength(recordType: KeyedType, key: string): void {
  const { length } = Array.from(key);
  const most = 'Shorten it to at most 256';
  if (length > 256) refuse('INVALID_VALUE', KEYS[recordType], `${KEYS[recordType]} has ${length} characters. ${most}.`);
}

const without = <T>(body: Readonly<Record<string, T>>, ...names: string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
const bornAt = (now: string): Values => ({ CREATE_DATE: now, MODIFIED_DATE: now });
const pickStamps = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([name]) => /^(CREATE|MODIFIED)_DATE$/.test(name)));
