/** Orders and their lines. */
import { hasCode, orUndefined, query, read, write } from './calls.ts';
import type { Caller, CallOptions } from './caller.ts';
import type { AdvancedOrder, StorefrontLookup } from './contract.ts';
import { writeInPieces } from './pieces.ts';
import type { Query } from './query.ts';
import type * as records from './records.ts';
import type { ChangeOptions, Filter, QueryOptions, ReadOptions, WriteOptions } from './records.ts';

const NUMBERS_MAX = 100;
/** Maximum number of moves that an update follows, because a line can move again in the meantime. */
const MOVES_MAX = 3;

export class Orders<Custom> {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Creates an order and returns its ORDER_NUMBER. Add lines with `lines.add`, or use `createWithLines`. */
  create(fields: records.NewOrder<Custom>, options?: WriteOptions): Promise<string> {
    return write(this.#caller, 'createOrder', fields, options);
  }

  /**
   * Creates an order with its lines and returns its number and the lines. If it has at most 99 lines and 1 MiB, and no
   * more steps than the tenant's rate allows at once, it is one batch, which writes all or nothing. Otherwise it is
   * sent in several batches, and a failure can leave the order with only its first lines. The error then has its number
   * as `orderNumber`: call again with the same `idempotencyKey` to add the rest. Each batch has its own tries and time.
   */
  async createWithLines(
    order: records.NewOrder<Custom>,
    lines: readonly records.NewLine<Custom>[],
    options?: WriteOptions,
  ): Promise<records.WrittenOrder<Custom>> {
    const [orderNumber, ...added] = await writeInPieces(this.#caller, order, lines, options);
    return { orderNumber: orderNumber as string, lines: added as records.OrderLine<Custom>[] };
  }

  /** Returns an order and its lines. Throws `NOT_FOUND`. With `ifNoneMatch`, returns null if nothing has changed. */
  get<Name extends keyof records.OrderFields<Custom> = keyof records.OrderFields<Custom>>(
    orderNumber: string,
    options: ReadOptions<Name> & { readonly ifNoneMatch: string },
  ): Promise<records.Order<Custom, Name> | null>;
  get<Name extends keyof records.OrderFields<Custom> = keyof records.OrderFields<Custom>>(
    orderNumber: string,
    options?: ReadOptions<Name> & { readonly ifNoneMatch?: undefined },
  ): Promise<records.Order<Custom, Name>>;
  get(orderNumber: string, options?: ReadOptions<string>): Promise<object | null> {
    return read(this.#caller, 'getOrder', { orderNum: orderNumber }, options);
  }

  /** Reads like `get`, but returns undefined if there is no such order. */
  find<Name extends keyof records.OrderFields<Custom> = keyof records.OrderFields<Custom>>(
    orderNumber: string,
    options?: ReadOptions<Name> & { readonly ifNoneMatch?: undefined },
  ): Promise<records.Order<Custom, Name> | undefined> {
    return orUndefined(this.get(orderNumber, options));
  }

  /**
   * Queries the orders that match the filters, or all orders without filters. `include: 'lines'` adds the lines of
   * each.
   */
  query<Name extends keyof records.OrderFields<Custom> = keyof records.OrderFields<Custom>>(
    filters: readonly Filter<keyof records.OrderFields<Custom>>[] | undefined,
    options: QueryOptions<Name, keyof records.OrderFields<Custom>> & { readonly include: 'lines' },
  ): Query<Pick<records.OrderFields<Custom>, Name | 'ORDER_NUMBER'> & records.WithLines<Custom>>;
  query<Name extends keyof records.OrderFields<Custom> = keyof records.OrderFields<Custom>>(
    filters?: readonly Filter<keyof records.OrderFields<Custom>>[],
    options?: QueryOptions<Name, keyof records.OrderFields<Custom>> & { readonly include?: undefined },
  ): Query<Pick<records.OrderFields<Custom>, Name>>;
  query(
    filters: readonly Filter[] = [],
    options: QueryOptions<string> & { include?: 'lines' | undefined } = {},
  ): object {
    return query(this.#caller, 'queryOrders', filters, options);
  }

  /** Changes the given fields and returns the order. null and '' clear a field. */
  update(fields: records.OrderChange<Custom>, options?: ChangeOptions): Promise<records.OrderFields<Custom>> {
    return write(this.#caller, 'updateOrder', fields, options);
  }

  /**
   * Releases the stock of the order and returns the order. Cancelling a cancelled order succeeds. Cancelling an invoice
   * throws `ORDER_CLOSED`.
   */
  cancel(orderNumber: string, options?: ChangeOptions): Promise<records.OrderFields<Custom>> {
    return write(this.#caller, 'cancelOrder', { ORDER_NUMBER: orderNumber }, options);
  }

  /** Turns a worksheet or a quote into a sales order. Needs the scope `office`. */
  approve(orderNumber: string, options?: ChangeOptions): Promise<AdvancedOrder> {
    return write(this.#caller, 'approveOrder', { ORDER_NUMBER: orderNumber }, options);
  }

  /**
   * Invoices an order, or only the `lines`. The units left open move to a new sales order, the BACKORDER_NUMBER. Needs
   * the scope `office`.
   */
  invoice(orderNumber: string, details?: records.InvoiceDetails, options?: ChangeOptions): Promise<AdvancedOrder> {
    return write(this.#caller, 'invoiceOrder', { ...details, ORDER_NUMBER: orderNumber }, options);
  }

  /**
   * Puts the units of an invoice back in stock and returns the order, which is void. Voiding it again succeeds. Needs
   * the scope `office`.
   */
  void(orderNumber: string, details?: records.VoidDetails, options?: ChangeOptions): Promise<AdvancedOrder> {
    return write(this.#caller, 'voidInvoice', { ...details, ORDER_NUMBER: orderNumber }, options);
  }

  /**
   * Returns units of the `lines` of an invoice, and returns the ORDER_NUMBER of the return. The units are in stock
   * again, unless RESTOCK of the line is N. Needs the scope `office`.
   */
  returnLines(orderNumber: string, details: records.ReturnDetails, options?: ChangeOptions): Promise<string> {
    return write(this.#caller, 'returnOrder', { ...details, ORDER_NUMBER: orderNumber }, options);
  }

  /**
   * Returns every order with a storefront number, which usually begins with `#`. For a list of numbers, returns the
   * results in the same order, with one call for every 100 numbers, or more calls if the results are large.
   */
  byStorefrontReference(number: string, options?: CallOptions): Promise<StorefrontLookup>;
  byStorefrontReference(numbers: readonly string[], options?: CallOptions): Promise<StorefrontLookup[]>;
  async byStorefrontReference(
    numbers: string | readonly string[],
    options?: CallOptions,
  ): Promise<StorefrontLookup | StorefrontLookup[]> {
    if (typeof numbers !== 'string') return this.#lookUp(numbers, options);
    const lookup = { query: { storefront_order_number: numbers }, options };
    return (await this.#caller.call('findOrdersByStorefrontReference', lookup)).body as StorefrontLookup;
  }

  /** Looks up numbers. Splits the list if one response cannot contain all results. */
  async #lookUp(numbers: readonly string[], options: CallOptions | undefined): Promise<StorefrontLookup[]> {
    if (numbers.length === 0) return [];
    const inParts = async (size: number): Promise<StorefrontLookup[]> => [
      ...(await this.#lookUp(numbers.slice(0, size), options)),
      ...(await this.#lookUp(numbers.slice(size), options)),
    ];
    if (numbers.length > NUMBERS_MAX) return inParts(NUMBERS_MAX);
    try {
      const { body } = await this.#caller.call('findOrdersByStorefrontReferences', { body: numbers, options });
      return body as StorefrontLookup[];
    } catch (error) {
      if (!hasCode(error, 'RESULT_TOO_LARGE') || numbers.length === 1) throw error;
      return inParts(Math.ceil(numbers.length / 2));
    }
  }
}

export class Lines<Custom> {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Queries the lines of all orders that match the filters, such as those with a serial number. */
  query<Name extends keyof records.OrderLine<Custom> & string = keyof records.OrderLine<Custom> & string>(
    filters: readonly Filter<keyof records.OrderLine<Custom> & string>[] = [],
    options: QueryOptions<Name, keyof records.OrderLine<Custom> & string> = {},
  ): Query<Pick<records.OrderLine<Custom>, Name>> {
    return query(this.#caller, 'queryLines', filters, options);
  }

  /**
   * Adds a line to an order and returns the line with its LINE_REF_LOCK_CODE. `ifMatch` accepts the tag of the order.
   */
  add(fields: records.NewOrderLine<Custom>, options?: ChangeOptions): Promise<records.OrderLine<Custom>> {
    return write(this.#caller, 'addLineItem', fields, options);
  }

  /**
   * Changes the given fields of a line and returns the line. If a partial invoice has moved it to another order,
   * changes it there, unless `ifMatch` is set.
   */
  async update(
    fields: records.OrderLineChange<Custom>,
    options: ChangeOptions = {},
  ): Promise<records.OrderLine<Custom>> {
    const keyed = { idempotencyKey: crypto.randomUUID(), ...options };
    let sent = fields;
    for (let moves = 0; ; moves++)
      try {
        return await write(this.#caller, 'updateLineItem', sent, keyed);
      } catch (error) {
        const isMoved = hasCode(error, 'LINE_MOVED') && error.suggestion !== undefined;
        if (!isMoved || options.ifMatch !== undefined || moves === MOVES_MAX) throw error;
        sent = { ...fields, ORDER_NUMBER: error.suggestion };
      }
  }
}
