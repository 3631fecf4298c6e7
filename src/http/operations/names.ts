/** The names of the twelve operations, in the order of the reference. */
export const OPERATION_NAMES = [
  'getOrder',
  'queryOrders',
  'findOrdersByStorefrontReference',
  'createOrder',
  'addLineItem',
  'updateLineItem',
  'getCustomer',
  'queryCustomers',
  'createCustomer',
  'updateCustomer',
  'getInventoryItem',
  'queryInventoryItems',
] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];
