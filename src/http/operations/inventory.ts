/**
 * The two operations on inventory items, both read-only: path, schemas, example, and the one call into the engine. Source: specification 4.2, 4.10.
 */
import { getInventoryItem, queryInventoryItems } from '../../pims/operations.ts';
import type { Filter } from '../../pims/filter.ts';
import { parsePage, setPageHeaders, type PageLimits } from '../cursor.ts';
import { renderEnvelope } from '../envelope.ts';
import { PART_EXAMPLE } from './examples.ts';
import type { Call, Operation } from './operation.ts';
import { envelopeOf, filtersBody, listOf, pageQuery, queryOf, recordAnswer, required } from '../schemas.ts';

export const inventoryOperations = (limits: PageLimits): Operation[] => [
  {
    name: 'getInventoryItem',
    method: 'GET',
    path: '/inventory/single',
    tag: 'Inventory',
    summary: 'One inventory item',
    description: 'The part with this PART_CODE. QTY_AVAILABLE is QTY_ONHAND less QTY_COMMITTED and may be negative.',
    query: queryOf({ partCode: required('The PART_CODE; /, #, + and spaces are percent-encoded in a URL.') }),
    writes: false,
    answer: envelopeOf(recordAnswer('inventory')),
    example: { query: { partCode: '11' }, answer: { status: 'success', data: PART_EXAMPLE, subRecords: null } },
    run: async ({ store, query }: Call) => renderEnvelope(await getInventoryItem(store, query['partCode']!)),
  },
  {
    name: 'queryInventoryItems',
    method: 'POST',
    path: '/inventory/query',
    tag: 'Inventory',
    summary: 'Filtered list of inventory items',
    description:
      'Parts that match the filters, by PART_CODE ascending. When there are more, X-Has-More is true and X-Next-Cursor goes on.',
    query: pageQuery,
    body: filtersBody,
    writes: false,
    answer: envelopeOf(listOf(recordAnswer('inventory'))),
    example: {
      query: {},
      body: [{ field: 'PART_DESCRIPTION', value: 'queso cab', contains: true }],
      answer: { status: 'success', data: [PART_EXAMPLE], subRecords: null },
    },
    run: async ({ store, query, body, reply }: Call<Filter[]>) => {
      const page = await queryInventoryItems(store, { filters: body, ...parsePage('inventory', query, limits) });
      setPageHeaders(reply, 'inventory', page);
      return renderEnvelope(page.records);
    },
  },
];
