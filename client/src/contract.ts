/** Written by `npm run generate` from the contract; change the code, not this file. */

/** Method and path of each operation. */
export const OPERATIONS = {
  getOrder: ['GET', '/orders/single'],
  queryOrders: ['POST', '/orders/query'],
  queryLines: ['POST', '/lines/query'],
  findOrdersByStorefrontReference: ['GET', '/orders/by_storefront_reference'],
  findOrdersByStorefrontReferences: ['POST', '/orders/by_storefront_reference'],
  createOrder: ['PUT', '/orders/create'],
  addLineItem: ['PUT', '/orders/line_item'],
  updateLineItem: ['POST', '/orders/line_item'],
  updateOrder: ['POST', '/orders/update'],
  cancelOrder: ['POST', '/orders/cancel'],
  approveOrder: ['POST', '/orders/approve'],
  invoiceOrder: ['POST', '/orders/invoice'],
  returnOrder: ['PUT', '/orders/return'],
  voidInvoice: ['POST', '/orders/void'],
  getCustomer: ['GET', '/customers/single'],
  queryCustomers: ['POST', '/customers/query'],
  createCustomer: ['PUT', '/customers/create'],
  updateCustomer: ['POST', '/customers/update'],
  getInventoryItem: ['GET', '/inventory/single'],
  queryInventoryItems: ['POST', '/inventory/query'],
  listMovements: ['GET', '/stock/movements'],
  createPart: ['PUT', '/inventory/create'],
  updatePart: ['POST', '/inventory/update'],
  receiveStock: ['POST', '/stock/receive'],
  countStock: ['POST', '/stock/count'],
  adjustStock: ['POST', '/stock/adjust'],
  batch: ['POST', '/batch'],
  listChanges: ['GET', '/changes'],
  listFields: ['GET', '/fields'],
  getUsage: ['GET', '/usage'],
} as const;

/** The operations that a batch accepts, and the data that each of them returns. */
export interface BatchOperations {
  readonly createOrder: { readonly body: NewOrder; readonly data: string };
  readonly addLineItem: { readonly body: NewOrderLine; readonly data: OrderLine };
  readonly updateLineItem: { readonly body: OrderLineChange; readonly data: OrderLine };
  readonly createCustomer: { readonly body: NewCustomer; readonly data: string };
  readonly updateCustomer: { readonly body: CustomerChange; readonly data: string };
  readonly updateOrder: { readonly body: OrderChange; readonly data: Order };
  readonly cancelOrder: { readonly body: OrderToCancel; readonly data: Order };
  readonly approveOrder: { readonly body: OrderToApprove; readonly data: AdvancedOrder };
  readonly invoiceOrder: { readonly body: Invoice; readonly data: AdvancedOrder };
  readonly voidInvoice: { readonly body: InvoiceToVoid; readonly data: AdvancedOrder };
  readonly returnOrder: { readonly body: Return; readonly data: string };
  readonly createPart: { readonly body: NewPart; readonly data: string };
  readonly updatePart: { readonly body: PartChange; readonly data: string };
  readonly receiveStock: { readonly body: StockReceipt; readonly data: InventoryItem };
  readonly countStock: { readonly body: StockCount; readonly data: InventoryItem };
  readonly adjustStock: { readonly body: StockAdjustment; readonly data: InventoryItem };
}

