/** The stages of an order: worksheet → quote → sales_order → invoice. Forward only; stages may be skipped. */

export const STAGES = ['worksheet', 'quote', 'sales_order', 'invoice'] as const;
export type Stage = (typeof STAGES)[number];
/** The stages a new order may begin in. */
export const FIRST_STAGES = ['worksheet', 'quote', 'sales_order'] as const satisfies Stage[];
