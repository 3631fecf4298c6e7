/** The four operations on customers. */
import { KEY_CHARACTERS_MAX } from '../../pims/rules/record-bounds.ts';
import { createCustomer, getCustomer, queryCustomers, updateCustomer } from '../../pims/operations.ts';
import type { AnswerLimits } from '../call/cursor.ts';
import { textOf } from '../contract/json-schema.ts';
import { CUSTOMER_EXAMPLE } from './examples.ts';
import { fieldsBody, ref } from './operation-schemas.ts';
import { envelope, page, single, write, type Operation } from './operation.ts';

const CUSTOMER = ref('Customer');
const CODE = textOf('The CUSTOMER_CODE.');
const NEW_CUSTOMER = fieldsBody('NewCustomer', 'customers', 'Fields of the new customer.');
const CUSTOMER_CHANGE = fieldsBody('CustomerChange', 'customers', 'The customer and the fields to change.', {
  needed: ['CUSTOMER_CODE'],
  base: NEW_CUSTOMER,
});

export const customerOperations = (limits: AnswerLimits): Operation[] => [
  {
    name: 'getCustomer',
    path: '/customers/single',
    summary: 'One customer',
    description: 'Returns the customer with this CUSTOMER_CODE.',
    ...single('customerCode', 'The CUSTOMER_CODE.', CUSTOMER, getCustomer),
    example: { query: { customerCode: 'VINET' }, answer: envelope(CUSTOMER_EXAMPLE) },
  },
  {
    name: 'queryCustomers',
    path: '/customers/query',
    summary: 'Filtered list of customers',
    description: 'Returns one page of the customers that match the filters, by CUSTOMER_CODE ascending.',
    ...page('customers', CUSTOMER, queryCustomers, limits),
    example: {
      body: [
        { field: 'BCITY', value: 'Reims' },
        { field: 'CUSTOMER_NAME', value: 'vins', contains: true, conjunction: 'OR' },
      ],
      answer: envelope([CUSTOMER_EXAMPLE]),
    },
  },
  {
    name: 'createCustomer',
    method: 'PUT',
    path: '/customers/create',
    summary: 'Create a customer',
    description: `Returns the CUSTOMER_CODE in data: the one you sent if it is free (up to ${KEY_CHARACTERS_MAX} characters), or the next number if you sent none. A code already in use is rejected with CODE_TAKEN.`,
    ...write(NEW_CUSTOMER, CODE, createCustomer),
    example: {
      body: {
        CUSTOMER_NAME: 'Harbour Lane Books',
        BNAME: 'Harbour Lane Books',
        BEMAIL: 'orders@harbourlane.example.com',
        BCITY: 'Portland',
        BSTATE: 'ME',
      },
      answer: envelope('50009'),
    },
  },
  {
    name: 'updateCustomer',
    method: 'POST',
    path: '/customers/update',
    summary: 'Update a customer',
    description: 'Changes fields of the customer with this CUSTOMER_CODE. Returns the CUSTOMER_CODE in data.',
    takesIfMatch: true,
    ...write(CUSTOMER_CHANGE, CODE, updateCustomer),
    example: { body: { CUSTOMER_CODE: 'VINET', BPHONE: '26.47.15.10', NOTES: null }, answer: envelope('VINET') },
  },
];
