/**
 * The stock of one part: the actions of people, its ledger, and the orders that wait for it. The dialog receives,
 * counts or adjusts the part, or sets the units on order, and shows the new stock before it sends the action.
 */
import type { MovementsView, WaitingView } from '../../../../src/http/dashboard/interface.ts';
import { addDecimals, subtractDecimals } from '../../../../src/pims/rules/decimal.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { get } from '../../api/client.ts';
import { recordPath, useCurrent, write, type LoadedRecord } from '../../records/records.ts';
import { useGet, usePages } from '../../api/use-load.ts';
import { RecordLink } from '../../records/field-column.tsx';
import { Button } from '../../ui/button.tsx';
import { FormDialog, openDialog } from '../../ui/dialog/dialog.tsx';
import { NumberField, TextArea, TextField, useEntry } from '../../ui/form/field.tsx';
import { readNumber, takeNumber } from '../../ui/form/number.ts';
import { Empty, Section } from '../../ui/page.tsx';
import { column, Table, textColumn, timeColumn, type TableColumn } from '../../ui/table/table.tsx';
import { Badge, Day, Text } from '../../ui/text/text.tsx';
import { toast } from '../../ui/toaster.tsx';

type Movement = MovementsView['movements'][number];

/** The buttons of a part, for clerks. Example: `<StockActions record={part} onDone={reload} />`. */
export const StockActions = (stock: Omit<StockDialogProps, 'action'>) => (
  <>
    {(Object.keys(ACTIONS) as Action[]).map((name) => (
      <Button key={name} onClick={() => openDialog(<StockDialog action={name} {...stock} />)}>
        {ACTIONS[name].title}
      </Button>
    ))}
  </>
);

const LEDGER: readonly TableColumn<Movement>[] = [
  timeColumn('at', 'Time'),
  column('What', ({ kind }) => kind[0]!.toUpperCase() + kind.slice(1)),
  column('Units', ({ quantity }) => signed(quantity), 'end'),
  column('On hand', ({ before, after }) => `${before} → ${after}`, 'end'),
  column('Order', ({ orderNumber }) => <RecordLink kind="orders" code={orderNumber} />),
  textColumn('by', 'Who'),
  column(
    'Reason',
    ({ reason, serials }) => <Text value={[reason, serials.join(', ')].filter(Boolean).join(' · ')} />,
    'wide',
  ),
];

/** Example: `<Ledger partCode="11" version={tag} />`. Another version loads it again. */
export function Ledger({ partCode, version }: { partCode: string; version: string }) {
  const list = usePages(`${partCode} ${version}`, (before: number | undefined, signal) =>
    get('/stock/movements', { PART_CODE: partCode, before }, signal),
  );
  return (
    <Section title="Stock ledger" description="The ledger lists every change of the units on hand.">
      <Table
        label="Movements"
        columns={LEDGER}
        rows={list.pages.length === 0 ? undefined : list.pages.flatMap(({ movements }) => movements)}
        from={list}
        skeletonRows={3}
        rowKey="number"
        empty={<Empty title="No movements yet">Receive or count the part to begin.</Empty>}
      />
      {list.more && <Button onClick={list.more}>Show older</Button>}
    </Section>
  );
}

const WAITING: readonly TableColumn<WaitingView>[] = [
  textColumn('ORDER_NUMBER', 'Order'),
  column('Date', (order) => <Day value={order.ORDER_DATE} />),
  column('Customer', (order) => <bdi>{order.BNAME || order.CUSTOMER_CODE}</bdi>, 'wide'),
  textColumn('quantity', 'Units', 'end'),
  column('Stock', ({ canFill }) => (
    <Badge tone={canFill ? 'good' : 'warn'}>{canFill ? 'Can be shipped' : 'Short'}</Badge>
  )),
];

