/** Stages of an order: worksheet → quote → sales_order → invoice. An order moves only forward and may skip stages. */

export const STAGES = ['worksheet', 'quote', 'sales_order', 'invoice'] as const;
export type Stage = (typeof STAGES)[number];
export const FIRST_STAGES = ['worksheet', 'quote', 'sales_order'] as const satisfies Stage[];

/** ORDER_STATUS of a cancelled order. Only cancelOrder and an import cancel an order by setting it (decision 0010). */
export const CANCELLED_STATUS = 'CANCELLED';
/** ORDER_STATUS of a void invoice. Only voidInvoice and an import set it. */
export const VOID_STATUS = 'VOID';
/** Returns whether ORDER_STATUS says that an order is cancelled, or that an invoice is void. */
export const saysCancelled = (order: Readonly<Record<string, string>>): boolean =>
  order['ORDER_STATUS'] === (order['ORDER_TYPE'] === 'invoice' ? VOID_STATUS : CANCELLED_STATUS);
/** Column of an order that is 'Y' if it is cancelled, else ''. No custom field can have its name, because of the _. */
export const CANCELLED_MARK = '_CANCELLED';
export const isCancelled = (order: Readonly<Record<string, string>>): boolean => order[CANCELLED_MARK] === 'Y';
