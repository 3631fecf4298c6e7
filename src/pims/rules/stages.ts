/** The stages of an order: worksheet → quote → sales_order → invoice. Forward only; stages may be skipped. */

export const STAGES = ['worksheet', 'quote', 'sales_order', 'invoice'] as const;
export type Stage = (typeof STAGES)[number];
/** The stages a new order may begin in. */
export const FIRST_STAGES = ['worksheet', 'quote', 'sales_order'] as const satisfies Stage[];

/** ORDER_STATUS of a cancelled order. Only cancelOrder and an import set it so that it counts (decision 0010). */
export const CANCELLED_STATUS = 'CANCELLED';
/** Whether the fields of an order say so: what an import and people go by. */
export const saysCancelled = (order: Readonly<Record<string, string>>): boolean =>
  order['ORDER_STATUS'] === CANCELLED_STATUS && order['ORDER_TYPE'] !== 'invoice';
/** Beside the fields of an order: 'Y' when it is cancelled, else ''. No custom field can be called like that. */
export const CANCELLED_MARK = '_CANCELLED';
export const isCancelled = (order: Readonly<Record<string, string>>): boolean => order[CANCELLED_MARK] === 'Y';
