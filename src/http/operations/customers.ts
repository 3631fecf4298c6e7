/**
 * The four operations on customers. Source: specification 4.2 and 4.7 to 4.9.
 */
import { createCustomer, getCustomer, queryCustomers, updateCustomer } from '../../pims/operations.ts';
import { KEY_CHARACTERS_MAX } from '../../pims/limits.ts';
import type { PageLimits } from '../cursor.ts';
import { renderEnvelope } from '../envelope.ts';
import { textOf } from '../schemas.ts';
import { CUSTOMER_EXAMPLE } from './examples.ts';
import { fieldsBody, ref } from './operation-schemas.ts';
import { queryOperation, singleOperation, writeOperation, type Operation } from './operation.ts';

const NEW_CUSTOMER = fieldsBody({
  name: 'NewCustomer',
  recordType: 'customers',
  description: 'Fields of the new customer. Credentials may be members too.',
});

export const customerOperations = (limits: PageLimits): Operation[] => [
  singleOperation({
    name: 'getCustomer',
    path: '/customers/single',
    tag: 'Customers',
    summary: 'One customer',
    description: 'The customer with this CUSTOMER_CODE.',
    parameter: { name: 'customerCode', description: 'The CUSTOMER_CODE.', example: 'VINET' },
    data: ref('Customer'),
    example: { data: CUSTOMER_EXAMPLE },
    get: async (store, customerCode) => renderEnvelope(await getCustomer(store, customerCode)),
  }),
  queryOperation(
    {
      name: 'queryCustomers',
      path: '/customers/query',
      tag: 'Customers',
      summary: 'Filtered list of customers',
      description: 'One page of the customers that match the filters, by CUSTOMER_CODE ascending.',
      recordType: 'customers',
      record: ref('Customer'),
      example: {
        filters: [
          { field: 'BCITY', value: 'Reims' },
          { field: 'CUSTOMER_NAME', value: 'vins', contains: true, conjunction: 'OR' },
        ],
        record: CUSTOMER_EXAMPLE,
      },
      find: queryCustomers,
    },
    limits,
  ),
  writeOperation({
    name: 'createCustomer',
    method: 'PUT',
    path: '/customers/create',
    tag: 'Customers',
    summary: 'Create a customer',
    description: `Data is the CUSTOMER_CODE: yours if it is free (at most ${KEY_CHARACTERS_MAX} characters), or one PIMS assigns.`,
    body: NEW_CUSTOMER,
    data: textOf('The CUSTOMER_CODE.'),
    example: {
      body: {
        CUSTOMER_NAME: 'Harbour Lane Books',
        BNAME: 'Harbour Lane Books',
        BEMAIL: 'orders@harbourlane.example.com',
        BCITY: 'Portland',
        BSTATE: 'ME',
      },
      data: '50009',
    },
    write: createCustomer,
  }),
  writeOperation({
    name: 'updateCustomer',
    method: 'POST',
    path: '/customers/update',
    tag: 'Customers',
    summary: 'Update a customer',
    description: 'Changes fields of the customer with this CUSTOMER_CODE. Data is the CUSTOMER_CODE.',
    body: fieldsBody({
      name: 'CustomerChange',
      recordType: 'customers',
      base: NEW_CUSTOMER,
      description: 'The customer and the fields to change. Credentials may be members too.',
      needed: ['CUSTOMER_CODE'],
    }),
    data: textOf('The CUSTOMER_CODE.'),
    example: { body: { CUSTOMER_CODE: 'VINET', BPHONE: '26.47.15.10', NOTES: null }, data: 'VINET' },
    write: updateCustomer,
  }),
];
