/** The operations of the API, in the order of the contract: the twelve, then the additions. */
import type { AnswerLimits } from '../call/cursor.ts';
import { batchOperation } from './batch.ts';
import { changesOperation } from './changes.ts';
import { customerOperations } from './customers.ts';
import { inventoryOperations } from './inventory.ts';
import type { Operation } from './operation.ts';
import { orderOperations } from './orders.ts';
import { TEAM_OPERATIONS } from './team.ts';

export function allOperations(limits: AnswerLimits): Operation[] {
  const single = [...orderOperations(limits), ...customerOperations(limits), ...inventoryOperations(limits)];
  return [...single, batchOperation(single), changesOperation(limits), ...TEAM_OPERATIONS];
}