/** Every field of the record, including custom fields; "" if a field has no value. */
export interface Order extends Addresses {
  /** Order number, assigned by PIMS. Identifies the order in every call. */
  readonly ORDER_NUMBER: string;
  /** Stage of the order. */
  readonly ORDER_TYPE: Stage;
  /** Storefront order number, with its leading #. */
  readonly REFERENCE_NUMBER: string;
  /** CUSTOMER_CODE of the customer who ordered. */
  readonly CUSTOMER_CODE: string;
  /** Location the order belongs to. */
  readonly LOCATION_CODE: string;
  /** Date of the order. */
  readonly ORDER_DATE: CalendarDate;
  /** Free-text status, separate from the stage. */
  readonly ORDER_STATUS: string;
  /** Salesperson. */
  readonly SALESPERSON_CODE: string;
  /** Customer's purchase order number. */
  readonly PO_NUMBER: string;
  /** Payment terms. */
  readonly TERMS_CODE: string;
  /** Carrier or shipping method. */
  readonly SHIP_VIA: string;
  /** Whether the supplier ships the order. If so, the order moves no stock. */
  readonly DROP_SHIP: Flag;
  /** Tracking numbers, separated by commas. */
  readonly TRACKING_NUMBERS: string;
  /** Notes. */
  readonly NOTES: string;
  /** Sum of the lines. Recalculated automatically unless you set it. */
  readonly SUBTOTAL: Decimal;
  /** Shipping charge. */
  readonly FREIGHT: Decimal;
  /** Total tax. */
  readonly TAX_TOTAL: Decimal;
  /** Sum of SUBTOTAL, FREIGHT and TAX_TOTAL. Recalculated automatically unless you set it. */
  readonly ORDER_TOTAL: Decimal;
  /** ORDER_NUMBER of the order whose open units a partial invoice moved here. */
  readonly BACKORDER_OF: string;
  /** ORDER_NUMBER of the invoice that this order returns units of. */
  readonly RETURN_OF: string;
  /** Time the record was created. */
  readonly CREATE_DATE: Timestamp;
  /** Time of the last change. */
  readonly MODIFIED_DATE: Timestamp;
}

/** Every field of the record, including custom fields; "" if a field has no value. */
export interface OrderLine {
  /** ORDER_NUMBER of the order the line belongs to. */
  readonly ORDER_NUMBER: string;
  /** Number of the line within its order. */
  readonly LINE_NUMBER: Decimal;
  /** PART_CODE of the part ordered. */
  readonly PART_CODE: string;
  /** Description of the item. Defaults to the part's description. */
  readonly DESCRIPTION: string;
  /** Units ordered. Defaults to 1; negative for a return. */
  readonly QUANTITY: Decimal;
  /** Units shipped, from 0 to QUANTITY. */
  readonly NUMBER_SHIPPED: Decimal;
  /** Price of one unit. Defaults to the part's price. */
  readonly UNIT_PRICE: Decimal;
  /** Discount on the line in percent. */
  readonly DISCOUNT: Decimal;
  /** Serial numbers of the units shipped, separated by commas. */
  readonly SERIAL_NUMBERS: string;
  /** Whether the line is a care plan, which has no serial numbers. */
  readonly CARE_PLAN: Flag;
  /** Identifies the line in updates. Never changes. */
  readonly LINE_REF_LOCK_CODE: string;
  /** Time the record was created. */
  readonly CREATE_DATE: Timestamp;
  /** Time of the last change. */
  readonly MODIFIED_DATE: Timestamp;
}

/** Every field of the record, including custom fields; "" if a field has no value. */
export interface Customer extends Addresses {
  /** Code that identifies the customer. */
  readonly CUSTOMER_CODE: string;
  /** Name of the customer. */
  readonly CUSTOMER_NAME: string;
  /** Payment terms. */
  readonly TERMS_CODE: string;
  /** Credit limit. */
  readonly CREDIT_LIMIT: Decimal;
  /** Notes. */
  readonly NOTES: string;
  /** Time the record was created. */
  readonly CREATE_DATE: Timestamp;
  /** Time of the last change. */
  readonly MODIFIED_DATE: Timestamp;
}

/** Every field of the record, including custom fields; "" if a field has no value. */
export interface InventoryItem {
  /** Code that identifies the part. */
  readonly PART_CODE: string;
  /** Description of the part. */
  readonly PART_DESCRIPTION: string;
  /** Barcode. */
  readonly BARCODE: string;
  /** Category. */
  readonly CATEGORY: string;
  /** Location that holds the stock. */
  readonly LOCATION_CODE: string;
  /** Units in stock. */
  readonly QTY_ONHAND: Decimal;
  /** Units that open sales orders hold. */
  readonly QTY_COMMITTED: Decimal;
  /** QTY_ONHAND less QTY_COMMITTED; may be negative. */
  readonly QTY_AVAILABLE: Decimal;
  /** Units ordered from suppliers. */
  readonly QTY_ONORDER: Decimal;
  /** Price of one unit. */
  readonly UNIT_PRICE: Decimal;
  /** Cost of one unit. */
  readonly UNIT_COST: Decimal;
  /** Whether each unit has a serial number. */
  readonly SERIALIZED: Flag;
  /** Whether the part is a care plan. */
  readonly CARE_PLAN: Flag;
  /** Time the record was created. */
  readonly CREATE_DATE: Timestamp;
  /** Time of the last change. */
  readonly MODIFIED_DATE: Timestamp;
}

