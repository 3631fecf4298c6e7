/** Creates an order with its lines in one step. Finds the customer and parts by typing, and shows prices and stock. */
import { useState } from 'preact/hooks';
import { addDecimals } from '../../../../src/pims/rules/decimal.ts';
import { FIRST_STAGES } from '../../../../src/pims/rules/stages.ts';
import { amountOf } from '../../../../src/pims/rules/totals.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { recordPath, writeBatch } from '../../api/records.ts';
import { navigate } from '../../router.tsx';
import { formatMoney, labelStage } from '../../ui/text/text.tsx';
import { Actions, Button, ButtonLink, IconButton } from '../../ui/button.tsx';
import { Select, TextArea, TextField } from '../../ui/form/field.tsx';
import { Form } from '../../ui/form/form.tsx';
import { Card, Page, Section } from '../../ui/page.tsx';
import { FindField } from '../edit/find-field.tsx';
import { ADDRESS_FIELDS } from '../records/record-fields.tsx';

interface NewLine {
  readonly id: number;
  readonly PART_CODE: string;
  readonly QUANTITY: string;
  readonly UNIT_PRICE: string;
  readonly part: Values | undefined;
}
const newLine = (id: number): NewLine => ({ id, PART_CODE: '', QUANTITY: '1', UNIT_PRICE: '', part: undefined });
const STAGES = FIRST_STAGES.map((value) => ({ value, label: labelStage(value) }));
/** A batch has room for the order and this many lines. */
const LINES_MOST = 99;

export default function NewOrderPage() {
  const [order, setOrder] = useState<Values>({
    ORDER_TYPE: 'sales_order',
    ORDER_DATE: new Date().toLocaleDateString('en-US'),
  });
  const [customer, setCustomer] = useState<Values>();
  const [lines, setLines] = useState<readonly NewLine[]>([newLine(0)]);
  const [nextId, setNextId] = useState(1);
  const set = (name: string) => (value: string) => setOrder((before) => ({ ...before, [name]: value }));
  const change = (id: number, part: Partial<NewLine>) =>
    setLines((before) => before.map((line) => (line.id === id ? { ...line, ...part } : line)));
  const filled = lines.filter(({ PART_CODE }) => PART_CODE !== '');
  const total = filled.map((line) => amountOf({ ...line, UNIT_PRICE: priceOf(line) } as unknown as Values));
  const create = async () => {
    const address = Object.fromEntries(
      ADDRESS_FIELDS.flatMap((name) => (customer?.[name] ? [[name, customer[name]]] : [])),
    );
    const steps = filled.map(({ PART_CODE, QUANTITY, UNIT_PRICE }) => ({
      operation: 'addLineItem',
      body: { ORDER_NUMBER: '$0.data', PART_CODE, QUANTITY, ...(UNIT_PRICE !== '' && { UNIT_PRICE }) } as Values,
    }));
    const body = Object.fromEntries(Object.entries({ ...address, ...order }).filter(([, value]) => value !== ''));
    const [number] = await writeBatch([{ operation: 'createOrder', body }, ...steps]);
    navigate(recordPath('orders', number as string));
  };
  return (
    <Page title="New order" width="narrow">
      <Form label="New order" onSubmit={create}>
        <Header order={order} customer={customer} set={set} onCustomer={setCustomer} />
        <Section title="Lines">
          {lines.map((line, at) => (
            <LineRow
              key={line.id}
              line={line}
              place={at + 1}
              onChange={(part) => change(line.id, part)}
              onRemove={() => setLines(lines.filter((one) => one !== line))}
            />
          ))}
          <p role="status">
            <strong>Total {formatMoney(total.reduce(addDecimals, '0'))}</strong>
          </p>
        </Section>
        <Actions>
          <Button
            icon="plus"
            disabled={lines.length >= LINES_MOST}
            onClick={() => {
              setLines([...lines, newLine(nextId)]);
              setNextId(nextId + 1);
            }}
          >
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

interface HeaderProps {
  order: Values;
  customer: Values | undefined;
  set: (name: string) => (value: string) => void;
  onCustomer: (found: Values | undefined) => void;
}

function Header({ order, customer, set, onCustomer }: HeaderProps) {
  const entry = (name: string) => ({ name, value: order[name] ?? '', onValue: set(name) });
  return (
    <Card>
      <div class="fields">
        <FindField
          kind="customers"
          label="Customer"
          name="CUSTOMER_CODE"
          autofocus
          value={order.CUSTOMER_CODE ?? ''}
          onValue={(value, found) => {
            set('CUSTOMER_CODE')(value);
            onCustomer(found);
          }}
        />
        <Select
          label="Stage"
          name="ORDER_TYPE"
          value={(order.ORDER_TYPE ?? 'sales_order') as 'sales_order'}
          onValue={set('ORDER_TYPE')}
          options={STAGES}
        />
        <TextField label="Storefront number" isExact {...entry('REFERENCE_NUMBER')} />
        <TextField label="Purchase order" isExact {...entry('PO_NUMBER')} />
      </div>
      <p class="hint" role="status">
        {customer
          ? [customer.CUSTOMER_NAME, customer['SADDRESS1'], customer.SCITY].filter(Boolean).join(', ')
          : order.CUSTOMER_CODE && 'No customer with exactly this code was found.'}
      </p>
      <TextArea label="Notes" rows={2} {...entry('NOTES')} />
    </Card>
  );
}

/** Returns the price that the service will use: the typed price, or the price of the part. */
const priceOf = ({ UNIT_PRICE, part }: NewLine) => UNIT_PRICE || (part?.UNIT_PRICE ?? '');

interface LineRowProps {
  line: NewLine;
  place: number;
  onChange: (part: Partial<NewLine>) => void;
  onRemove: () => void;
}

function LineRow({ line, place, onChange, onRemove }: LineRowProps) {
  const { part } = line;
  return (
    <div class="line-row" role="group" aria-label={`Line ${place}`}>
      <FindField
        kind="inventory"
        label={`Part of line ${place}`}
        name={`PART_CODE ${place}`}
        value={line.PART_CODE}
        onValue={(PART_CODE, found) => onChange({ PART_CODE, part: found })}
      />
      <TextField
        label={`Units of line ${place}`}
        name={`QUANTITY ${place}`}
        inputmode="decimal"
        isExact
        value={line.QUANTITY}
        onValue={(QUANTITY) => onChange({ QUANTITY })}
        hint={part && `${part.QTY_AVAILABLE || '0'} available`}
      />
      <TextField
        label={`Price of line ${place}`}
        name={`UNIT_PRICE ${place}`}
        inputmode="decimal"
        isExact
        placeholder={part?.UNIT_PRICE ?? ''}
        value={line.UNIT_PRICE}
        onValue={(UNIT_PRICE) => onChange({ UNIT_PRICE })}
        hint={part?.PART_DESCRIPTION}
      />
      <IconButton icon="close" label={`Remove line ${place}`} onClick={onRemove} />
    </div>
  );
}
