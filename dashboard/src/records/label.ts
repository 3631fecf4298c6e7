/** The words for fields of records: labels that people know, where the API has uppercase names. */

const LABELS: Readonly<Record<string, string>> = {
  ORDER_NUMBER: 'Order',
  ORDER_TYPE: 'Stage',
  REFERENCE_NUMBER: 'Storefront number',
  CUSTOMER_CODE: 'Customer',
  LOCATION_CODE: 'Location',
  SALESPERSON_CODE: 'Salesperson',
  PO_NUMBER: 'Purchase order',
  RETURN_OF: 'Return of',
  TERMS_CODE: 'Terms',
  SHIP_VIA: 'Carrier',
  DROP_SHIP: 'Drop ship',
  ORDER_STATUS: 'Status',
  TAX_TOTAL: 'Tax',
  ORDER_TOTAL: 'Total',
  BNAME: 'Billing name',
  SNAME: 'Shipping name',
  CREATE_DATE: 'Created',
  MODIFIED_DATE: 'Changed',
  LINE_NUMBER: 'Line',
  LINE_REF_LOCK_CODE: 'Lock code',
  PART_CODE: 'Part',
  PART_DESCRIPTION: 'Description',
  QTY_ONHAND: 'On hand',
  QTY_COMMITTED: 'Committed',
  QTY_AVAILABLE: 'Available',
  QTY_ONORDER: 'On order',
  NUMBER_SHIPPED: 'Shipped',
  SERIALIZED: 'Has serial numbers',
};
const PARTS: Readonly<Record<string, string>> = {
  ATTN: 'attention',
  ADDRESS1: 'address',
  ADDRESS2: 'address, line 2',
  CITY: 'city',
  STATE: 'state',
  ZIPCODE: 'ZIP code',
  COUNTRY: 'country',
  PHONE: 'phone',
  EMAIL: 'email',
};

/**
 * Example: `labelOf('BCITY')` gives `Billing city`; a custom field `GIFT_WRAP` gives `Gift wrap`. In lists of orders,
 * `labelOf('BNAME', 'orders')` gives `Customer name`.
 */
export function labelOf(field: string, kind?: string): string {
  if (kind === 'orders' && field === 'BNAME') return 'Customer name';
  const part = PARTS[field.slice(1)];
  if (part !== undefined) return `${field.startsWith('B') ? 'Billing' : 'Shipping'} ${part}`;
  const words = field.toLowerCase().replaceAll('_', ' ');
  return LABELS[field] ?? words[0]!.toUpperCase() + words.slice(1);
}