export interface StorefrontLookup {
  /** The number in the request. */
  readonly storefront_order_number: string;
  /** The orders, sorted by stage (invoices, sales orders, quotes, worksheets) and then by age, newest first. */
  readonly orders: readonly StorefrontOrder[];
}

/** Fields of the new order. */
export interface NewOrder extends AddressValues {
  /** Stage of the order. */
  readonly ORDER_TYPE?: FirstStage | undefined;
  /** Storefront order number, with its leading #. */
  readonly REFERENCE_NUMBER?: Value | undefined;
  /** CUSTOMER_CODE of the customer who ordered. */
  readonly CUSTOMER_CODE?: Value | undefined;
  /** Location the order belongs to. */
  readonly LOCATION_CODE?: Value | undefined;
  /** Date of the order. */
  readonly ORDER_DATE?: CalendarDateValue | undefined;
  /** Free-text status, separate from the stage. */
  readonly ORDER_STATUS?: Value | undefined;
  /** Salesperson. */
  readonly SALESPERSON_CODE?: Value | undefined;
  /** Customer's purchase order number. */
  readonly PO_NUMBER?: Value | undefined;
  /** Payment terms. */
  readonly TERMS_CODE?: Value | undefined;
  /** Carrier or shipping method. */
  readonly SHIP_VIA?: Value | undefined;
  /** Whether the supplier ships the order. If so, the order moves no stock. */
  readonly DROP_SHIP?: FlagValue | undefined;
  /** Tracking numbers, separated by commas. */
  readonly TRACKING_NUMBERS?: Value | undefined;
  /** Notes. */
  readonly NOTES?: Value | undefined;
  /** Sum of the lines. Recalculated automatically unless you set it. */
  readonly SUBTOTAL?: DecimalValue | undefined;
  /** Shipping charge. */
  readonly FREIGHT?: DecimalValue | undefined;
  /** Total tax. */
  readonly TAX_TOTAL?: DecimalValue | undefined;
  /** Sum of SUBTOTAL, FREIGHT and TAX_TOTAL. Recalculated automatically unless you set it. */
  readonly ORDER_TOTAL?: DecimalValue | undefined;
}

/** The order and the fields of the new line. */
export interface NewOrderLine {
  /** ORDER_NUMBER of the order the line belongs to. */
  readonly ORDER_NUMBER: Value;
  /** PART_CODE of the part ordered. */
  readonly PART_CODE?: Value | undefined;
  /** Description of the item. Defaults to the part's description. */
  readonly DESCRIPTION?: Value | undefined;
  /** Units ordered. Defaults to 1; negative for a return. */
  readonly QUANTITY?: DecimalValue | undefined;
  /** Price of one unit. Defaults to the part's price. */
  readonly UNIT_PRICE?: DecimalValue | undefined;
  /** Discount on the line in percent. */
  readonly DISCOUNT?: DecimalValue | undefined;
  /** Serial numbers of the units shipped, separated by commas. */
  readonly SERIAL_NUMBERS?: Value | undefined;
  /** Whether the line is a care plan, which has no serial numbers. */
  readonly CARE_PLAN?: FlagValue | undefined;
}

/** The line and the fields to change. */
export interface OrderLineChange extends NewOrderLine {
  /** ORDER_NUMBER of the order the line belongs to. */
  readonly ORDER_NUMBER: Value;
  /** Units shipped, from 0 to QUANTITY. */
  readonly NUMBER_SHIPPED?: DecimalValue | undefined;
  /** Identifies the line in updates. Never changes. */
  readonly LINE_REF_LOCK_CODE: Value;
}

