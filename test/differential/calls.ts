/** Turns a plan into calls for the records of the model, runs them on model or store, and formats outcomes as text. */
import { createHash } from 'node:crypto';
import { orThrow, Refusal } from '../../src/errors.ts';
import * as operations from '../../src/pims/operations.ts';
import * as writes from '../../src/pims/writes/writes.ts';
import type { BatchStep } from '../../src/pims/batch.ts';
import type { Body, WriteContext, WriteOptions, Written } from '../../src/pims/writes/writes.ts';
import type { OrderFound, Page, PimsStore, QueryRequest, RecordFound } from '../../src/pims/pims-port.ts';
import { textOf, type Rendered } from '../../src/pims/rules/json.ts';
import type { Expected } from '../../src/pims/writes/script.ts';
import type { CustomField, RecordType } from '../../src/pims/rules/fields.ts';
import { foldCase, type Filter, type FilterValue } from '../../src/pims/reads/query.ts';
import { sortKey, type RawValue, type Values } from '../../src/pims/rules/values.ts';
import { PATIENT } from '../kit/caller.ts';
import { advanceOrder, type OrderTransition } from '../kit/invoices.ts';
import { linkBody } from './batches.ts';
import type { Model } from './model.ts';
import { EARLIER, type BodyPlan, type FilterPlan, type KeyPlan } from './operations.ts';
import type { RunPlan, Step, WritePlan } from './operations.ts';

type MaybeLater<T> = T | Promise<T>;

/** A tenant's inventory system, as its callers and its operator use it. */
export interface System {
  getOrder(key: string, fields?: FieldNames): MaybeLater<OrderFound>;
  getCustomer(key: string, fields?: FieldNames): MaybeLater<RecordFound>;
  getInventoryItem(key: string, fields?: FieldNames): MaybeLater<RecordFound>;
  findOrdersByStorefrontReference(key: string): MaybeLater<Rendered>;
  findOrdersByStorefrontReferences(numbers: unknown): MaybeLater<Rendered>;
  queryOrders(request: QueryRequest): MaybeLater<Page>;
  queryLines(request: QueryRequest): MaybeLater<Page>;
  queryCustomers(request: QueryRequest): MaybeLater<Page>;
  queryInventoryItems(request: QueryRequest): MaybeLater<Page>;
  createOrder(body: Body, context: WriteContext): MaybeLater<Written>;
  addLineItem(body: Body, context: WriteContext): MaybeLater<Written>;
  updateLineItem(body: Body, context: WriteContext): MaybeLater<Written>;
  updateOrder(body: Body, context: WriteContext): MaybeLater<Written>;
  cancelOrder(body: Body, context: WriteContext): MaybeLater<Written>;
  createCustomer(body: Body, context: WriteContext): MaybeLater<Written>;
  updateCustomer(body: Body, context: WriteContext): MaybeLater<Written>;
  advanceOrder(orderNumber: string, step: OrderTransition, options: WriteOptions): MaybeLater<Written>;
  batch(steps: readonly BatchStep[], context: WriteContext): MaybeLater<Written>;
  addField(field: CustomField): MaybeLater<void>;
  listFields(recordType: RecordType): MaybeLater<string>;
}

type FieldNames = readonly string[] | undefined;
type Get = 'getOrder' | 'getCustomer' | 'getInventoryItem' | 'findOrdersByStorefrontReference';
type Query = 'queryOrders' | 'queryLines' | 'queryCustomers' | 'queryInventoryItems';
type OrderWrite = 'createOrder' | 'addLineItem' | 'updateLineItem' | 'updateOrder' | 'cancelOrder';
type Write = OrderWrite | 'createCustomer' | 'updateCustomer';
export type Call =
  | { readonly name: Get; readonly key: string; readonly fields?: FieldNames }
  | { readonly name: 'findOrdersByStorefrontReferences'; readonly numbers: readonly (string | number)[] }
  | { readonly name: Query; readonly request: QueryRequest }
  | { readonly name: Write; readonly body: Body; readonly context: WriteContext }
  | { readonly name: 'batch'; readonly steps: readonly BatchStep[]; readonly context: WriteContext }
  | {
      readonly name: 'advanceOrder';
      readonly key: string;
      readonly step: OrderTransition;
      readonly context: WriteContext;
    }
  | { readonly name: 'addField'; readonly field: CustomField }
  | { readonly name: 'listFields'; readonly recordType: RecordType };

