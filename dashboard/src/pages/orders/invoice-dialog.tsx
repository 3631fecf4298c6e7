/**
 * Invoices an order, whole or in part: units and serial numbers of each line, tracking numbers. Warns before sending;
 * the service decides.
 */
import { useState } from 'preact/hooks';
import type { AdvancedOrderView, BodyOf } from '../../../../src/http/dashboard/interface.ts';
import { addDecimals, compareDecimals, parseDecimal } from '../../../../src/pims/rules/decimal.ts';
import { within } from '../../../../src/pims/rules/decimal.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import { post } from '../../api/client.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/dialog/form-dialog.tsx';
import { TextArea, TextField } from '../../ui/form/field.tsx';
import { focusHeading } from '../../ui/focus.ts';
import { shorten } from '../../ui/text/text.tsx';

interface LineInput {
  readonly units: string;
  readonly serials: string;
}
/** By LINE_NUMBER. */
type Inputs = Readonly<Record<string, LineInput>>;

const numberOf = (line: Values): string => line['LINE_NUMBER'] ?? '';
const openOf = (line: Values): string => line['QUANTITY'] || '0';
const isCarePlan = (line: Values): boolean => line['CARE_PLAN'] === 'Y';
const splitSerials = (text: string): string[] => splitList(text.replaceAll('\n', ','));
/** The units as a decimal; undefined while there is no number. */
const unitsOf = ({ units }: LineInput): string | undefined => parseDecimal(units.trim());
const firstInput = (line: Values): LineInput => ({
  units: openOf(line),
  serials: splitList(line['SERIAL_NUMBERS'] ?? '').join('\n'),
});

interface InvoiceProps {
  order: Values;
  lines: readonly Values[];
  /** Given what is sent; what it throws stands in the form. */
  onInvoice: (send: () => Promise<AdvancedOrderView>) => Promise<void>;
  onClose: () => void;
}

export function InvoiceDialog({ order, lines, onInvoice, onClose }: InvoiceProps) {
  const [inputs, setInputs] = useState<Inputs>(() =>
    Object.fromEntries(lines.map((line) => [numberOf(line), firstInput(line)])),
  );
  const [tracking, setTracking] = useState('');
  const change = (number: string, part: Partial<LineInput>) =>
    setInputs((before) => ({ ...before, [number]: { ...before[number]!, ...part } }));
  const setAll = (units: (line: Values) => string) =>
    setInputs((before) =>
      Object.fromEntries(lines.map((line) => [numberOf(line), { ...before[numberOf(line)]!, units: units(line) }])),
    );
  const send = async () => {
    await onInvoice(() => post('/orders/invoice', toRequest(order, lines, inputs, tracking)));
    onClose();
    focusHeading(); // The button that opened this is gone.
  };
  const kept = splitList(order['TRACKING_NUMBERS'] ?? '');
  return (
    <FormDialog
      title={`Invoice order ${order['ORDER_NUMBER']}`}
      description="An invoice takes its units from the stock and no longer changes."
      width="wide"
      onClose={onClose}
      action="Invoice"
      onSubmit={send}
    >
      <div class="invoice-all">
        <Button size="small" onClick={() => setAll(openOf)}>
          All units
        </Button>
        <Button size="small" onClick={() => setAll(() => '0')}>
          No units
        </Button>
      </div>
      {lines.map((line) => (
        <InvoiceLine
          key={numberOf(line)}
          line={line}
          input={inputs[numberOf(line)]!}
          onChange={(part) => change(numberOf(line), part)}
        />
      ))}
      <TextField
        label="Tracking numbers"
        name="tracking"
        isExact
        value={tracking}
        onValue={setTracking}
        hint={`With commas between.${kept.length === 0 ? '' : ` The order keeps ${kept.join(', ')}.`}`}
      />
      <p class="invoice-summary" role="status">
        {summarise(lines, inputs)}
      </p>
    </FormDialog>
  );
}