/** The order and the fields to change. */
export interface OrderChange extends AddressValues {
  /** Order number, assigned by PIMS. Identifies the order in every call. */
  readonly ORDER_NUMBER: Value;
  /** Storefront order number, with its leading #. */
  readonly REFERENCE_NUMBER?: Value | undefined;
  /** CUSTOMER_CODE of the customer who ordered. */
  readonly CUSTOMER_CODE?: Value | undefined;
  /** Location the order belongs to. */
  readonly LOCATION_CODE?: Value | undefined;
  /** Date of the order. */
  readonly ORDER_DATE?: CalendarDateValue | undefined;
  /** Free-text status, separate from the stage. */
  readonly ORDER_STATUS?: Value | undefined;
  /** Salesperson. */
  readonly SALESPERSON_CODE?: Value | undefined;
  /** Customer's purchase order number. */
  readonly PO_NUMBER?: Value | undefined;
  /** Payment terms. */
  readonly TERMS_CODE?: Value | undefined;
  /** Carrier or shipping method. */
  readonly SHIP_VIA?: Value | undefined;
  /** Whether the supplier ships the order. If so, the order moves no stock. */
  readonly DROP_SHIP?: FlagValue | undefined;
  /** Tracking numbers, separated by commas. */
  readonly TRACKING_NUMBERS?: Value | undefined;
  /** Notes. */
  readonly NOTES?: Value | undefined;
  /** Sum of the lines. Recalculated automatically unless you set it. */
  readonly SUBTOTAL?: DecimalValue | undefined;
  /** Shipping charge. */
  readonly FREIGHT?: DecimalValue | undefined;
  /** Total tax. */
  readonly TAX_TOTAL?: DecimalValue | undefined;
  /** Sum of SUBTOTAL, FREIGHT and TAX_TOTAL. Recalculated automatically unless you set it. */
  readonly ORDER_TOTAL?: DecimalValue | undefined;
}

/** Fields of the new customer. */
export interface NewCustomer extends AddressValues {
  /** Code that identifies the customer. */
  readonly CUSTOMER_CODE?: Value | undefined;
  /** Name of the customer. */
  readonly CUSTOMER_NAME?: Value | undefined;
  /** Payment terms. */
  readonly TERMS_CODE?: Value | undefined;
  /** Credit limit. */
  readonly CREDIT_LIMIT?: DecimalValue | undefined;
  /** Notes. */
  readonly NOTES?: Value | undefined;
}

/** The customer and the fields to change. */
export interface CustomerChange extends NewCustomer {
  /** Code that identifies the customer. */
  readonly CUSTOMER_CODE: Value;
}

/** Fields of the new part. */
export interface NewPart {
  /** Code that identifies the part. */
  readonly PART_CODE: Value;
  /** Description of the part. */
  readonly PART_DESCRIPTION?: Value | undefined;
  /** Barcode. */
  readonly BARCODE?: Value | undefined;
  /** Category. */
  readonly CATEGORY?: Value | undefined;
  /** Location that holds the stock. */
  readonly LOCATION_CODE?: Value | undefined;
  /** Units ordered from suppliers. */
  readonly QTY_ONORDER?: DecimalValue | undefined;
  /** Price of one unit. */
  readonly UNIT_PRICE?: DecimalValue | undefined;
  /** Cost of one unit. */
  readonly UNIT_COST?: DecimalValue | undefined;
  /** Whether each unit has a serial number. */
  readonly SERIALIZED?: FlagValue | undefined;
  /** Whether the part is a care plan. */
  readonly CARE_PLAN?: FlagValue | undefined;
}

/** The part and the fields to change. */
export interface PartChange extends NewPart {
  /** Code that identifies the part. */
  readonly PART_CODE: Value;
}

export interface Filter {
  /** Name of a field of the queried records. */
  readonly field: string;
  /**
   * The value, at most 256 characters. The op `in` needs a list of 1 to 100 values. The ops `empty` and `not_empty`
   * accept no value.
   */
  readonly value?: string | number | boolean | readonly (string | number | boolean)[] | undefined;
  /** How to compare the field with the value. Default eq. */
  readonly op?:
   
    | 'eq'
    | 'ne'
    | 'lt'
    | 'le'
    | 'gt'
    | 'ge'
    | 'in'
    | 'starts_with'
    | 'contains'
    | 'empty'
    | 'not_empty'
    | undefined;
  /** true is the same as the op `contains`, which ignores case. Default false. */
  readonly contains?: boolean | undefined;
  /** Joins the filter to the previous one. AND binds tighter than OR. Default AND. */
  readonly conjunction?: 'AND' | 'OR' | undefined;
}