interface AdvancePlan {
  readonly do: string;
  readonly order: KeyPlan;
  readonly write: WritePlan;
}

/** Returns the operations of the service on a store. */
export function systemOver(store: PimsStore): System {
  return {
    getOrder: (key, fields) => operations.getOrder(store, key, PATIENT.signal, fields),
    getCustomer: (key, fields) => operations.getRecord(store, 'customers', 'customerCode', key, fields),
    getInventoryItem: (key, fields) => operations.getRecord(store, 'inventory', 'partCode', key, fields),
    findOrdersByStorefrontReference: (key) => operations.findOrdersByStorefrontReference(store, key, PATIENT),
    findOrdersByStorefrontReferences: (numbers) => operations.findOrdersByStorefrontReferences(store, numbers, PATIENT),
    queryOrders: async (request) => orThrow(await store.queryRecords('orders', request)),
    queryLines: async (request) => orThrow(await store.queryRecords('lines', request)),
    queryCustomers: async (request) => orThrow(await store.queryRecords('customers', request)),
    queryInventoryItems: async (request) => orThrow(await store.queryRecords('inventory', request)),
    createOrder: (body, context) => operations.writeRecord(store, 'createOrder', body, context),
    addLineItem: (body, context) => operations.writeRecord(store, 'addLineItem', body, context),
    updateLineItem: (body, context) => operations.writeRecord(store, 'updateLineItem', body, context),
    updateOrder: (body, context) => operations.writeRecord(store, 'updateOrder', body, context),
    cancelOrder: (body, context) => operations.writeRecord(store, 'cancelOrder', body, context),
    createCustomer: (body, context) => operations.writeRecord(store, 'createCustomer', body, context),
    updateCustomer: (body, context) => operations.writeRecord(store, 'updateCustomer', body, context),
    advanceOrder: async (orderNumber, step, options) =>
      orThrow(
        await store.write(
          (dictionaries) => writes.runOnce(advanceOrder(dictionaries, orderNumber, step, options), options),
          options.idempotency,
        ),
      ),
    batch: (steps, context) => operations.writeBatch(store, steps, context),
    addField: (field) => operations.addField(store, field),
    listFields: (recordType) => operations.listFields(store, recordType),
  };
}

/** Returns the outcome of a call as text: the bytes of the response with its tag or cursor, or the refusal. */
export async function outcomeOf(system: System, call: Call): Promise<string> {
  try {
    return await answerOf(system, call);
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || refusal.code === 'STORE_UNAVAILABLE') throw refusal;
    const { code, message, field, suggestion, retryAfterSeconds, tag, step } = refusal;
    const shown = { code, message, field, suggestion, retryAfterSeconds, tag: withoutQuotes(tag), step };
    return JSON.stringify(shown);
  }
}

async function answerOf(system: System, call: Call): Promise<string> {
  switch (call.name) {
    case 'getOrder': {
      const { order, lines, tag } = await system.getOrder(call.key, call.fields);
      return `${order} ${lines && textOf(lines)} ${JSON.stringify({ tag: withoutQuotes(tag) })}`;
    }
    case 'getCustomer':
    case 'getInventoryItem': {
      const { record, tag } = await system[call.name](call.key, call.fields);
      return `${record} ${JSON.stringify({ tag: withoutQuotes(tag) })}`;
    }
    case 'findOrdersByStorefrontReference':
      return textOf(await system[call.name](call.key));
    case 'findOrdersByStorefrontReferences':
      return textOf(await system[call.name](call.numbers));
    case 'queryOrders':
    case 'queryLines':
    case 'queryCustomers':
    case 'queryInventoryItems': {
      const { records, next, lines, count } = await system[call.name](call.request);
      return `${textOf(records)} next: ${next} lines: ${lines && textOf(lines)} count: ${count}`;
    }
    case 'advanceOrder':
      return writtenText(await system.advanceOrder(call.key, call.step, call.context));
    case 'batch':
      return writtenText(await system.batch(call.steps, call.context));
    case 'addField':
      return String(await system.addField(call.field));
    case 'listFields':
      return system.listFields(call.recordType);
    default:
      return writtenText(await system[call.name](call.body, call.context));
  }
}

