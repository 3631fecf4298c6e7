/**
 * Invoices an order, completely or partly: units and serial numbers of each line, and tracking numbers. It warns before
 * sending, but the service decides.
 */
import { useState } from 'preact/hooks';
import {
  addDecimals,
  compareDecimals,
  isZero,
  parseDecimal,
  subtractDecimals,
  within,
} from '../../../../src/pims/rules/decimal.ts';
import { shareTotals } from '../../../../src/pims/rules/totals.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import { loadStock, write, type AdvancedOrder } from '../../records/records.ts';
import { useLoad } from '../../api/use-load.ts';
import { Badge, formatMoney, shorten } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/dialog/dialog.tsx';
import { TextArea, TextField, useEntry } from '../../ui/form/field.tsx';
import { readNumber, writeNumber } from '../../ui/form/number.ts';
import { focusHeading } from '../../ui/focus.ts';
import { Shortages, stockedParts } from '../../records/lines/stock-table.tsx';
import { OrderTotals, totalOf } from '../../records/lines/totals.tsx';

interface LineInput {
  readonly line: Values;
  readonly units: string;
  readonly serials: string;
}

const numberOf = (line: Values) => line.LINE_NUMBER ?? '';
const openOf = (line: Values) => line.QUANTITY || '0';
const isCarePlan = (line: Values) => line.CARE_PLAN === 'Y';
const splitSerials = (text: string): string[] => splitList(text.replaceAll('\n', ','));
/** Returns the units as a decimal, or undefined while the text is not a number. */
const unitsOf = ({ units }: LineInput): string | undefined => parseDecimal(readNumber(units) ?? '');
const firstInput = (line: Values): LineInput => ({
  line,
  units: writeNumber(openOf(line)),
  serials: splitList(line.SERIAL_NUMBERS ?? '').join('\n'),
});

interface InvoiceProps {
  order: Values;
  lines: readonly Values[];
  /** Receives the call that invoices. The form shows its error. */
  onInvoice: (send: () => Promise<AdvancedOrder>) => Promise<void>;
}

export function InvoiceDialog({ order, lines, onInvoice }: InvoiceProps) {
  const [inputs, setInputs] = useState(() => lines.map(firstInput));
  const tracking = useEntry('');
  const parts = stockedParts(lines);
  const stock = useLoad(JSON.stringify(parts), (signal) => loadStock(parts, signal)).data;
  const change = (changed: LineInput) =>
    setInputs((before) => before.map((input) => (input.line === changed.line ? changed : input)));
  const setAll = (units: (line: Values) => string) =>
    setInputs((before) => before.map((input) => ({ ...input, units: writeNumber(units(input.line)) })));
  const send = async () => {
    await onInvoice(() => write('POST', '/orders/invoice', toRequest(order, inputs, tracking.value)));
    focusHeading(); // The button that opened the dialog no longer exists.
  };
  const linesOf = (units: (input: LineInput) => string) =>
    inputs.map((input) => ({ ...input.line, QUANTITY: units(input) })).filter(({ QUANTITY }) => !isZero(QUANTITY));
  const invoiced = linesOf((input) => unitsOf(input) ?? '');
  const open = linesOf((input) => subtractDecimals(openOf(input.line), unitsOf(input) ?? ''));
  // The service shares the totals by the same rule.
  const [own, left] = open.length === 0 ? [] : shareTotals(order, lines, invoiced, open);
  const kept = splitList(order.TRACKING_NUMBERS ?? '');
  return (
    <FormDialog
      title={`Invoice order ${order.ORDER_NUMBER}`}
      description="Invoicing takes the units from stock and locks quantities and prices."
      width="wide"
      action="Invoice"
      onSubmit={send}
    >
      <div class="page-actions">
        <Button size="small" onClick={() => setAll(openOf)}>
          All units
        </Button>
        <Button size="small" onClick={() => setAll(() => '0')}>
          No units
        </Button>
      </div>
      {inputs.map((input) => (
        <InvoiceLine
          key={numberOf(input.line)}
          input={input}
          onHand={isCarePlan(input.line) ? undefined : stock?.get(input.line.PART_CODE ?? '')?.onHand}
          onChange={change}
        />
      ))}
      <TextField
        label="Tracking numbers"
        name="tracking"
        isExact
        {...tracking}
        hint={`Separate the numbers with commas.${kept.length === 0 ? '' : ` The order already has ${kept.join(', ')}.`}`}
      />
      <p class="invoice-summary" role="status">
        {summarise(inputs)}
      </p>
      <Shortages lines={order.DROP_SHIP === 'Y' ? [] : invoiced} stock={stock} />
      <OrderTotals order={{ ...order, ...own }} lines={invoiced} />
      {left && <p class="hint">The total of the backorder is {formatMoney(totalOf({ ...order, ...left }, open))}.</p>}
    </FormDialog>
  );
}