/** Every code is described at /docs/errors. */
export type ErrorCode =
 
  | 'MISSING_TEAM_ID'
  | 'INVALID_CREDENTIALS'
  | 'MISSING_PARAMETER'
  | 'INVALID_PARAMETER'
  | 'UNKNOWN_PARAMETER'
  | 'PARAMETER_CONFLICT'
  | 'INVALID_CURSOR'
  | 'INVALID_JSON'
  | 'INVALID_BODY'
  | 'BODY_NOT_ALLOWED'
  | 'MALFORMED_REQUEST'
  | 'MISSING_FIELD'
  | 'UNKNOWN_FIELD'
  | 'FIELD_NOT_ALLOWED'
  | 'INVALID_VALUE'
  | 'FIELD_NOT_SORTABLE'
  | 'INVALID_FILTER'
  | 'TOO_MANY_FILTERS'
  | 'QUERY_TOO_COSTLY'
  | 'ORDER_NOT_FOUND'
  | 'LINE_NOT_FOUND'
  | 'LINE_MOVED'
  | 'CUSTOMER_NOT_FOUND'
  | 'PART_NOT_FOUND'
  | 'CODE_TAKEN'
  | 'UNKNOWN_REFERENCE'
  | 'STAGE_NOT_ALLOWED'
  | 'ORDER_CLOSED'
  | 'QUANTITY_NOT_ALLOWED'
  | 'SERIALS_NOT_ALLOWED'
  | 'TOO_MANY_LINES'
  | 'BATCH_TOO_LONG'
  | 'UNKNOWN_OPERATION'
  | 'INVALID_REFERENCE'
  | 'SCOPE_MISSING'
  | 'NOT_FOUND'
  | 'CHANGES_GONE'
  | 'IDEMPOTENCY_KEY_RUNNING'
  | 'RECORD_CHANGED'
  | 'TAG_WEAKENED'
  | 'BODY_TOO_LARGE'
  | 'URL_TOO_LONG'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RESULT_TOO_LARGE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'INVALID_IDEMPOTENCY_KEY'
  | 'INVALID_IF_MATCH'
  | 'PRECONDITION_NOT_ALLOWED'
  | 'QUOTA_EXCEEDED'
  | 'RATE_LIMITED'
  | 'TOO_MANY_QUERIES'
  | 'TOO_MANY_WAITING'
  | 'HEADERS_TOO_LARGE'
  | 'INTERNAL_ERROR'
  | 'SERVICE_BUSY'
  | 'STORE_UNAVAILABLE'
  | 'TENANT_UNAVAILABLE'
  | 'STORAGE_FULL';

/** The ORDER_NUMBER. */
interface OrderToCancel {
  /** The ORDER_NUMBER. */
  readonly ORDER_NUMBER: Value;
}

/** The ORDER_NUMBER. */
interface OrderToApprove {
  /** The ORDER_NUMBER. */
  readonly ORDER_NUMBER: Value;
}

export interface AdvancedOrder {
  /** The order. */
  readonly ORDER_NUMBER: string;
  /** Its stage now. */
  readonly ORDER_TYPE: Stage;
  /** Its ORDER_STATUS now. */
  readonly ORDER_STATUS: string;
  /** The sales order with the units that a partial invoice leaves open, or "". */
  readonly BACKORDER_NUMBER: string;
}

/** The order, and optionally the lines to invoice. */
export interface Invoice {
  /** The ORDER_NUMBER. */
  readonly ORDER_NUMBER: Value;
  /** The lines to invoice. All other lines stay open. Without lines, everything is invoiced. */
  readonly lines?: readonly {
    /** The line. */
    readonly LINE_REF_LOCK_CODE: Value;
    /** The units to invoice. */
    readonly QUANTITY: DecimalValue;
    /** Serial numbers, separated by commas. A SERIALIZED part needs one for each unit. */
    readonly SERIAL_NUMBERS?: string | number | null | undefined;
  }[] | undefined;
  /** Tracking numbers, separated by commas. They are added to those of the order. */
  readonly TRACKING_NUMBERS?: Value | undefined;
  /** The SHIP_VIA of the invoice. */
  readonly SHIP_VIA?: Value | undefined;
}

