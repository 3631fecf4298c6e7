/** Creates an order with its lines in one step, for a customer and parts that are found by typing or scanning. */
import { useState } from 'preact/hooks';
import { addDecimals, compareDecimals } from '../../../../src/pims/rules/decimal.ts';
import { FIRST_STAGES } from '../../../../src/pims/rules/stages.ts';
import { amountOf } from '../../../../src/pims/rules/totals.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { faultAt } from '../../api/client.ts';
import { recordPath, writeBatch } from '../../records/records.ts';
import { navigate } from '../../browser/router.tsx';
import { formatMoney, labelStage } from '../../ui/text/text.tsx';
import { Actions, Button, ButtonLink, IconButton } from '../../ui/button.tsx';
import { NumberField, Select, TextArea, TextField } from '../../ui/form/field.tsx';
import { Form } from '../../ui/form/form.tsx';
import { takeNumber, writeNumber } from '../../ui/form/number.ts';
import { Card, Page, Section } from '../../ui/page.tsx';
import { FindField, useKnownCodes } from '../../records/edit/find-field.tsx';
import { ADDRESS_FIELDS } from '../../records/record-fields.tsx';

interface NewLine {
  readonly id: number;
  readonly PART_CODE: string;
  readonly QUANTITY: string;
  readonly UNIT_PRICE: string;
  readonly part: Values | undefined;
}
const newLine = (id: number): NewLine => ({ id, PART_CODE: '', QUANTITY: '1', UNIT_PRICE: '', part: undefined });
const STAGES = FIRST_STAGES.map((stage) => [stage, labelStage(stage)] as const);
/** A batch has room for the order and this many lines. */
const LINES_MAX = 99;

export default function NewOrderPage() {
  const [order, setOrder] = useState<Values>({
    ORDER_TYPE: 'sales_order',
    ORDER_DATE: new Date().toLocaleDateString('sv'), // as ISO 8601
  });
  const [lines, setLines] = useState<readonly NewLine[]>([newLine(0)]);
  const [nextId, setNextId] = useState(1);
  const { know, question } = useKnownCodes();
  const set = (name: string) => (value: string) => setOrder((before) => ({ ...before, [name]: value }));
  const change = (id: number, part: Partial<NewLine>) =>
    setLines((before) => before.map((line) => (line.id === id ? { ...line, ...part } : line)));
  const create = async () => {
    const taken = lines.flatMap(takeLine);
    if (taken.length === 0) throw faultAt('PART_CODE 1', 'Enter at least one part.');
    const code = (order.CUSTOMER_CODE ?? '').trim();
    const found = await know([
      ...taken.map(({ body, name, part }) => ['inventory', body.PART_CODE, name, part] as const),
      ...(code === '' ? [] : [['customers', code, 'CUSTOMER_CODE'] as const]),
    ]);
    const steps = taken.map(({ body }, at) => ({
      operation: 'addLineItem',
      body: { ...body, PART_CODE: found[at]?.PART_CODE ?? body.PART_CODE, ORDER_NUMBER: '$0.data' },
    }));
    const buyer = found[taken.length] ?? {};
    const address = ADDRESS_FIELDS.map((name) => [name, buyer[name]] as const);
    const header = { ...Object.fromEntries(address), ...order, CUSTOMER_CODE: buyer.CUSTOMER_CODE ?? code };
    const body = Object.fromEntries(Object.entries(header).filter(([, value]) => value));
    const [number] = await writeBatch([{ operation: 'createOrder', body }, ...steps]);
    navigate(recordPath('orders', number as string));
  };
  const isFull = lines.length >= LINES_MAX;
  const add = () => {
    setLines([...lines, newLine(nextId)]);
    setNextId(nextId + 1);
  };
  /** Moves the focus to the part of the next line. The field of a new line takes it when it appears. */
  const goOn = (place: number) => {
    const next = document.getElementsByName(`PART_CODE ${place + 1}`)[0];
    if (next) next.focus();
    else if (!isFull) add();
  };
  return (
    <Page title="New order" width="narrow">
      <Form label="New order" onSubmit={create} isSentByButton>
        <Header order={order} set={set} />
        <Section title="Lines">
          {lines.map((line, at) => (
            <LineRow
              key={line.id}
              line={line}
              place={at + 1}
              onChange={(part) => change(line.id, part)}
              onRemove={() => setLines(lines.filter((one) => one !== line))}
              onEntered={() => goOn(at + 1)}
            />
          ))}
          <p role="status">
            <strong>Total {totalOf(lines)}</strong>
          </p>
        </Section>
        {question}
        <Actions>
          <Button icon="plus" disabled={isFull} onClick={add}>
            Add line
          </Button>
          <ButtonLink to="/records/orders">Cancel</ButtonLink>
          <Button type="submit" tone="primary">
            Create order
          </Button>
        </Actions>
      </Form>
    </Page>
  );
}