/** Example: `<WaitingOrders partCode="11" version={tag} />`. */
export function WaitingOrders({ partCode, version }: { partCode: string; version: string }) {
  const waiting = useGet('/stock/waiting', { PART_CODE: partCode }, version);
  return (
    <Section
      title="Orders waiting for this part"
      description="These are the open sales orders, oldest first, at most 100."
    >
      <Table
        label="Waiting orders"
        columns={WAITING}
        rows={waiting.data?.orders}
        from={waiting}
        skeletonRows={2}
        rowKey="ORDER_NUMBER"
        rowLink={(order) => recordPath('orders', order.ORDER_NUMBER)}
        empty={<Empty title="No order waits for this part" />}
      />
    </Section>
  );
}

const ACTIONS = {
  receive: { title: 'Receive', units: 'Units received', about: 'The units are added to the stock.' },
  count: { title: 'Count', units: 'Units counted', about: 'The stock is set to the units counted.' },
  adjust: { title: 'Adjust', units: 'Units to add (negative to remove)', about: 'Say why the stock differs.' },
  'on-order': {
    title: 'Set on order',
    units: 'Units on order',
    about: 'Enter the units that are ordered from suppliers.',
  },
} as const;
type Action = keyof typeof ACTIONS;

interface StockDialogProps {
  action: Action;
  record: LoadedRecord;
  onDone: () => void;
}

function StockDialog({ action, record, onDone }: StockDialogProps) {
  const quantity = useEntry('');
  const typed = useEntry('');
  const reason = useEntry('');
  const { PART_CODE = '', QTY_ONHAND = '', SERIALIZED } = useCurrent('inventory', record).values;
  const { title, units, about } = ACTIONS[action];
  const serials = splitList(typed.value.replaceAll('\n', ','));
  const after = stockAfter(action, QTY_ONHAND || '0', quantity.value);
  const name = action === 'on-order' ? 'QTY_ONORDER' : 'QUANTITY';
  const send = async () => {
    const taken = takeNumber(quantity.value, name);
    if (action === 'on-order') await write('POST', '/inventory/update', { PART_CODE, QTY_ONORDER: taken });
    else {
      const body = {
        PART_CODE,
        QUANTITY: taken,
        REASON: reason.value,
        SERIAL_NUMBERS: serials.join(','),
        ...(action === 'count' && { FROM_QUANTITY: QTY_ONHAND || '0' }),
      };
      const done = await write<Values>('POST', `/stock/${action}`, body);
      toast(`${done.QTY_ONHAND} on hand`);
    }
    onDone();
  };
  return (
    <FormDialog title={`${title} ${PART_CODE}`} description={about} action={title} onSubmit={send}>
      <NumberField
        label={units}
        name={name}
        autofocus
        {...quantity}
        hint={after === undefined ? undefined : `On hand: ${QTY_ONHAND || '0'} → ${after}`}
      />
      {(action === 'receive' || (action !== 'on-order' && SERIALIZED === 'Y')) && (
        <TextArea
          label="Serial numbers"
          name="SERIAL_NUMBERS"
          rows={4}
          isMono
          isExact
          {...typed}
          hint={
            SERIALIZED === 'Y'
              ? `${serials.length} of ${quantity.value || '0'} entered. Enter one per line; a scanner can type them.`
              : 'Serial numbers are optional. Enter one per line.'
          }
        />
      )}
      {action !== 'on-order' && <TextField label="Reason" name="REASON" {...reason} maxLength={500} />}
    </FormDialog>
  );
}

/** Returns the units on hand after the action, or undefined if it does not change them. */
function stockAfter(action: Action, onHand: string, quantity: string): string | undefined {
  const units = readNumber(quantity);
  if (units === undefined || action === 'on-order') return undefined;
  return action === 'count' ? units : addDecimals(onHand, units);
}

/** Returns the change of a movement with its sign: `+3`. */
const signed = (quantity: string): string =>
  quantity.startsWith('-') ? quantity : `+${subtractDecimals(quantity, '0')}`;
