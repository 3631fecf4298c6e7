/**
 * The records shown as examples in the contract: those of the demo tenant, every field of the built-in dictionary in its place.
 */
import { BUILT_IN_FIELDS, type RecordType, type Values } from '../pims/record.ts';
import type { StorefrontLookup } from '../pims/storefront.ts';

const complete = <Known extends Values>(recordType: RecordType, known: Known): Known =>
  Object.fromEntries(BUILT_IN_FIELDS[recordType].map(({ name }) => [name, known[name] ?? ''])) as Known;

const VINET = {
  BNAME: 'Vins et alcools Chevalier',
  BADDRESS1: "59 rue de l'Abbaye",
  BCITY: 'Reims',
  BZIPCODE: '51100',
  BCOUNTRY: 'France',
};

export const ORDER_EXAMPLE = complete('orders', {
  ORDER_NUMBER: '10248',
  ORDER_TYPE: 'invoice',
  REFERENCE_NUMBER: 'NW-10248',
  CUSTOMER_CODE: 'VINET',
  LOCATION_CODE: 'MAIN',
  ORDER_DATE: '07/04/1996',
  ORDER_STATUS: 'SHIPPED',
  SHIP_VIA: 'Federal Shipping',
  DROP_SHIP: 'N',
  FREIGHT: '32.38',
  ...VINET,
  CREATE_DATE: '1996-07-04T09:00:00.000Z',
  MODIFIED_DATE: '1996-07-16T17:00:00.000Z',
});

export const LINE_EXAMPLE = complete('lines', {
  ORDER_NUMBER: '10248',
  LINE_NUMBER: '1',
  PART_CODE: '11',
  DESCRIPTION: 'Queso Cabrales',
  QUANTITY: '12',
  NUMBER_SHIPPED: '12',
  UNIT_PRICE: '14',
  CARE_PLAN: 'N',
  LINE_REF_LOCK_CODE: 'EXAMPLEw3QbqK0v5zJYkPjn',
  CREATE_DATE: '1996-07-04T09:00:00.000Z',
  MODIFIED_DATE: '1996-07-16T17:00:00.000Z',
});

/** A line just added to the demo tenant's worksheet 20006; an invoice would take none. */
export const NEW_LINE_EXAMPLE = {
  ...LINE_EXAMPLE,
  ORDER_NUMBER: '20006',
  LINE_NUMBER: '3',
  NUMBER_SHIPPED: '0',
  CREATE_DATE: '2026-11-20T09:30:00.000Z',
  MODIFIED_DATE: '2026-11-20T09:30:00.000Z',
};

export const CUSTOMER_EXAMPLE = complete('customers', {
  CUSTOMER_CODE: 'VINET',
  CUSTOMER_NAME: 'Vins et alcools Chevalier',
  ...VINET,
  BATTN: 'Paul Henriot',
  BPHONE: '26.47.15.10',
});

export const PART_EXAMPLE = complete('inventory', {
  PART_CODE: '11',
  PART_DESCRIPTION: 'Queso Cabrales',
  CATEGORY: 'Dairy Products',
  LOCATION_CODE: 'MAIN',
  QTY_ONHAND: '22',
  QTY_COMMITTED: '10',
  QTY_AVAILABLE: '12',
  QTY_ONORDER: '30',
  UNIT_PRICE: '21',
});

const ADDRESS = {
  name: 'Alder & Finch Architects',
  attention: '',
  address_1: '',
  address_2: '',
  city: 'Spokane',
  state: 'WA',
  zip: '',
  country: '',
  phone: '',
};
const NOTEBOOK = { part_number: 'MB/14#SLV+32', description: 'Morbelin Book 14, silver, 32 GB', is_care_plan: false };

/** A partial invoice and the sales order with what is still to come. */
export const LOOKUP_EXAMPLE: StorefrontLookup = {
  storefront_order_number: '#1001',
  orders: [
    {
      order_type: 'invoice',
      pims_order_number: '20001',
      create_date: '2026-09-22T16:12:08.000Z',
      modified_date: '2026-09-25T21:40:31.000Z',
      tracking_numbers: ['PG7740093318'],
      is_dropship: false,
      shipping_address: ADDRESS,
      items: [{ ...NOTEBOOK, quantity: 2, shipped: 2, serial_numbers: ['MB14S7Q2K0181', 'MB14S7Q2K0194'] }],
    },
    {
      order_type: 'sales_order',
      pims_order_number: '20002',
      create_date: '2026-09-25T21:40:31.000Z',
      modified_date: '2026-09-25T21:40:31.000Z',
      tracking_numbers: [],
      is_dropship: false,
      shipping_address: ADDRESS,
      items: [{ ...NOTEBOOK, quantity: 1, shipped: 0, serial_numbers: [] }],
    },
  ],
};
