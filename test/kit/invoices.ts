/** Names the lines of an invoice by their LINE_NUMBERs, as tests do, in the form of the API: by LINE_REF_LOCK_CODE. */
import { parseLines, type InvoiceRequest } from '../../src/pims/rules/invoice.ts';
import type { Json } from '../../src/pims/rules/json.ts';
import { checkText, type Values } from '../../src/pims/rules/values.ts';
import type { Dictionaries } from '../../src/pims/rules/fields.ts';
import { WRITES } from '../../src/pims/batch.ts';
import { loadValue, type Script } from '../../src/pims/writes/script.ts';
import type { Body, WriteOptions } from '../../src/pims/writes/writes.ts';

/** The units to invoice, by LINE_NUMBER. Without quantities, everything is invoiced. */
export interface Invoice {
  readonly quantities: ReadonlyMap<string, string>;
  readonly serials: ReadonlyMap<string, readonly string[]>;
  readonly tracking: readonly string[];
}
export type OrderTransition = { readonly approve: true } | { readonly invoice: Invoice };
export const WHOLE_INVOICE: Invoice = { quantities: new Map(), serials: new Map(), tracking: [] };

/** Returns `lines` for an order with these lines. A line that the order does not have is named by its number. */
export function nameLines({ quantities, serials }: Invoice, known: readonly Values[]): Values[] | undefined {
  if (quantities.size + serials.size === 0) return undefined;
  const all = new Map(known.map((line) => [line['LINE_NUMBER']!, line]));
  const asked = new Set([...(quantities.size === 0 ? all.keys() : quantities.keys()), ...serials.keys()]);
  return [...asked].map((number) => {
    const { LINE_REF_LOCK_CODE = number, QUANTITY = '0' } = all.get(number) ?? {};
    const given = quantities.size === 0 ? QUANTITY || '0' : (quantities.get(number) ?? '0');
    return {
      LINE_REF_LOCK_CODE,
      QUANTITY: given,
      ...(serials.has(number) && { SERIAL_NUMBERS: serials.get(number)!.join(',') }),
    };
  });
}

/** Returns the request that an invoice is parsed into. Throws what the parser does. */
export function requestOf(invoice: Invoice, known: readonly Values[]): InvoiceRequest {
  const named = nameLines(invoice, known);
  const tracking = invoice.tracking.join(',');
  checkText('TRACKING_NUMBERS', tracking);
  return { lines: named && parseLines(named), fields: { TRACKING_NUMBERS: tracking } };
}

/** Returns the body of invoiceOrder for an order with these lines. */
export function bodyOf(ORDER_NUMBER: string, invoice: Invoice, known: readonly Values[]): Body {
  const lines = nameLines(invoice, known);
  return { ORDER_NUMBER, ...(lines && { lines }), TRACKING_NUMBERS: invoice.tracking.join(',') } as unknown as Body;
}

/** Approves or invoices an order. */
export function* advanceOrder(
  dictionaries: Dictionaries,
  ORDER_NUMBER: string,
  transition: OrderTransition,
  options: WriteOptions,
): Script<Json> {
  if ('approve' in transition) return yield* WRITES.approveOrder(dictionaries, { ORDER_NUMBER }, options);
  const known = yield* loadValue('lines', ORDER_NUMBER);
  return yield* WRITES.invoiceOrder(dictionaries, bodyOf(ORDER_NUMBER, transition.invoice, known), options);
}
