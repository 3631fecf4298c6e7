/**
 * The four operations on customers: path, schemas, example, and the one call into the engine. Source: specification 4.2 and 4.7 to 4.9.
 */
import { createCustomer, getCustomer, queryCustomers, updateCustomer } from '../../pims/operations.ts';
import type { Filter } from '../../pims/filter.ts';
import { parsePage, setPageHeaders, type PageLimits } from '../cursor.ts';
import { renderEnvelope } from '../envelope.ts';
import { CUSTOMER_EXAMPLE } from './examples.ts';
import type { Call, Operation } from './operation.ts';
import {
  envelopeOf,
  fieldsBody,
  filtersBody,
  listOf,
  pageQuery,
  queryOf,
  recordAnswer,
  required,
  textOf,
} from '../schemas.ts';
import { renderWritten } from '../writes.ts';

export const customerOperations = (limits: PageLimits): Operation[] => [
  ...readOperations(limits),
  ...writeOperations(),
];

const readOperations = (limits: PageLimits): Operation[] => [
  {
    name: 'getCustomer',
    method: 'GET',
    path: '/customers/single',
    tag: 'Customers',
    summary: 'One customer',
    description: 'The customer with this CUSTOMER_CODE.',
    query: queryOf({ customerCode: required('The CUSTOMER_CODE.') }),
    writes: false,
    answer: envelopeOf(recordAnswer('customers')),
    example: {
      query: { customerCode: 'VINET' },
      answer: { status: 'success', data: CUSTOMER_EXAMPLE, subRecords: null },
    },
    run: async ({ store, query }: Call) => renderEnvelope(await getCustomer(store, query['customerCode']!)),
  },
  {
    name: 'queryCustomers',
    method: 'POST',
    path: '/customers/query',
    tag: 'Customers',
    summary: 'Filtered list of customers',
    description:
      'Customers that match the filters, by CUSTOMER_CODE ascending. When there are more, X-Has-More is true and X-Next-Cursor goes on.',
    query: pageQuery,
    body: filtersBody,
    writes: false,
    answer: envelopeOf(listOf(recordAnswer('customers'))),
    example: {
      query: {},
      body: [
        { field: 'BCITY', value: 'Reims' },
        { field: 'CUSTOMER_NAME', value: 'vins', contains: true, conjunction: 'OR' },
      ],
      answer: { status: 'success', data: [CUSTOMER_EXAMPLE], subRecords: null },
    },
    run: async ({ store, query, body, reply }: Call<Filter[]>) => {
      const page = await queryCustomers(store, { filters: body, ...parsePage('customers', query, limits) });
      setPageHeaders(reply, 'customers', page);
      return renderEnvelope(page.records);
    },
  },
];

const writeOperations = (): Operation[] => [
  {
    name: 'createCustomer',
    method: 'PUT',
    path: '/customers/create',
    tag: 'Customers',
    summary: 'Create a customer',
    description:
      'Creates a customer from any CUSTOMER fields, all optional; data is its CUSTOMER_CODE: your own, of at most 256 characters, when it is free, else one PIMS assigns.',
    query: queryOf(),
    body: fieldsBody('customers', 'Fields of the new customer; teamID, apiID and apiSecret may be among them.'),
    writes: true,
    answer: envelopeOf(textOf('The CUSTOMER_CODE.')),
    example: {
      query: {},
      body: {
        CUSTOMER_NAME: 'Harbour Lane Books',
        BNAME: 'Harbour Lane Books',
        BEMAIL: 'orders@harbourlane.example.com',
        BCITY: 'Portland',
        BSTATE: 'ME',
      },
      answer: { status: 'success', data: '50009', subRecords: null },
    },
    run: async ({ store, body, context, reply }: Call) =>
      renderWritten(reply, await createCustomer(store, body, context)),
  },
  {
    name: 'updateCustomer',
    method: 'POST',
    path: '/customers/update',
    tag: 'Customers',
    summary: 'Update a customer',
    description: 'Changes fields of the customer with this CUSTOMER_CODE; data is the CUSTOMER_CODE.',
    query: queryOf(),
    body: fieldsBody('customers', 'CUSTOMER_CODE and the fields to change; null clears a field.', ['CUSTOMER_CODE']),
    writes: true,
    answer: envelopeOf(textOf('The CUSTOMER_CODE.')),
    example: {
      query: {},
      body: { CUSTOMER_CODE: 'VINET', BPHONE: '26.47.15.10', NOTES: null },
      answer: { status: 'success', data: 'VINET', subRecords: null },
    },
    run: async ({ store, body, context, reply }: Call) =>
      renderWritten(reply, await updateCustomer(store, body, context)),
  },
];
