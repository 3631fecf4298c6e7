/** The names of the operations, in the order of the reference. */
export const OPERATION_NAMES = [
  'getOrder',
  'queryOrders',
  'findOrdersByStorefrontReference',
  'findOrdersByStorefrontReferences',
  'createOrder',
  'addLineItem',
  'updateLineItem',
  'updateOrder',
  'cancelOrder',
  'getCustomer',
  'queryCustomers',
  'createCustomer',
  'updateCustomer',
  'getInventoryItem',
  'queryInventoryItems',
  'batch',
  'listChanges',
  'listFields',
  'getUsage',
] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];
