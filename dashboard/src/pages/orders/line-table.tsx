/**
 * The lines of an order with the total of each, the totals of the order, and a warning if these do not agree.
 */
import { amountOf } from '../../../../src/pims/rules/totals.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import { saysCancelled } from '../../../../src/pims/rules/stages.ts';
import type { FieldView } from '../../../../src/http/dashboard/interface.ts';
import type { LoadedRecord } from '../../records/records.ts';
import { useGet } from '../../api/use-load.ts';
import { useSession } from '../../api/session.tsx';
import { Badge, Money, Text } from '../../ui/text/text.tsx';
import { Button } from '../../ui/button.tsx';
import { openDialog } from '../../ui/dialog/dialog.tsx';
import { Empty, Section } from '../../ui/page.tsx';
import { Copy } from '../../ui/text/copy.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { fieldColumn, RecordLink } from '../../records/field-column.tsx';
import { LineDialog } from './order-actions.tsx';
import { OrderTotals } from '../../records/lines/totals.tsx';

/** The built-in fields. Their columns do not depend on the values, except DISCOUNT. */
const OWN =
  `ORDER_NUMBER LINE_NUMBER PART_CODE DESCRIPTION QUANTITY NUMBER_SHIPPED UNIT_PRICE DISCOUNT SERIAL_NUMBERS CARE_PLAN
  LINE_REF_LOCK_CODE CREATE_DATE MODIFIED_DATE`.split(/\s+/);

/** Returns the columns of lines. DISCOUNT and custom fields have one only if a line has a value. */
function columnsOf(lines: readonly Values[], fields: readonly FieldView[] = []): readonly TableColumn<Values>[] {
  const has = (name: string) => lines.some((line) => line[name]);
  const isDiscounted = lines.some(hasDiscount);
  const custom = Object.keys(lines[0] ?? {}).filter((name) => !OWN.includes(name) && has(name));
  const typed = (name: string) => fieldColumn(name, fields.find((field) => field.name === name)?.type);
  return [...COLUMNS, ...(isDiscounted ? [DISCOUNT] : []), TOTAL, ...custom.map(typed), ...LAST];
}

const COLUMNS: readonly TableColumn<Values>[] = [
  fieldColumn('LINE_NUMBER', 'number'),
  { ...fieldColumn('PART_CODE'), cell: (line) => <RecordLink kind="inventory" code={line.PART_CODE ?? ''} /> },
  { ...fieldColumn('DESCRIPTION'), cell: (line) => <Description line={line} />, look: 'wide' },
  fieldColumn('QUANTITY', 'number'),
  fieldColumn('NUMBER_SHIPPED', 'number'),
  fieldColumn('UNIT_PRICE', 'number'),
];
const hasDiscount = ({ DISCOUNT: percent = '' }: Values) => percent !== '' && percent !== '0';
const DISCOUNT: TableColumn<Values> = {
  ...fieldColumn('DISCOUNT', 'number'),
  cell: (line) => (hasDiscount(line) ? `${line.DISCOUNT} %` : null),
};
const TOTAL: TableColumn<Values> = {
  key: 'total',
  head: <span title="QUANTITY × UNIT_PRICE, less DISCOUNT">Line total</span>,
  cell: (line) => (line.UNIT_PRICE ? <Money value={amountOf(line)} /> : null),
  look: 'end',
};
const LAST: readonly TableColumn<Values>[] = [
  { ...fieldColumn('SERIAL_NUMBERS'), cell: (line) => <Serials text={line.SERIAL_NUMBERS ?? ''} /> },
  {
    key: 'LINE_REF_LOCK_CODE',
    head: <span title="LINE_REF_LOCK_CODE">Lock code</span>,
    cell: (line) => (
      <Copy text={line.LINE_REF_LOCK_CODE ?? ''} label={`Copy LINE_REF_LOCK_CODE of line ${line.LINE_NUMBER}`} />
    ),
    look: 'end',
  },
];

/** Example: `<OrderLines record={record} onDone={reload} />`. */
export function OrderLines({ record, onDone }: { record: LoadedRecord; onDone: () => void }) {
  const { may } = useSession();
  const { values, lines } = record;
  const columns = columnsOf(lines, useGet('/fields').data?.fields.lines);
  const edit: TableColumn<Values> = {
    key: 'edit',
    head: <span class="hidden">Edit</span>,
    cell: (line) => (
      <Button
        size="small"
        aria-label={`Edit line ${line.LINE_NUMBER}`}
        onClick={() => openDialog(<LineDialog record={record} line={line} onDone={onDone} />)}
      >
        Edit
      </Button>
    ),
    look: 'end',
  };
  const isOpen = may('clerk') && !saysCancelled(values);
  return (
    <Section title="Lines">
      <Table
        label="Lines of the order"
        rows={lines}
        columns={isOpen ? [...columns, edit] : columns}
        rowKey="LINE_REF_LOCK_CODE"
        empty={
          <Empty title="No lines yet">
            Lines appear here when they are added in the dashboard or with PUT /orders/line_item.
          </Empty>
        }
      />
      <OrderTotals order={values} lines={lines} />
    </Section>
  );
}

const Description = ({ line }: { line: Values }) => (
  <span class="with-badge">
    <Text value={line.DESCRIPTION ?? ''} charactersMax={160} />{' '}
    {line.CARE_PLAN === 'Y' && <Badge tone="info">Care plan</Badge>}
  </span>
);

const Serials = ({ text }: { text: string }) => (
  <span class="serials mono">
    {splitList(text).map((serial, index) => (
      <span key={index}>{serial}</span>
    ))}
  </span>
);
