/**
 * The records shown as examples in the contract: records of the demo tenant as the service returns them
 * (test/contract.test.ts), with every built-in field in the order of the dictionary.
 */
import type { Values } from '../../pims/rules/values.ts';
import { BUILT_IN_FIELDS, type RecordType } from '../../pims/rules/fields.ts';
import type { StorefrontLookup } from '../../pims/reads/storefront.ts';

const complete = <Known extends Values>(recordType: RecordType, known: Known): Known =>
  Object.fromEntries(BUILT_IN_FIELDS[recordType].map(({ name }) => [name, known[name] ?? ''])) as Known;

const VINET = {
  BNAME: 'Vins et alcools Chevalier',
  BATTN: 'Paul Henriot',
  BADDRESS1: "59 rue de l'Abbaye",
  BCITY: 'Reims',
  BZIPCODE: '51100',
  BCOUNTRY: 'France',
  BPHONE: '26.47.15.10',
  SNAME: 'Vins et alcools Chevalier',
  SATTN: 'Paul Henriot',
  SADDRESS1: "59 rue de l'Abbaye",
  SCITY: 'Reims',
  SZIPCODE: '51100',
  SCOUNTRY: 'France',
};

export const ORDER_EXAMPLE = complete('orders', {
  ORDER_NUMBER: '10248',
  ORDER_TYPE: 'invoice',
  REFERENCE_NUMBER: 'NW-10248',
  CUSTOMER_CODE: 'VINET',
  LOCATION_CODE: 'MAIN',
  ORDER_DATE: '07/04/1996',
  ORDER_STATUS: 'SHIPPED',
  SALESPERSON_CODE: 'SBUCHANAN',
  SHIP_VIA: 'Federal Shipping',
  DROP_SHIP: 'N',
  TRACKING_NUMBERS: 'NW1024801',
  SUBTOTAL: '440',
  FREIGHT: '32.38',
  TAX_TOTAL: '0',
  ORDER_TOTAL: '472.38',
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
  DISCOUNT: '0',
  CARE_PLAN: 'N',
  LINE_REF_LOCK_CODE: 'EXAMPLEw3QbqK0v5zJYkPjn',
  CREATE_DATE: '1996-07-04T09:00:00.000Z',
  MODIFIED_DATE: '1996-07-16T17:00:00.000Z',
});

export const NEW_ORDER = {
  REFERENCE_NUMBER: '#1013',
  CUSTOMER_CODE: 'VINET',
  ORDER_DATE: '11/20/2026',
  BNAME: 'Vins et alcools Chevalier',
  BCITY: 'Reims',
};
/** The new order after its creation in the demo tenant. */
export const NEW_ORDER_EXAMPLE = complete('orders', {
  ...NEW_ORDER,
  ORDER_NUMBER: '20015',
  ORDER_TYPE: 'worksheet',
  CREATE_DATE: '2026-11-20T09:30:00.000Z',
  MODIFIED_DATE: '2026-11-20T09:30:00.000Z',
});

/** A line just added to the demo tenant's worksheet 20006, because an invoice accepts no lines. */
export const NEW_LINE_EXAMPLE = {
  ...LINE_EXAMPLE,
  DISCOUNT: '',
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
  SPHONE: '26.47.15.10',
  TERMS_CODE: 'NET30',
  NOTES: 'Contact: Paul Henriot, Accounting Manager; fax 26.47.15.11',
  CREATE_DATE: '1996-07-01T00:00:00.000Z',
  MODIFIED_DATE: '1996-07-01T00:00:00.000Z',
});

export const PART_EXAMPLE = complete('inventory', {
  PART_CODE: '11',
  PART_DESCRIPTION: 'Queso Cabrales',
  BARCODE: '2000000000114',
  CATEGORY: 'Dairy Products',
  LOCATION_CODE: 'MAIN',
  QTY_ONHAND: '22',
  QTY_COMMITTED: '10',
  QTY_AVAILABLE: '12',
  QTY_ONORDER: '30',
  UNIT_PRICE: '21',
  SERIALIZED: 'N',
  CARE_PLAN: 'N',
  CREATE_DATE: '1996-07-01T00:00:00.000Z',
  MODIFIED_DATE: '1996-07-01T00:00:00.000Z',
});

/** The movement with which the demo tenant's part was imported. */
export const MOVEMENT_EXAMPLE = {
  NUMBER: '1',
  AT: '2026-11-20T09:30:00.000Z',
  KIND: 'imported',
  QUANTITY: '22',
  AFTER: '22',
  ORDER_NUMBER: '',
  DONE_BY: 'import',
  REASON: '',
  SERIAL_NUMBERS: '',
};

const ADDRESS = {
  name: 'Alder & Finch Architects',
  attention: 'Corinne Alder',
  address_1: '418 W Larkspur Ave',
  address_2: 'Suite 300',
  city: 'Spokane',
  state: 'WA',
  zip: '99201',
  country: 'USA',
  phone: '(509) 555-0114',
};
const NOTEBOOK = { part_number: 'MB/14#SLV+32', description: 'Morbelin Book 14, silver, 32 GB', is_care_plan: false };
const PLAN = { part_number: 'PLAN/MB+3Y', description: 'Care plan, Morbelin Book, 3 years', is_care_plan: true };
const DOCK = { part_number: 'DOCK#8+PD', description: 'Tolvik dock, 8 ports, 100 W', is_care_plan: false };

/** A partial invoice and the sales order with the open units. */
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
      items: [
        { ...NOTEBOOK, quantity: 2, shipped: 2, serial_numbers: ['MB14S7Q2K0181', 'MB14S7Q2K0194'] },
        { ...PLAN, quantity: 2, shipped: 2, serial_numbers: [] },
        { ...DOCK, quantity: 3, shipped: 3, serial_numbers: [] },
      ],
    },
    {
      order_type: 'sales_order',
      pims_order_number: '20002',
      create_date: '2026-09-25T21:40:31.000Z',
      modified_date: '2026-09-25T21:40:31.000Z',
      tracking_numbers: [],
      is_dropship: false,
      shipping_address: ADDRESS,
      items: [
        { ...NOTEBOOK, quantity: 1, shipped: 0, serial_numbers: [] },
        { ...PLAN, quantity: 1, shipped: 0, serial_numbers: [] },
      ],
    },
  ],
};
