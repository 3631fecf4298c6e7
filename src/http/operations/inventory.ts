/** The two operations on inventory items, both read-only. */
import { getInventoryItem, queryInventoryItems } from '../../pims/operations.ts';
import type { AnswerLimits } from '../call/cursor.ts';
import { PART_EXAMPLE } from './examples.ts';
import { ref } from './operation-schemas.ts';
import { envelope, page, single, type Operation } from './operation.ts';

const ITEM = ref('InventoryItem');

export const inventoryOperations = (limits: AnswerLimits): Operation[] => [
  {
    name: 'getInventoryItem',
    path: '/inventory/single',
    summary: 'One inventory item',
    description:
      'Returns the part with this PART_CODE. QTY_AVAILABLE is QTY_ONHAND minus QTY_COMMITTED and may be negative.',
    ...single('partCode', 'The PART_CODE. Percent-encode /, #, + and spaces in the URL.', ITEM, getInventoryItem),
    example: { query: { partCode: '11' }, answer: envelope(PART_EXAMPLE) },
  },
  {
    name: 'queryInventoryItems',
    path: '/inventory/query',
    summary: 'Filtered list of inventory items',
    description: 'Returns one page of the parts that match the filters, by PART_CODE ascending.',
    ...page('inventory', ITEM, queryInventoryItems, limits),
    example: {
      body: [{ field: 'PART_DESCRIPTION', value: 'queso cab', contains: true }],
      answer: envelope([PART_EXAMPLE]),
    },
  },
];