const withoutQuotes = (tag: string | undefined): string | undefined => tag?.replaceAll('"', '');
const writtenText = ({ data, replayed }: Written): string => `${data}${replayed ? ' replayed' : ''}`;

const QUERIES = {
  orders: 'queryOrders',
  lines: 'queryLines',
  customers: 'queryCustomers',
  inventory: 'queryInventoryItems',
} as const;
/** The call that is made if there is no next page or no call to repeat. */
const ALL_ORDERS: Extract<Call, { request: QueryRequest }> = {
  name: 'queryOrders',
  request: { filters: [], limit: 2, after: '', ...PATIENT },
};
const START = Date.parse('2026-11-20T09:30:00.000Z');

/**
 * Turns the steps of a plan into calls, one after the other. Each call must have run on the model before the next one
 * is made.
 */
export class Caller {
  readonly #model: Model;
  readonly #defaultStage: RunPlan['defaultStage'];
  readonly #keyed: Extract<Call, { context: WriteContext }>[] = [];
  /** The tag of each record when a write last needed it. */
  readonly #tags = new Map<string, string>();
  #lastQuery = ALL_ORDERS;
  #time = START;

  constructor(model: Model, defaultStage: RunPlan['defaultStage']) {
    this.#model = model;
    this.#defaultStage = defaultStage;
  }

