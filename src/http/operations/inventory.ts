/**
 * The two operations on inventory items, both read-only. Source: specification 4.2 and 4.10.
 */
import { getInventoryItem, queryInventoryItems } from '../../pims/operations.ts';
import type { PageLimits } from '../cursor.ts';
import { renderEnvelope } from '../envelope.ts';
import { PART_EXAMPLE } from './examples.ts';
import { ref } from './operation-schemas.ts';
import { queryOperation, singleOperation, type Operation } from './operation.ts';

export const inventoryOperations = (limits: PageLimits): Operation[] => [
  singleOperation({
    name: 'getInventoryItem',
    path: '/inventory/single',
    tag: 'Inventory',
    summary: 'One inventory item',
    description: 'The part with this PART_CODE. QTY_AVAILABLE is QTY_ONHAND less QTY_COMMITTED and may be negative.',
    parameter: {
      name: 'partCode',
      description: 'The PART_CODE. Percent-encode /, #, + and spaces in the URL.',
      example: '11',
    },
    data: ref('InventoryItem'),
    example: { data: PART_EXAMPLE },
    get: async (store, partCode) => renderEnvelope(await getInventoryItem(store, partCode)),
  }),
  queryOperation(
    {
      name: 'queryInventoryItems',
      path: '/inventory/query',
      tag: 'Inventory',
      summary: 'Filtered list of inventory items',
      description: 'One page of the parts that match the filters, by PART_CODE ascending.',
      recordType: 'inventory',
      record: ref('InventoryItem'),
      example: {
        filters: [{ field: 'PART_DESCRIPTION', value: 'queso cab', contains: true }],
        record: PART_EXAMPLE,
      },
      find: queryInventoryItems,
    },
    limits,
  ),
];
