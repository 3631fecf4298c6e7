/** Types of records with the custom fields of a tenant: to read, write, filter and sort. */
import type { CallOptions } from './caller.ts';
import type * as contract from './contract.ts';

export type RecordType = 'orders' | 'lines' | 'customers' | 'inventory';

/** Names of a tenant's custom fields: `{ orders: 'GIFT_NOTE' | 'GIFT_WRAP' }`. `Uppercase<string>` allows any name. */
export type CustomFields = { readonly [Type in RecordType]?: Uppercase<string> };

type NamesOf<Custom, Type extends RecordType> = Type extends keyof Custom
  ? Custom[Type] extends string
    ? Custom[Type]
    : never
  : never;
/** Fields of a record that was read: every value is a text. */
type Read<Custom, Type extends RecordType> = { readonly [Name in NamesOf<Custom, Type>]: string };
/** Fields of a record to write. */
export type Written<Custom, Type extends RecordType> = {
  readonly [Name in NamesOf<Custom, Type>]?: contract.Value | undefined;
};

/** The fields of an order, without its lines. */
export type OrderFields<Custom = unknown> = contract.Order & Read<Custom, 'orders'>;
export type OrderLine<Custom = unknown> = contract.OrderLine & Read<Custom, 'lines'>;
export type Customer<Custom = unknown> = contract.Customer & Read<Custom, 'customers'>;
export type InventoryItem<Custom = unknown> = contract.InventoryItem & Read<Custom, 'inventory'>;

export type NewOrder<Custom = unknown> = contract.NewOrder & Written<Custom, 'orders'>;
export type OrderChange<Custom = unknown> = contract.OrderChange & Written<Custom, 'orders'>;
export type NewOrderLine<Custom = unknown> = contract.NewOrderLine & Written<Custom, 'lines'>;
/** A line that is written together with its order. */
export type NewLine<Custom = unknown> = Omit<contract.NewOrderLine, 'ORDER_NUMBER'> & Written<Custom, 'lines'>;
export type OrderLineChange<Custom = unknown> = contract.OrderLineChange & Written<Custom, 'lines'>;
export type NewCustomer<Custom = unknown> = contract.NewCustomer & Written<Custom, 'customers'>;
export type CustomerChange<Custom = unknown> = contract.CustomerChange & Written<Custom, 'customers'>;
export type NewPart<Custom = unknown> = contract.NewPart & Written<Custom, 'inventory'>;
export type PartChange<Custom = unknown> = contract.PartChange & Written<Custom, 'inventory'>;

/** The lines to invoice and how they ship, without the order. */
export type InvoiceDetails = Omit<contract.Invoice, 'ORDER_NUMBER'>;
/** A line to invoice, and its units. */
export type InvoiceLine = NonNullable<contract.Invoice['lines']>[number];
export type VoidDetails = Omit<contract.InvoiceToVoid, 'ORDER_NUMBER'>;
/** The lines to return, and fields of the return, without the invoice. */
export type ReturnDetails = Omit<contract.Return, 'ORDER_NUMBER'>;
/** A line to return, and its units. */
export type ReturnLine = contract.Return['lines'][number];
/** Members of a change of stock besides the part and the units. */
export type StockDetails = Omit<contract.StockReceipt, 'PART_CODE' | 'QUANTITY'>;
export type AdjustmentDetails = StockDetails & { readonly REASON: contract.Value };
/** A part after a change of its stock. */
export type StockedPart<Custom = unknown> = InventoryItem<Custom> & {
  /** The serial numbers in stock, separated by commas, if the part is SERIALIZED. */
  readonly SERIAL_NUMBERS?: string | undefined;
};

/** The lines of an order, by LINE_NUMBER. */
export interface WithLines<Custom> {
  readonly lines: readonly OrderLine<Custom>[];
}

/** The order and lines that `createWithLines` has written. */
export interface WrittenOrder<Custom = unknown> extends WithLines<Custom> {
  readonly orderNumber: string;
}

/** An order read by its number. */
export type Order<Custom = unknown, Name extends keyof OrderFields<Custom> = keyof OrderFields<Custom>> = Pick<
  OrderFields<Custom>,
  Name
> &
  WithLines<Custom> &
  WithETag;

/** Version of the record, for `ifMatch` of a write and `ifNoneMatch` of the next read. */
export interface WithETag {
  readonly etag: string;
}

type Scalar = string | number | boolean;
type Op = NonNullable<contract.Filter['op']>;

/** A condition on a field. AND, the default, binds tighter than OR; the first filter's conjunction is ignored. */
export type Filter<Name extends string = string> = {
  readonly field: Name;
  readonly conjunction?: 'AND' | 'OR' | undefined;
} & (
  | { readonly op?: Exclude<Op, 'in' | 'empty' | 'not_empty'> | undefined; readonly value: Scalar }
  | { readonly op: 'in'; readonly value: readonly Scalar[] }
  | { readonly op: 'empty' | 'not_empty'; readonly value?: undefined }
);

export interface ReadOptions<Name extends string> extends CallOptions {
  /** The only fields to return. Lines have all their fields. */
  readonly fields?: readonly Name[] | undefined;
  /** The `etag` of the last read. The result is null if the record is unchanged. */
  readonly ifNoneMatch?: string | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Identifies the write, so that it takes effect only once. By default, each call has a new key. */
  readonly idempotencyKey?: string | undefined;
}

export interface ChangeOptions extends WriteOptions {
  /** The `etag` of the record that you read. If the record has changed since, the write throws `RECORD_CHANGED`. */
  readonly ifMatch?: string | undefined;
}

export interface QueryOptions<Name extends string, Sortable extends string = string> extends CallOptions {
  /** The indexed field to sort by. A `-` before it sorts in descending order. */
  readonly sort?: Sortable | `-${Sortable}` | undefined;
  /** The only fields to return. */
  readonly fields?: readonly Name[] | undefined;
  /** Records per page: 500 by default, at most 5,000. */
  readonly pageSize?: number | undefined;
}