  get now(): string {
    return new Date(this.#time).toISOString();
  }

  /** Returns the call of a step. */
  callOf(step: Step): Call {
    switch (step.do) {
      case 'getOrder':
      case 'getCustomer':
      case 'getInventoryItem':
        return { name: step.do, key: this.#key(step.key), fields: step.fields };
      case 'findOrdersByStorefrontReference':
        return { name: step.do, key: this.#key(step.key) };
      case 'findOrdersByStorefrontReferences':
        return { name: step.do, numbers: step.numbers };
      case 'query': {
        const filters = step.filters.map((filter) => this.#filter(step.recordType, filter));
        // The service refuses a cursor with a NUL before it calls the operations.
        const isBegun = step.after !== null && step.sort === null;
        const after = isBegun ? sortKey(this.#key(step.after!)).replaceAll('\0', '') : '';
        const sort = step.sort === null ? {} : { sort: step.sort };
        return (this.#lastQuery = {
          name: QUERIES[step.recordType],
          request: { filters, limit: step.limit, after, ...sort, ...step.more, ...PATIENT },
        });
      }
      case 'nextPage':
        return this.#nextPage(step.limit);
      case 'repeat':
        return this.#repeat(step);
      case 'addField':
        return { name: 'addField', field: step.field };
      case 'listFields':
        return { name: 'listFields', recordType: step.recordType };
      case 'approve':
        return this.#advance(step, { approve: true });
      case 'invoice': {
        const { quantities, serials, tracking } = step;
        const invoice = { quantities: numbered(quantities), serials: numbered(serials), tracking };
        return this.#advance(step, { invoice }, invoice);
      }
      case 'split':
        return this.#split(step);
      case 'batch': {
        const names = step.steps.map(({ one }) => one.do);
        const steps = step.steps.map(({ one, ...plan }, at): BatchStep => {
          const body = linkBody(this.#body(one), one.do, names.slice(0, at), plan);
          return { operation: one.do, body, refusal: undefined };
        });
        return this.#write({ name: 'batch', steps, context: this.#context(step.write, 'batch', steps) });
      }
      default: {
        const body = this.#body(step);
        const context = { ...this.#context(step.write, step.do, body), expected: this.#expected(step.write, body) };
        return this.#write({ name: step.do, body, context });
      }
    }
  }

  /** Returns the tags of If-Match: with the current one, or with the one that the record had at the previous write. */
  #expected({ ifMatch }: WritePlan, { ORDER_NUMBER, CUSTOMER_CODE }: Body): Expected | undefined {
    if (ifMatch === undefined || ifMatch === '*') return ifMatch;
    const subject = ORDER_NUMBER ?? CUSTOMER_CODE;
    if (typeof subject !== 'string') return ['another'];
    const name = this.#model.tagOf(ORDER_NUMBER === undefined ? 'customers' : 'orders', subject);
    const before = this.#tags.get(subject);
    this.#tags.set(subject, name);
    return ifMatch === 'now' ? ['another', name] : [before ?? 'another'];
  }

  #advance(step: AdvancePlan, transition: OrderTransition, body?: object): Call {
    const context = this.#context(step.write, step.do, body);
    return this.#write({ name: 'advanceOrder', key: this.#key(step.order), step: transition, context });
  }

  /** Invoices some units of an open line, so that its other units and the order's other lines move to a backorder. */
  #split(step: Extract<Step, { do: 'split' }>): Call {
    const orders = this.#model.values('orders').filter((order) => order['ORDER_TYPE'] !== 'invoice');
    const open = orders.map((order) => order['ORDER_NUMBER']);
    const lines = this.#model.lines().filter((line) => open.includes(line['ORDER_NUMBER']));
    const line = lines[step.line % lines.length] ?? { ORDER_NUMBER: '10001', LINE_NUMBER: '1' };
    const quantities = new Map([[line['LINE_NUMBER']!, step.units]]);
    const invoice = { quantities, serials: new Map(), tracking: [] };
    return this.#advance({ ...step, order: line['ORDER_NUMBER']! }, { invoice }, invoice);
  }

  #write(call: Extract<Call, { context: WriteContext }>): Call {
    if (call.context.idempotency) this.#keyed.push(call);
    return call;
  }

  #repeat(step: Extract<Step, { do: 'repeat' }>): Call {
    const first = this.#keyed[step.nth % this.#keyed.length];
    if (!first) return ALL_ORDERS;
    this.#time += step.waitMs;
    const idempotency = { ...first.context.idempotency!, ...(step.otherBody && { bodyHash: hashOf('another') }) };
    return { ...first, context: { ...first.context, now: this.now, idempotency } };
  }

  #nextPage(limit: number): Call {
    const { name, request } = this.#lastQuery;
    let next: string | null = null;
    try {
      next = this.#model[name](request).next;
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
    }
    return (this.#lastQuery = next === null ? ALL_ORDERS : { name, request: { ...request, limit, after: next } });
  }

  #key(plan: KeyPlan): string {
    if (typeof plan === 'string') return plan;
    const keys = this.#model.keys(plan.of);
    return keys[plan.nth % keys.length] ?? '10001';
  }

