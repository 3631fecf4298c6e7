/** Parts, their stock and its ledger. The writes need a pair of keys with the scope `office`. */
import { write } from './calls.ts';
import type { Caller, CallOptions } from './caller.ts';
import type { Movement } from './contract.ts';
import { Readable } from './customers.ts';
import { Query } from './query.ts';
import type * as records from './records.ts';
import type { WriteOptions } from './records.ts';

export class Inventory<Custom> extends Readable<records.InventoryItem<Custom>> {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    super(caller, { get: 'getInventoryItem', query: 'queryInventoryItems', key: 'partCode' });
    this.#caller = caller;
  }

  /** Creates a part with nothing on hand and returns its PART_CODE. Throws `CODE_TAKEN` if the code is in use. */
  create(fields: records.NewPart<Custom>, options?: WriteOptions): Promise<string> {
    return write(this.#caller, 'createPart', fields, options);
  }

  /** Changes the given fields and returns the PART_CODE. null and '' clear a field. */
  update(fields: records.PartChange<Custom>, options?: WriteOptions): Promise<string> {
    return write(this.#caller, 'updatePart', fields, options);
  }
}

/**
 * Changes of QTY_ONHAND, and their ledger. Each change returns the part, or throws `RECORD_CHANGED` if FROM_QUANTITY is
 * set and is not QTY_ONHAND.
 */
export class Stock<Custom> {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Adds received units, and takes them off QTY_ONORDER. */
  receive(
    code: string,
    quantity: string | number,
    details?: records.StockDetails,
    options?: WriteOptions,
  ): Promise<records.StockedPart<Custom>> {
    return this.#write('receiveStock', code, quantity, details, options);
  }

  /** Sets QTY_ONHAND to the counted units. Of a SERIALIZED part, the serial numbers that are not given leave stock. */
  count(
    code: string,
    quantity: string | number,
    details?: records.StockDetails,
    options?: WriteOptions,
  ): Promise<records.StockedPart<Custom>> {
    return this.#write('countStock', code, quantity, details, options);
  }

  /** Adds units, or removes them if the quantity is negative, for a REASON. */
  adjust(
    code: string,
    quantity: string | number,
    details: records.AdjustmentDetails,
    options?: WriteOptions,
  ): Promise<records.StockedPart<Custom>> {
    return this.#write('adjustStock', code, quantity, details, options);
  }

  /** Returns the movements of a part in the order of NUMBER. A page's cursor is the NUMBER that it begins after. */
  movements(
    code: string,
    { pageSize, ...options }: CallOptions & { readonly pageSize?: number | undefined } = {},
  ): Omit<Query<Movement>, 'count'> {
    return new Query(async ({ cursor: after, pageSize: size = pageSize }) => {
      const query = { partCode: code, after, maxReturn: size?.toString() };
      const { headers, body } = await this.#caller.call('listMovements', { query, options });
      const { data: records } = body as { readonly data: readonly Movement[] };
      const cursor = headers.get('X-Has-More') === 'true' ? headers.get('X-Next-After')! : undefined;
      return { records, cursor, total: undefined };
    });
  }

  #write(
    operation: 'receiveStock' | 'countStock' | 'adjustStock',
    PART_CODE: string,
    QUANTITY: string | number,
    details: records.StockDetails | undefined,
    options: WriteOptions | undefined,
  ): Promise<records.StockedPart<Custom>> {
    return write(this.#caller, operation, { ...details, PART_CODE, QUANTITY }, options);
  }
}