interface InvoiceLineProps {
  input: LineInput;
  /** The units on hand, if the part has stock. */
  onHand: string | undefined;
  onChange: (changed: LineInput) => void;
}

function InvoiceLine({ input, onHand, onChange }: InvoiceLineProps) {
  const { line } = input;
  const number = numberOf(line);
  const open = openOf(line);
  const count = splitSerials(input.serials).length;
  const units = unitsOf(input) ?? '0';
  const hasTooMany = compareDecimals(units, '0') > 0 && compareDecimals(String(count), units) > 0;
  return (
    <fieldset class="invoice-line">
      <legend>
        <span class="muted">{number}</span> <bdi>{shorten(line.PART_CODE || 'No part code', 80)}</bdi>{' '}
        {isCarePlan(line) && <Badge tone="info">Care plan</Badge>}
      </legend>
      <p class="muted small invoice-what">
        <bdi>{shorten(line.DESCRIPTION ?? '', 200)}</bdi>
      </p>
      <TextField
        label={`Units of line ${number}`}
        name={`units ${number}`}
        inputmode="decimal"
        autocomplete="off"
        value={input.units}
        onValue={(text) => onChange({ ...input, units: text })}
        hint={`${open} ordered, ${subtractDecimals(open, line.NUMBER_SHIPPED ?? '')} open${onHand === undefined ? '' : `, ${onHand || '0'} on hand`}`}
        error={faultOf(input)}
      />
      {isCarePlan(line) ? (
        <p class="hint invoice-no-serials">Care plans have no serial numbers.</p>
      ) : (
        <TextArea
          label={`Serial numbers of line ${number}`}
          name={`serials ${number}`}
          isMono
          rows={2}
          isExact
          value={input.serials}
          onValue={(serials) => onChange({ ...input, serials })}
          hint="Enter one per line, at most one per unit."
          error={
            hasTooMany
              ? `You entered ${count} serial numbers for ${units} ${units === '1' ? 'unit' : 'units'}. Enter at most one per unit.`
              : undefined
          }
        />
      )}
    </fieldset>
  );
}

/** Returns the fault of the units, or undefined if they are valid. */
function faultOf(input: LineInput): string | undefined {
  const units = unitsOf(input);
  if (units === undefined) return 'Enter a number, such as 0 or 2.';
  const open = openOf(input.line);
  return within(units, open) ? undefined : `Enter 0 to ${open}.`;
}

function toRequest({ ORDER_NUMBER }: Values, inputs: readonly LineInput[], tracking: string) {
  const lines = inputs.map((input) => {
    const { line, units, serials } = input;
    // A line that is not invoiced keeps its serial numbers; they are sent only if the user has changed them.
    const isLeft = unitsOf(input) === '0' && serials === firstInput(line).serials;
    const sent = !isCarePlan(line) && !isLeft && { SERIAL_NUMBERS: splitSerials(serials).join(',') };
    return { LINE_REF_LOCK_CODE: line.LINE_REF_LOCK_CODE, QUANTITY: readNumber(units) ?? units, ...sent };
  });
  return { ORDER_NUMBER, lines, TRACKING_NUMBERS: splitList(tracking).join(',') };
}

function summarise(inputs: readonly LineInput[]): string {
  const wrong = inputs.find((input) => faultOf(input) !== undefined)?.line;
  if (wrong) return `Line ${numberOf(wrong)}: enter 0 to ${openOf(wrong)} units.`;
  const all = inputs.map(({ line }) => openOf(line)).reduce(addDecimals, '0');
  const units = inputs.map((input) => unitsOf(input) ?? '0').reduce(addDecimals, '0');
  if (inputs.every((input) => compareDecimals(openOf(input.line), unitsOf(input) ?? '0') === 0))
    return `All ${all} units: the order is complete.`;
  return inputs.every((input) => unitsOf(input) === '0')
    ? 'No units: there is nothing to invoice.'
    : `${units} of ${all} units. The others move to a new backorder.`;
}