interface InvoiceLineProps {
  line: Values;
  input: LineInput;
  onChange: (part: Partial<LineInput>) => void;
}

function InvoiceLine({ line, input, onChange }: InvoiceLineProps) {
  const number = numberOf(line);
  const open = openOf(line);
  const count = splitSerials(input.serials).length;
  const units = unitsOf(input) ?? '0';
  const hasTooMany = compareDecimals(units, '0') > 0 && compareDecimals(String(count), units) > 0;
  return (
    <fieldset class="invoice-line">
      <legend>
        <span class="muted">{number}</span> <bdi>{shorten(line['PART_CODE'] || 'No part code', 80)}</bdi>{' '}
        {isCarePlan(line) && <Badge tone="info">Care plan</Badge>}
      </legend>
      <p class="muted small invoice-what">
        <bdi>{shorten(line['DESCRIPTION'] ?? '', 200)}</bdi>
      </p>
      <TextField
        label={`Units of line ${number}`}
        name={`units ${number}`}
        inputmode="decimal"
        autocomplete="off"
        value={input.units}
        onValue={(text) => onChange({ units: text })}
        hint={`of ${open} open`}
        error={refuseUnits(input, open)}
      />
      {isCarePlan(line) ? (
        <p class="hint invoice-no-serials">
          A care plan takes no serial numbers: the serial belongs to the product it covers.
        </p>
      ) : (
        <TextArea
          label={`Serial numbers of line ${number}`}
          name={`serials ${number}`}
          isMono
          rows={2}
          isExact
          value={input.serials}
          onValue={(serials) => onChange({ serials })}
          hint="At most one a unit; one a line, or commas between."
          error={hasTooMany ? `${count} serial numbers for ${units} ${units === '1' ? 'unit' : 'units'}.` : undefined}
        />
      )}
    </fieldset>
  );
}

function refuseUnits(input: LineInput, open: string): string | undefined {
  const units = unitsOf(input);
  if (units === undefined) return 'A number is needed, such as 0 or 2.';
  return within(units, open) ? undefined : `From 0 to ${open}.`;
}

function toRequest(
  order: Values,
  lines: readonly Values[],
  inputs: Inputs,
  tracking: string,
): BodyOf<'POST /orders/invoice'> {
  const quantities = lines.map((line) => [numberOf(line), inputs[numberOf(line)]!.units.trim()] as const);
  // A line that is not invoiced keeps its serial numbers; they are sent only if the user has changed them.
  const serials = lines.flatMap((line) => {
    const input = inputs[numberOf(line)]!;
    const isLeft = unitsOf(input) === '0' && input.serials === firstInput(line).serials;
    return isCarePlan(line) || isLeft ? [] : [[numberOf(line), splitSerials(input.serials)] as const];
  });
  return {
    ORDER_NUMBER: order['ORDER_NUMBER'] ?? '',
    quantities: Object.fromEntries(quantities),
    serials: Object.fromEntries(serials),
    tracking: splitList(tracking),
  };
}

function summarise(lines: readonly Values[], inputs: Inputs): string {
  const wrong = lines.find((line) => refuseUnits(inputs[numberOf(line)]!, openOf(line)) !== undefined);
  if (wrong !== undefined) return `Line ${numberOf(wrong)} can be invoiced with 0 to ${openOf(wrong)} units.`;
  const asked = lines.map((line) => unitsOf(inputs[numberOf(line)]!) ?? '0');
  const all = lines.map(openOf).reduce(addDecimals, '0');
  const units = asked.reduce(addDecimals, '0');
  if (lines.every((line, index) => compareDecimals(openOf(line), asked[index]!) === 0))
    return `All ${all} units; nothing is left.`;
  return asked.every((one) => one === '0')
    ? `None of ${all} units: there is nothing to invoice.`
    : `${units} of ${all} units; what is left becomes a new sales order.`;
}