/** The ORDER_NUMBER. */
export interface InvoiceToVoid {
  /** The ORDER_NUMBER. */
  readonly ORDER_NUMBER: Value;
  /** Why. The ledger keeps it. */
  readonly REASON?: string | number | null | undefined;
}

/** The invoice and the lines to return. */
export interface Return {
  /** The ORDER_NUMBER. */
  readonly ORDER_NUMBER: Value;
  /** The lines to return. */
  readonly lines: readonly {
    /** The line. */
    readonly LINE_REF_LOCK_CODE: Value;
    /** The units to return. */
    readonly QUANTITY: DecimalValue;
    /** Serial numbers, separated by commas. A SERIALIZED part needs one for each unit. */
    readonly SERIAL_NUMBERS?: string | number | null | undefined;
    /** Whether the units are in stock again. Default Y. */
    readonly RESTOCK?: FlagValue | undefined;
  }[];
  /** The REFERENCE_NUMBER of the return. Default: the one of the invoice. */
  readonly REFERENCE_NUMBER?: Value | undefined;
  /** The NOTES of the return. */
  readonly NOTES?: Value | undefined;
  /** Why. The ledger keeps it. */
  readonly REASON?: string | number | null | undefined;
}

/** The part and the units. */
export interface StockReceipt {
  /** The PART_CODE. */
  readonly PART_CODE: Value;
  /** The units received, more than 0. */
  readonly QUANTITY: DecimalValue;
  /** Serial numbers, separated by commas. A SERIALIZED part needs one for each unit. */
  readonly SERIAL_NUMBERS?: string | number | null | undefined;
  /** Why. The ledger keeps it. */
  readonly REASON?: string | number | null | undefined;
  /** The QTY_ONHAND that you read. If it is another now, nothing is written. */
  readonly FROM_QUANTITY?: string | number | undefined;
}

/** The part and the units. */
interface StockCount {
  /** The PART_CODE. */
  readonly PART_CODE: Value;
  /** The units counted, 0 or more. */
  readonly QUANTITY: DecimalValue;
  /** Serial numbers, separated by commas. A SERIALIZED part needs one for each unit. */
  readonly SERIAL_NUMBERS?: string | number | null | undefined;
  /** Why. The ledger keeps it. */
  readonly REASON?: string | number | null | undefined;
  /** The QTY_ONHAND that you read. If it is another now, nothing is written. */
  readonly FROM_QUANTITY?: string | number | undefined;
}

/** The part and the units. */
interface StockAdjustment {
  /** The PART_CODE. */
  readonly PART_CODE: Value;
  /** The units to add; negative to remove. */
  readonly QUANTITY: DecimalValue;
  /** Serial numbers, separated by commas. A SERIALIZED part needs one for each unit. */
  readonly SERIAL_NUMBERS?: string | number | null | undefined;
  /** Why. The ledger keeps it. */
  readonly REASON?: string | number | null | undefined;
  /** The QTY_ONHAND that you read. If it is another now, nothing is written. */
  readonly FROM_QUANTITY?: string | number | undefined;
}

/** Stage of an order. */
export type Stage = 'worksheet' | 'quote' | 'sales_order' | 'invoice';

/** Date as mm/dd/yyyy, or "". */
type CalendarDate = string;

/** Y, N, or "". */
type Flag = 'Y' | 'N' | '';

/** Decimal number without trailing zeros, or "". */
type Decimal = string;

