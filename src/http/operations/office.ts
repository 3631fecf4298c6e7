/** The operations of the back office, which need the scope `office`: stages of orders, parts and their stock. */
import { STOCK_FIELDS } from '../../pims/rules/fields.ts';
import {
  NAMED_LINES_MAX,
  REASON_CHARACTERS_MAX,
  SERIALS_CHARACTERS_MAX,
  SERIALS_SHOWN_MAX,
  VALUE_CHARACTERS_MAX,
} from '../../pims/rules/record-bounds.ts';
import { listOf, objectOf, textOf, type Members, type Schema } from '../../json-schema.ts';
import { NEW_LINE_EXAMPLE, PART_EXAMPLE } from './examples.ts';
import { fieldsBody, membersBody, ref } from './operation-schemas.ts';
import { declareWrite, type Operation } from './operation.ts';

const ORDER_NUMBER = ref('Value', 'The ORDER_NUMBER.');
const boundedValue = (maxLength: number, description: string): Schema => ({
  type: ['string', 'number', 'null'],
  maxLength,
  description,
});
const REASON = boundedValue(REASON_CHARACTERS_MAX, 'Why. The ledger keeps it.');
const serialNumbers = (maxLength: number) =>
  boundedValue(maxLength, 'Serial numbers, separated by commas. A SERIALIZED part needs one for each unit.');
const STAGE = ref('AdvancedOrder');
const linesTo = (verb: string, rest: string, more: Members = {}): Schema =>
  listOf(
    objectOf(
      { LINE_REF_LOCK_CODE: ref('Value', 'The line.'), QUANTITY: ref('DecimalValue', `The units to ${verb}.`) },
      { SERIAL_NUMBERS: serialNumbers(VALUE_CHARACTERS_MAX), ...more },
    ),
    { minItems: 1, maxItems: NAMED_LINES_MAX, description: `The lines to ${verb}.${rest}` },
  );
const INVOICE = membersBody(
  'Invoice',
  'The order, and optionally the lines to invoice.',
  { ORDER_NUMBER },
  {
    lines: linesTo('invoice', ' All other lines stay open. Without lines, everything is invoiced.'),
    TRACKING_NUMBERS: ref('Value', 'Tracking numbers, separated by commas. They are added to those of the order.'),
    SHIP_VIA: ref('Value', 'The SHIP_VIA of the invoice.'),
  },
);
const RETURN = membersBody(
  'Return',
  'The invoice and the lines to return.',
  {
    ORDER_NUMBER,
    lines: linesTo('return', '', { RESTOCK: ref('FlagValue', 'Whether the units are in stock again. Default Y.') }),
  },
  {
    REFERENCE_NUMBER: ref('Value', 'The REFERENCE_NUMBER of the return. Default: the one of the invoice.'),
    NOTES: ref('Value', 'The NOTES of the return.'),
    REASON,
  },
);
const { ORDER_NUMBER: order, LINE_REF_LOCK_CODE: line } = NEW_LINE_EXAMPLE;
const told = (ORDER_TYPE: string, ORDER_STATUS: string, BACKORDER_NUMBER = '', number = order) => ({
  ORDER_NUMBER: number,
  ORDER_TYPE,
  ORDER_STATUS,
  BACKORDER_NUMBER,
});

export const ORDER_OFFICE: readonly Operation[] = [
  {
    method: 'POST',
    path: '/orders/approve',
    summary: 'Approve an order',
    description: 'Turns a worksheet or a quote into a sales order, which commits the stock of its lines.',
    takesIfMatch: true,
    ...declareWrite('approveOrder', membersBody('OrderToApprove', 'The ORDER_NUMBER.', { ORDER_NUMBER }), STAGE),
    example: { body: { ORDER_NUMBER: order }, answer: told('sales_order', 'OPEN') },
  },
  {
    method: 'POST',
    path: '/orders/invoice',
    summary: 'Invoice an order',
    description:
      'Invoices an order, or only some units of some lines. The units left open move to a new sales order, whose number ' +
      'is in BACKORDER_NUMBER.',
    takesIfMatch: true,
    ...declareWrite('invoiceOrder', INVOICE, STAGE),
    example: {
      body: { ORDER_NUMBER: order, lines: [{ LINE_REF_LOCK_CODE: line, QUANTITY: '10' }], TRACKING_NUMBERS: '1Z999' },
      answer: told('invoice', 'OPEN', '20016'),
    },
  },
  {
    method: 'PUT',
    path: '/orders/return',
    summary: 'Return units of an invoice',
    description:
      'Creates an invoice with negative quantities and totals for units that come back, and returns its ORDER_NUMBER in ' +
      'data. The units are in stock again, unless RESTOCK is N. Voiding the return makes them the units of the invoice again.',
    takesIfMatch: true,
    ...declareWrite('returnOrder', RETURN, textOf('The ORDER_NUMBER of the return.')),
    example: {
      body: { ORDER_NUMBER: order, lines: [{ LINE_REF_LOCK_CODE: line, QUANTITY: '10', RESTOCK: 'Y' }] },
      answer: '20017',
    },
  },
  {
    method: 'POST',
    path: '/orders/void',
    summary: 'Void an invoice',
    description:
      'Puts the units and serial numbers of an invoice back in stock and sets ORDER_STATUS to VOID. After that only NOTES ' +
      'can be changed. Voiding a void invoice succeeds. An invoice with a return cannot be voided before its return.',
    takesIfMatch: true,
    ...declareWrite(
      'voidInvoice',
      membersBody('InvoiceToVoid', 'The ORDER_NUMBER.', { ORDER_NUMBER }, { REASON }),
      STAGE,
    ),
    example: {
      body: { ORDER_NUMBER: '10249', REASON: 'wrong customer' },
      answer: told('invoice', 'VOID', '', '10249'),
    },
  },
];