  #body(step: Extract<Step, { body: BodyPlan }>): Body {
    const values = step.body.map(
      ([name, value]) => [name, value !== null && typeof value === 'object' ? this.#key(value) : value] as const,
    );
    return Object.fromEntries([...this.#subject(step), ...values]);
  }

  /** Returns the fields that name the record to write to. */
  #subject(step: Extract<Step, { body: BodyPlan }>): (readonly [string, RawValue])[] {
    if (!('line' in step))
      return 'key' in step && step.key !== null
        ? [[step.do === 'updateCustomer' ? 'CUSTOMER_CODE' : 'ORDER_NUMBER', this.#key(step.key)]]
        : [];
    const all = this.#model.lines();
    const orderBefore = (line: Values): string | undefined => this.#model.orderBefore(line['ORDER_NUMBER']!);
    const moved = step.otherOrder === EARLIER ? all.filter((line) => orderBefore(line) !== undefined) : [];
    const lines = moved.length > 0 ? moved : all;
    const line: Values | undefined = typeof step.line === 'string' ? undefined : lines[step.line % lines.length];
    const own = line?.['ORDER_NUMBER'] ?? '10001';
    const other = step.otherOrder === EARLIER ? line && orderBefore(line) : step.otherOrder;
    const orderNumber = other === null || other === undefined ? own : this.#key(other);
    return [
      ['ORDER_NUMBER', orderNumber],
      ['LINE_REF_LOCK_CODE', line?.['LINE_REF_LOCK_CODE'] ?? String(step.line)],
    ];
  }

  #filter(recordType: RecordType, { more: [others, chance], ...plan }: FilterPlan): Filter {
    const filter = this.#filterOf(recordType, plan);
    // Now and then the value and `contains` stay, even if they do not fit the operator.
    if (plan.op === undefined || chance === 0) return filter;
    const { contains: _contains, value, ...rest } = filter;
    if (plan.op === 'empty' || plan.op === 'not_empty') return rest;
    if (plan.op !== 'in') return { ...rest, value: value! };
    const all = others.map(
      (other) => this.#filterOf(recordType, { ...plan, field: filter.field, value: other }).value!,
    );
    return { ...rest, value: [value!, ...all] as FilterValue[] };
  }

  #filterOf(recordType: RecordType, plan: Omit<FilterPlan, 'more'>): Filter {
    const { value, ...filter } = plan;
    const records = this.#model.values(recordType);
    const record = typeof value === 'object' ? (records[value.nth % records.length] ?? {}) : {};
    const filled = Object.keys(record).filter((name) => record[name] !== '');
    const named = typeof filter.field === 'string' ? filter.field : (filled[filter.field % filled.length] ?? 'NOTES');
    // Each store has other lock codes.
    const field = named === 'LINE_REF_LOCK_CODE' ? 'PART_CODE' : named;
    if (typeof value !== 'object') return { ...filter, field, value };
    const whole = Object.hasOwn(record, field) ? record[field]! : '';
    const { from, length, form } = value;
    const start = whole.slice(0, 256);
    const piece = Array.from(whole)
      .slice(from, from + length)
      .join('');
    const forms =
      filter.contains === true || filter.op === 'starts_with' || filter.op === 'contains'
        ? [piece, piece.toUpperCase(), piece.toLowerCase(), foldCase(piece)]
        : [
            field === 'SERIAL_NUMBERS' ? (whole.split(',')[from]?.trim() ?? '') : start,
            whole.replace(/^0/, ''),
            start,
            whole,
          ];
    return { ...filter, field, value: forms[form]! };
  }

  #context({ waitMs, strict, idempotencyKey }: WritePlan, operation: string, body: object = {}): WriteContext {
    this.#time += waitMs;
    const idempotency =
      idempotencyKey === undefined
        ? undefined
        : { key: idempotencyKey, operation, bodyHash: hashOf(describe(body)), keptMs: 86_400_000 };
    return { now: this.now, strict, defaultStage: this.#defaultStage, idempotency };
  }
}

/** Returns the read whose response has the tag that a write sends in If-Match. */
export function readBefore(call: Call): Call | undefined {
  if (!('body' in call) || typeof call.context.expected !== 'object') return undefined;
  const { ORDER_NUMBER, CUSTOMER_CODE } = call.body;
  return ORDER_NUMBER === undefined
    ? { name: 'getCustomer', key: String(CUSTOMER_CODE) }
    : { name: 'getOrder', key: String(ORDER_NUMBER) };
}

const numbered = <T>(pairs: readonly (readonly [number, T])[]): Map<string, T> =>
  new Map(pairs.map(([number, value]) => [String(number), value]));
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Formats a value as JSON, with the entries of Maps. */
export const describe = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) => (part instanceof Map ? Object.fromEntries(part) : part));