interface Addresses {
  /** Billing name. */
  readonly BNAME: string;
  /** Billing attention line. */
  readonly BATTN: string;
  /** Billing address, first line. */
  readonly BADDRESS1: string;
  /** Billing address, second line. */
  readonly BADDRESS2: string;
  /** Billing city. */
  readonly BCITY: string;
  /** Billing state. */
  readonly BSTATE: string;
  /** Billing ZIP or postal code. */
  readonly BZIPCODE: string;
  /** Billing country. */
  readonly BCOUNTRY: string;
  /** Billing phone number. */
  readonly BPHONE: string;
  /** Billing email address. */
  readonly BEMAIL: string;
  /** Shipping name. */
  readonly SNAME: string;
  /** Shipping attention line. */
  readonly SATTN: string;
  /** Shipping address, first line. */
  readonly SADDRESS1: string;
  /** Shipping address, second line. */
  readonly SADDRESS2: string;
  /** Shipping city. */
  readonly SCITY: string;
  /** Shipping state. */
  readonly SSTATE: string;
  /** Shipping ZIP or postal code. */
  readonly SZIPCODE: string;
  /** Shipping country. */
  readonly SCOUNTRY: string;
  /** Shipping phone number. */
  readonly SPHONE: string;
  /** Shipping email address. */
  readonly SEMAIL: string;
}

/** UTC time in ISO 8601, or "". */
type Timestamp = string;

export interface StorefrontOrder {
  readonly order_type: Stage;
  /** ORDER_NUMBER of the order. */
  readonly pims_order_number: string | null;
  /** Time of creation (UTC, ISO 8601), or null if unknown. */
  readonly create_date: string | null;
  /** Time of the last change (UTC, ISO 8601), or null if unknown. */
  readonly modified_date: string | null;
  /** Tracking numbers of the order. */
  readonly tracking_numbers: readonly string[];
  /** Whether the supplier ships the order. */
  readonly is_dropship: boolean;
  readonly shipping_address: {
    /** SNAME of the order. */
    readonly name: string;
    /** SATTN of the order. */
    readonly attention: string;
    /** SADDRESS1 of the order. */
    readonly address_1: string;
    /** SADDRESS2 of the order. */
    readonly address_2: string;
    /** SCITY of the order. */
    readonly city: string;
    /** SSTATE of the order. */
    readonly state: string;
    /** SZIPCODE of the order. */
    readonly zip: string;
    /** SCOUNTRY of the order. */
    readonly country: string;
    /** SPHONE of the order. */
    readonly phone: string;
  };
  /** The lines of the order. */
  readonly items: readonly StorefrontItem[];
  /** Present only if the order is cancelled or void. */
  readonly cancelled?: true | undefined;
  /** Present only on a return: ORDER_NUMBER of its invoice. */
  readonly return_of?: string | undefined;
}

/** Stage of a new order. null and "" select the default stage of the tenant. */
type FirstStage = 'worksheet' | 'quote' | 'sales_order' | '' | null;

/** Value of a field. Numbers and booleans are stored as text; null and "" clear the field. */
export type Value = string | number | boolean | null;

/** Date as m/d/yyyy or yyyy-mm-dd; null and "" clear the field. */
type CalendarDateValue = string | null;

/** Y, N, true, false, 1 or 0, ignoring case; null and "" clear the field. */
type FlagValue = 'Y' | 'N' | '' | true | false | 1 | 0 | null;

/** Decimal number; null and "" clear the field. */
type DecimalValue = string | number | null;

interface AddressValues {
  /** Billing name. */
  readonly BNAME?: Value | undefined;
  /** Billing attention line. */
  readonly BATTN?: Value | undefined;
  /** Billing address, first line. */
  readonly BADDRESS1?: Value | undefined;
  /** Billing address, second line. */
  readonly BADDRESS2?: Value | undefined;
  /** Billing city. */
  readonly BCITY?: Value | undefined;
  /** Billing state. */
  readonly BSTATE?: Value | undefined;
  /** Billing ZIP or postal code. */
  readonly BZIPCODE?: Value | undefined;
  /** Billing country. */
  readonly BCOUNTRY?: Value | undefined;
  /** Billing phone number. */
  readonly BPHONE?: Value | undefined;
  /** Billing email address. */
  readonly BEMAIL?: Value | undefined;
  /** Shipping name. */
  readonly SNAME?: Value | undefined;
  /** Shipping attention line. */
  readonly SATTN?: Value | undefined;
  /** Shipping address, first line. */
  readonly SADDRESS1?: Value | undefined;
  /** Shipping address, second line. */
  readonly SADDRESS2?: Value | undefined;
  /** Shipping city. */
  readonly SCITY?: Value | undefined;
  /** Shipping state. */
  readonly SSTATE?: Value | undefined;
  /** Shipping ZIP or postal code. */
  readonly SZIPCODE?: Value | undefined;
  /** Shipping country. */
  readonly SCOUNTRY?: Value | undefined;
  /** Shipping phone number. */
  readonly SPHONE?: Value | undefined;
  /** Shipping email address. */
  readonly SEMAIL?: Value | undefined;
}