const PART_CODE = ref('Value', 'The PART_CODE.');
const CODE = textOf('The PART_CODE.');
const NEW_PART = fieldsBody('NewPart', 'inventory', 'Fields of the new part.', {
  needed: ['PART_CODE'],
  refused: STOCK_FIELDS,
});
const PART_CHANGE = fieldsBody('PartChange', 'inventory', 'The part and the fields to change.', {
  needed: ['PART_CODE'],
  refused: STOCK_FIELDS,
  base: NEW_PART,
});
const STOCKED_PART = ref(
  'InventoryItem',
  `The part. If it is SERIALIZED and has at most ${SERIALS_SHOWN_MAX} serial numbers in stock, they are SERIAL_NUMBERS.`,
);
const MOVED: Members = {
  SERIAL_NUMBERS: serialNumbers(SERIALS_CHARACTERS_MAX),
  REASON,
  FROM_QUANTITY: {
    type: ['string', 'number'],
    description: 'The QTY_ONHAND that you read. If it is another now, nothing is written.',
  },
};
const stockBody = (name: string, quantity: string): ReturnType<typeof membersBody> =>
  membersBody(name, 'The part and the units.', { PART_CODE, QUANTITY: ref('DecimalValue', quantity) }, MOVED);

export const PART_OFFICE: readonly Operation[] = [
  {
    method: 'PUT',
    path: '/inventory/create',
    summary: 'Create a part',
    description:
      'Creates a part with nothing on hand. Returns the PART_CODE in data. To set its stock, use countStock.',
    ...declareWrite('createPart', NEW_PART, CODE),
    example: {
      body: { PART_CODE: 'TEA/EG-100', PART_DESCRIPTION: 'Earl Grey, 100 g', UNIT_PRICE: '8.5' },
      answer: 'TEA/EG-100',
    },
  },
  {
    method: 'POST',
    path: '/inventory/update',
    summary: 'Update a part',
    description: 'Changes fields of the part with this PART_CODE. Returns the PART_CODE in data.',
    ...declareWrite('updatePart', PART_CHANGE, CODE),
    example: { body: { PART_CODE: 'TEA/EG-100', UNIT_PRICE: '9' }, answer: 'TEA/EG-100' },
  },
  {
    method: 'POST',
    path: '/stock/receive',
    summary: 'Receive units of a part',
    description: 'Adds units to QTY_ONHAND, and takes them off QTY_ONORDER, down to 0. Returns the part in data.',
    ...declareWrite('receiveStock', stockBody('StockReceipt', 'The units received, more than 0.'), STOCKED_PART),
    example: {
      body: { PART_CODE: '11', QUANTITY: '10' },
      answer: { ...PART_EXAMPLE, QTY_ONHAND: '32', QTY_AVAILABLE: '22', QTY_ONORDER: '20' },
    },
  },
  {
    method: 'POST',
    path: '/stock/count',
    summary: 'Set the counted units of a part',
    description:
      'Sets QTY_ONHAND to what was counted. Returns the part in data. A count of a SERIALIZED part needs the serial numbers that are there; the others leave stock.',
    ...declareWrite('countStock', stockBody('StockCount', 'The units counted, 0 or more.'), STOCKED_PART),
    example: {
      body: { PART_CODE: '11', QUANTITY: '30', FROM_QUANTITY: '32' },
      answer: { ...PART_EXAMPLE, QTY_ONHAND: '30', QTY_AVAILABLE: '20', QTY_ONORDER: '20' },
    },
  },
  {
    method: 'POST',
    path: '/stock/adjust',
    summary: 'Add or remove units of a part',
    description:
      'Adds units to QTY_ONHAND, or removes them if QUANTITY is negative, for a REASON. Returns the part in data.',
    ...declareWrite('adjustStock', stockBody('StockAdjustment', 'The units to add; negative to remove.'), STOCKED_PART),
    example: {
      body: { PART_CODE: '11', QUANTITY: '-1', REASON: 'broken' },
      answer: { ...PART_EXAMPLE, QTY_ONHAND: '29', QTY_AVAILABLE: '19', QTY_ONORDER: '20' },
    },
  },
];