/** Returns the line in the form of the API, or nothing for an untouched line. Throws an error at a field. */
function takeLine({ PART_CODE, QUANTITY, UNIT_PRICE, part }: NewLine, at: number) {
  const name = `PART_CODE ${at + 1}`;
  const unitsName = `QUANTITY ${at + 1}`;
  const priceName = `UNIT_PRICE ${at + 1}`;
  if (PART_CODE.trim() === '') {
    if (QUANTITY === '1' && UNIT_PRICE === '') return [];
    throw faultAt(name, 'Enter the part of this line, or remove the line.');
  }
  const units = takeNumber(QUANTITY, unitsName);
  if (compareDecimals(units, '0') <= 0) throw faultAt(unitsName, 'Enter more than 0 units.');
  const price = takeNumber(UNIT_PRICE, priceName);
  if (compareDecimals(price, '0') < 0) throw faultAt(priceName, 'A price cannot be negative.');
  const body = { PART_CODE: PART_CODE.trim(), QUANTITY: units, ...(price !== '' && { UNIT_PRICE: price }) };
  // The service uses the price of the part if none is sent.
  return [{ name, body, part, amount: amountOf({ UNIT_PRICE: part?.UNIT_PRICE ?? '', ...body }) }];
}

/** Returns the total of the lines, or a dash while a line is wrong. */
function totalOf(lines: readonly NewLine[]): string {
  try {
    return formatMoney(
      lines
        .flatMap(takeLine)
        .map(({ amount }) => amount)
        .reduce(addDecimals, '0'),
    );
  } catch {
    return '–';
  }
}

interface HeaderProps {
  order: Values;
  set: (name: string) => (value: string) => void;
}

function Header({ order, set }: HeaderProps) {
  const entry = (name: string) => ({ name, value: order[name] ?? '', onValue: set(name) });
  return (
    <Card>
      <div class="fields">
        <FindField kind="customers" label="Customer" autofocus {...entry('CUSTOMER_CODE')} />
        <Select
          label="Stage"
          name="ORDER_TYPE"
          value={(order.ORDER_TYPE ?? 'sales_order') as 'sales_order'}
          onValue={set('ORDER_TYPE')}
          options={STAGES}
        />
        <TextField label="Order date" type="date" {...entry('ORDER_DATE')} />
        <TextField label="Storefront number" isExact {...entry('REFERENCE_NUMBER')} />
        <TextField label="Purchase order" isExact {...entry('PO_NUMBER')} />
      </div>
      <TextArea label="Notes" rows={2} {...entry('NOTES')} />
    </Card>
  );
}

interface LineRowProps {
  line: NewLine;
  place: number;
  onChange: (part: Partial<NewLine>) => void;
  onRemove: () => void;
  onEntered: () => void;
}

function LineRow({ line, place, onChange, onRemove, onEntered }: LineRowProps) {
  const { part } = line;
  return (
    <div class="line-row" role="group" aria-label={`Line ${place}`}>
      <FindField
        kind="inventory"
        label={`Part of line ${place}`}
        name={`PART_CODE ${place}`}
        value={line.PART_CODE}
        autofocus={line.id > 0}
        onEntered={onEntered}
        onValue={(PART_CODE, found) => onChange({ PART_CODE, part: found })}
      />
      <NumberField
        label={`Units of line ${place}`}
        name={`QUANTITY ${place}`}
        value={line.QUANTITY}
        onValue={(QUANTITY) => onChange({ QUANTITY })}
      />
      <NumberField
        label={`Price of line ${place}`}
        name={`UNIT_PRICE ${place}`}
        placeholder={writeNumber(part?.UNIT_PRICE ?? '')}
        value={line.UNIT_PRICE}
        onValue={(UNIT_PRICE) => onChange({ UNIT_PRICE })}
      />
      <IconButton icon="close" label={`Remove line ${place}`} onClick={onRemove} />
    </div>
  );
}
