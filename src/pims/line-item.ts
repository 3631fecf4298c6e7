/**
 * Rules of a line item: what a new line starts with, and what an update may change. Pure: the store calls them inside its transaction with the
 * order and line as they stand there. Source: specification 2.3, decisions "Records".
 */
import { Refusal, type Outcome } from '../errors.ts';
import { checkSerials, moveStock, type StockMovement } from './lifecycle.ts';
import { within } from './decimal.ts';
import type { Values } from './values.ts';

export interface LineStep {
  readonly line: Values;
  readonly stock: StockMovement[];
}

/** The part a line names, as far as a line takes something over from it. */
export type KnownPart = Pick<Values, 'PART_DESCRIPTION' | 'CARE_PLAN'> | undefined;

/** A known part fills DESCRIPTION and the care-plan flag where they were not sent. */
export function fillFromPart(values: Values, part: KnownPart): Values {
  if (!part) return values;
  return {
    ...values,
    DESCRIPTION: values['DESCRIPTION'] ?? part.PART_DESCRIPTION ?? '',
    CARE_PLAN: values['CARE_PLAN'] ?? part.CARE_PLAN ?? '',
  };
}

/** A new line of an order; nothing of it is shipped yet. An invoice takes no new lines. */
export function addLine(order: Values, values: Values, part: KnownPart): Outcome<LineStep> {
  if (order['ORDER_TYPE'] === 'invoice')
    return new Refusal(
      'STAGE_NOT_ALLOWED',
      `Order ${order['ORDER_NUMBER']} is an invoice; lines can no longer be added.`,
      { field: 'ORDER_NUMBER' },
    );
  const line = { QUANTITY: '0', ...fillFromPart(values, part), NUMBER_SHIPPED: '0' };
  if (line.QUANTITY === '') line.QUANTITY = '0';
  return checkSerials(line) ?? { line, stock: moveStock([order, []], [order, [line]]) };
}

/**
 * A line with some fields changed. NUMBER_SHIPPED lies between 0 and QUANTITY; another PART_CODE brings the new part's description and care-plan flag
 * unless they are sent; an invoiced line keeps its part and quantities.
 */
export function changeLine(order: Values, line: Values, change: Values, part: KnownPart): Outcome<LineStep> {
  const otherPart = change['PART_CODE'] !== undefined && change['PART_CODE'] !== line['PART_CODE'];
  const changed: Values = { ...line, ...(otherPart ? fillFromPart(change, part) : change) };
  for (const name of ['QUANTITY', 'NUMBER_SHIPPED']) changed[name] ||= '0';
  const frozen = ['PART_CODE', 'QUANTITY', 'NUMBER_SHIPPED', 'CARE_PLAN'].find((name) => changed[name] !== line[name]);
  if (order['ORDER_TYPE'] === 'invoice' && frozen)
    return new Refusal(
      'STAGE_NOT_ALLOWED',
      `Order ${order['ORDER_NUMBER']} is an invoice; ${frozen} of its lines can no longer change.`,
      { field: frozen },
    );
  if (!within(changed['NUMBER_SHIPPED']!, changed['QUANTITY']!))
    return new Refusal(
      'QUANTITY_NOT_ALLOWED',
      `NUMBER_SHIPPED must lie between 0 and QUANTITY (${changed['QUANTITY']}), not ${changed['NUMBER_SHIPPED']}.`,
      {
        field: 'NUMBER_SHIPPED',
      },
    );
  return checkSerials(changed) ?? { line: changed, stock: moveStock([order, [line]], [order, [changed]]) };
}
