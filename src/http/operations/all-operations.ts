/** The twelve operations of the API, in the order of the contract. */
import type { AnswerLimits } from '../cursor.ts';
import { customerOperations } from './customers.ts';
import { inventoryOperations } from './inventory.ts';
import type { Operation } from './operation.ts';
import { orderOperations } from './orders.ts';

export const allOperations = (limits: AnswerLimits): Operation[] => [
  ...orderOperations(limits),
  ...customerOperations(limits),
  ...inventoryOperations(limits),
];