export interface StorefrontItem {
  /** PART_CODE of the line. */
  readonly part_number: string;
  /** Description of the item. */
  readonly description: string;
  /** Units ordered. */
  readonly quantity: number;
  /** Units shipped. Less than quantity after a partial shipment. */
  readonly shipped: number;
  /** Serial numbers shipped; always empty for a care plan. */
  readonly serial_numbers: readonly string[];
  /** Whether the line is a care plan. */
  readonly is_care_plan: boolean;
}

export interface Movement {
  /** Number of the movement, counted from 1 for each part. */
  readonly NUMBER: string;
  /** Time of the movement (UTC, ISO 8601). */
  readonly AT: string;
  /** Kind of the movement. */
  readonly KIND: 'received' | 'counted' | 'adjusted' | 'sold' | 'returned' | 'imported';
  /** Units added, or removed if negative. */
  readonly QUANTITY: Decimal;
  /** QTY_ONHAND after the movement. */
  readonly AFTER: Decimal;
  /** The order that moved the units, or "". */
  readonly ORDER_NUMBER: string;
  /** Name of the pair of keys, email address, command line or import; "" if it is not known. */
  readonly DONE_BY: string;
  /** The REASON that was sent, or "". */
  readonly REASON: string;
  /** Serial numbers that entered or left stock, separated by commas. */
  readonly SERIAL_NUMBERS: string;
}

export interface Change {
  /** Position of the change in the feed, as text. Positions increase, with gaps; compare them as integers. */
  readonly seq: string;
  /** Type of the record. A change to a line counts as a change to its order. */
  readonly type: 'orders' | 'customers' | 'inventory';
  /** Key of the record: ORDER_NUMBER, CUSTOMER_CODE or PART_CODE. */
  readonly key: string;
  /** Whether the write created or updated the record. */
  readonly change: 'created' | 'updated';
  /** First operation or command of the call that wrote it, such as addLineItem or import. */
  readonly operation: string;
  /** Name of the pair of keys, email address, command line or import; "" if it is not known. */
  readonly by: string;
  /** Time of the write in UTC, in ISO 8601. */
  readonly at: string;
  /** Up to 20 changed fields, cut to 100 characters; [] for a new record. Only with include=changes. */
  readonly changes?: readonly {
    /** Name of the field; line for a new or removed line. */
    readonly field: string;
    /** Value before. */
    readonly from: string;
    /** Value after. */
    readonly to: string;
    /** LINE_NUMBER of the line. */
    readonly line?: string | undefined;
  }[] | undefined;
  /** The current state of the record; null if it is missing. Only with include=records. */
  readonly record?: Order | Customer | InventoryItem | null | undefined;
}

export interface Field {
  /** Name of the field, in uppercase. */
  readonly name: string;
  /** Type of its values. */
  readonly type: 'text' | 'number' | 'date' | 'flag' | 'timestamp';
  /** Meaning of the field. */
  readonly description: string;
  /** Whether the field is required on a new record. */
  readonly required: boolean;
  /** Whether PIMS sets the field. If true, send it only to identify a record. */
  readonly assigned: boolean;
  /** Whether exact filters on it use an index. */
  readonly indexed: boolean;
  /** Whether substring filters on it use an index. */
  readonly searched: boolean;
  /** Whether it is a custom field of the tenant. */
  readonly custom: boolean;
  /** Allowed values, or null if every value of the type is allowed. */
  readonly values: readonly string[] | null;
}

export interface Usage {
  /** The month (UTC). */
  readonly month: string;
  /** Calls in the month. */
  readonly total: number;
  /** Monthly call limit; null means no limit. */
  readonly quota: number | null;
  /** Calls by day and operation. */
  readonly days: readonly {
    /** The day (UTC). */
    readonly day: string;
    /** Name of the operation. */
    readonly operation: string;
    /** Calls of the operation on that day. */
    readonly calls: number;
  }[];
}
