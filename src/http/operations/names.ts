/** The names of the operations, in the order of the reference, and the scope that each needs. */
import type { Scope } from '../../tenant/keys.ts';

export const OPERATION_SCOPES = {
  getOrder: 'read',
  queryOrders: 'read',
  queryLines: 'read',
  findOrdersByStorefrontReference: 'read',
  findOrdersByStorefrontReferences: 'read',
  createOrder: 'write',
  addLineItem: 'write',
  updateLineItem: 'write',
  updateOrder: 'write',
  cancelOrder: 'write',
  approveOrder: 'office',
  invoiceOrder: 'office',
  returnOrder: 'office',
  voidInvoice: 'office',
  getCustomer: 'read',
  queryCustomers: 'read',
  createCustomer: 'write',
  updateCustomer: 'write',
  getInventoryItem: 'read',
  queryInventoryItems: 'read',
  listMovements: 'read',
  createPart: 'office',
  updatePart: 'office',
  receiveStock: 'office',
  countStock: 'office',
  adjustStock: 'office',
  batch: 'write',
  listChanges: 'read',
  listFields: 'read',
  getUsage: 'read',
} as const satisfies Record<string, Scope>;
export type OperationName = keyof typeof OPERATION_SCOPES;
export const OPERATION_NAMES = Object.keys(OPERATION_SCOPES) as OperationName[];
