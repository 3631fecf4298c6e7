/** The returns of an invoice, and the dialog that returns some of its units. The service decides what is left. */
import { useState } from 'preact/hooks';
import { addDecimals, compareDecimals, parseDecimal, within } from '../../../../src/pims/rules/decimal.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import { saysCancelled } from '../../../../src/pims/rules/stages.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { useLoad } from '../../api/use-load.ts';
import { navigate } from '../../browser/router.tsx';
import { where } from '../../records/filters.ts';
import { fieldColumn, RecordLink } from '../../records/field-column.tsx';
import { queryRecords, recordPath, useCurrent, write, type LoadedRecord } from '../../records/records.ts';
import { FormDialog } from '../../ui/dialog/dialog.tsx';
import { Checkbox, TextField, useEntry } from '../../ui/form/field.tsx';
import { readNumber, writeNumber } from '../../ui/form/number.ts';
import { Section, WhenLoaded } from '../../ui/page.tsx';
import { Table } from '../../ui/table/table.tsx';
import { shorten } from '../../ui/text/text.tsx';
import { toast } from '../../ui/toaster.tsx';

const SHOWN_MAX = 500;
const useReturns = (number: string) =>
  useLoad(number, (signal) =>
    queryRecords('orders', [where('RETURN_OF', 'eq', number)], { maxReturn: SHOWN_MAX, include: 'lines' }, signal),
  );

const COLUMNS = [
  { ...fieldColumn('ORDER_NUMBER'), cell: (row: Values) => <RecordLink kind="orders" code={row.ORDER_NUMBER ?? ''} /> },
  ...['ORDER_DATE', 'ORDER_STATUS', 'ORDER_TOTAL', 'NOTES'].map((name) => fieldColumn(name)),
];

/** Example: `<Returns number="20015" />`. Shows nothing if there are none. */
export function Returns({ number }: { number: string }) {
  const { rows = [] } = useReturns(number).data ?? {};
  if (rows.length === 0) return null;
  return (
    <Section title="Returns">
      <Table label="Returns" columns={COLUMNS} rows={rows} rowKey={(row) => row.ORDER_NUMBER ?? ''} />
    </Section>
  );
}

export function ReturnDialog({ record }: { record: LoadedRecord }) {
  const { values, lines, tag } = useCurrent('orders', record);
  const number = values.ORDER_NUMBER ?? '';
  const returns = useReturns(number);
  const [typed, setTyped] = useState<Readonly<Record<string, Values>>>({});
  const reason = useEntry('');
  const inputOf = ({ LINE_NUMBER = '' }: Values): Values => typed[LINE_NUMBER] ?? {};
  const change = ({ LINE_NUMBER = '' }: Values, part: Values) =>
    setTyped((before) => ({ ...before, [LINE_NUMBER]: { ...before[LINE_NUMBER], ...part } }));
  const send = async () => {
    const returned = lines.flatMap((line) => {
      const { units = '', ...others } = inputOf(line);
      return units === ''
        ? []
        : { LINE_REF_LOCK_CODE: line.LINE_REF_LOCK_CODE, QUANTITY: readNumber(units) ?? units, ...others };
    });
    const body = { ORDER_NUMBER: number, lines: returned, REASON: reason.value };
    const made = await write<string>('PUT', '/orders/return', body, { 'if-match': tag });
    toast('Returned');
    navigate(recordPath('orders', made));
  };
  return (
    <FormDialog
      title={`Return units of invoice ${number}`}
      description="A return is a new order with negative quantities and totals."
      width="wide"
      action="Return"
      onSubmit={send}
    >
      <WhenLoaded from={returns}>
        {(found) =>
          lines.map((line) => (
            <ReturnLine
              key={line.LINE_NUMBER}
              line={line}
              left={leftOf(line, found)}
              input={inputOf(line)}
              onChange={(part) => change(line, part)}
            />
          ))
        }
      </WhenLoaded>
      <TextField label="Reason" name="REASON" maxLength={500} {...reason} />
    </FormDialog>
  );
}

/** Returns the units of a line that are not returned yet. */
function leftOf(
  { LINE_NUMBER, QUANTITY = '' }: Values,
  { rows, lines }: { rows: readonly Values[]; lines: readonly Values[] },
): string {
  const valid = new Set(rows.filter((row) => !saysCancelled(row)).map((row) => row.ORDER_NUMBER));
  const returned = lines.filter((line) => line.LINE_NUMBER === LINE_NUMBER && valid.has(line.ORDER_NUMBER));
  return returned.map((line) => line.QUANTITY ?? '').reduce(addDecimals, QUANTITY);
}

interface ReturnLineProps {
  line: Values;
  left: string;
  input: Values;
  onChange: (part: Values) => void;
}

function ReturnLine({ line, left, input, onChange }: ReturnLineProps) {
  const { LINE_NUMBER: number, PART_CODE = '', SERIAL_NUMBERS = '' } = line;
  const { units = '', RESTOCK = 'Y' } = input;
  if (compareDecimals(left, '0') <= 0) return null;
  const isWrong = units !== '' && !within(parseDecimal(readNumber(units) ?? '') ?? '-1', left);
  return (
    <fieldset class="invoice-line">
      <legend>
        <span class="muted">{number}</span> <bdi>{shorten(PART_CODE || line.DESCRIPTION || '', 80)}</bdi>
      </legend>
      <TextField
        label={`Units of line ${number}`}
        name={`units ${number}`}
        inputmode="decimal"
        autocomplete="off"
        value={units}
        onValue={(text) => onChange({ units: text })}
        hint={`${writeNumber(left)} left to return`}
        error={isWrong ? `Enter 0 to ${writeNumber(left)}.` : undefined}
      />
      <div>
        {SERIAL_NUMBERS !== '' && (
          <TextField
            label={`Serial numbers of line ${number}`}
            name={`serials ${number}`}
            isExact
            value={input.SERIAL_NUMBERS ?? ''}
            onValue={(text) => onChange({ SERIAL_NUMBERS: text })}
            hint={`Sold: ${shorten(splitList(SERIAL_NUMBERS).join(', '), 200)}`}
          />
        )}
        {line.CARE_PLAN !== 'Y' && (
          <Checkbox
            label={`Put the units of line ${number} back in stock`}
            name={`restock ${number}`}
            isChecked={RESTOCK === 'Y'}
            onChecked={(isChecked) => onChange({ RESTOCK: isChecked ? 'Y' : 'N' })}
          />
        )}
      </div>
    </fieldset>
  );
}
