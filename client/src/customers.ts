/** Customers, and the reads by code and by query that they share with parts. */
import { orUndefined, query, read, write } from './calls.ts';
import type { Caller } from './caller.ts';
import type { Query } from './query.ts';
import type * as records from './records.ts';
import type { ChangeOptions, Filter, QueryOptions, ReadOptions, WithETag, WriteOptions } from './records.ts';

interface Reading {
  readonly get: 'getCustomer' | 'getInventoryItem';
  readonly query: 'queryCustomers' | 'queryInventoryItems';
  /** The parameter with the code of a record. */
  readonly key: string;
}

/** Records that are read by a code and by queries. */
export class Readable<Fields extends object> {
  readonly #caller: Caller;
  readonly #reading: Reading;

  constructor(caller: Caller, reading: Reading) {
    this.#caller = caller;
    this.#reading = reading;
  }

  /**
   * Returns the record with the code. Throws `NOT_FOUND`. With `ifNoneMatch`, returns null if the record is unchanged.
   */
  get<Name extends keyof Fields & string = keyof Fields & string>(
    code: string,
    options: ReadOptions<Name> & { readonly ifNoneMatch: string },
  ): Promise<(Pick<Fields, Name> & WithETag) | null>;
  get<Name extends keyof Fields & string = keyof Fields & string>(
    code: string,
    options?: ReadOptions<Name> & { readonly ifNoneMatch?: undefined },
  ): Promise<Pick<Fields, Name> & WithETag>;
  get(code: string, options?: ReadOptions<string>): Promise<object | null> {
    return read(this.#caller, this.#reading.get, { [this.#reading.key]: code }, options);
  }

  /** Reads like `get`, but returns undefined if there is no such record. */
  find<Name extends keyof Fields & string = keyof Fields & string>(
    code: string,
    options?: ReadOptions<Name> & { readonly ifNoneMatch?: undefined },
  ): Promise<(Pick<Fields, Name> & WithETag) | undefined> {
    return orUndefined(this.get(code, options));
  }

  /** Queries the records that match the filters, or all records without filters. */
  query<Name extends keyof Fields & string = keyof Fields & string>(
    filters: readonly Filter<keyof Fields & string>[] = [],
    options: QueryOptions<Name, keyof Fields & string> = {},
  ): Query<Pick<Fields, Name>> {
    return query(this.#caller, this.#reading.query, filters, options);
  }
}

export class Customers<Custom> extends Readable<records.Customer<Custom>> {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    super(caller, { get: 'getCustomer', query: 'queryCustomers', key: 'customerCode' });
    this.#caller = caller;
  }

  /**
   * Creates a customer and returns its CUSTOMER_CODE: yours if it is free (otherwise throws `CODE_TAKEN`), or the next
   * number.
   */
  create(fields: records.NewCustomer<Custom>, options?: WriteOptions): Promise<string> {
    return write(this.#caller, 'createCustomer', fields, options);
  }

  /** Changes the given fields and returns the CUSTOMER_CODE. null and '' clear a field. */
  update(fields: records.CustomerChange<Custom>, options?: ChangeOptions): Promise<string> {
    return write(this.#caller, 'updateCustomer', fields, options);
  }
}
