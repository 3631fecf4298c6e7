/**
 * The lines of an order.
 */
import type { Values } from '../../../../src/pims/rules/values.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import { Badge } from '../../ui/badge.tsx';
import { Empty } from '../../ui/notice.tsx';
import { Section } from '../../ui/page.tsx';
import { Copy } from '../../ui/text/copy.tsx';
import { Text } from '../../ui/text/text.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';
import { fieldColumn, RecordLink } from '../records/field-column.tsx';

const COLUMNS: readonly TableColumn<Values>[] = [
  { ...fieldColumn('LINE_NUMBER', 'number'), head: <span title="LINE_NUMBER">LINE</span> },
  { ...fieldColumn('PART_CODE'), cell: (line) => <RecordLink kind="inventory" code={line['PART_CODE'] ?? ''} /> },
  { ...fieldColumn('DESCRIPTION'), cell: (line) => <Description line={line} />, isWide: true },
  fieldColumn('QUANTITY', 'number'),
  fieldColumn('NUMBER_SHIPPED', 'number'),
  fieldColumn('UNIT_PRICE', 'number'),
  { ...fieldColumn('SERIAL_NUMBERS'), cell: (line) => <Serials text={line['SERIAL_NUMBERS'] ?? ''} /> },
  {
    key: 'LINE_REF_LOCK_CODE',
    head: <span title="LINE_REF_LOCK_CODE">LOCK CODE</span>,
    cell: (line) => (
      <Copy text={line['LINE_REF_LOCK_CODE'] ?? ''} label={`Copy LINE_REF_LOCK_CODE of line ${line['LINE_NUMBER']}`} />
    ),
    align: 'end',
  },
];

/** Example: `<OrderLines lines={lines} />`. */
export const OrderLines = ({ lines }: { lines: readonly Values[] }) => (
  <Section title="Lines">
    <Table
      label="Lines of the order"
      rows={lines}
      columns={COLUMNS}
      rowKey={(line) => line['LINE_REF_LOCK_CODE'] ?? ''}
      empty={<Empty title="No lines">Add lines with PUT /orders/line_item.</Empty>}
    />
  </Section>
);

const Description = ({ line }: { line: Values }) => (
  <span class="with-badge">
    <Text value={line['DESCRIPTION'] ?? ''} charactersMax={160} />{' '}
    {line['CARE_PLAN'] === 'Y' && <Badge tone="info">Care plan</Badge>}
  </span>
);

const Serials = ({ text }: { text: string }) => (
  <span class="serials mono">
    {splitList(text).map((serial, index) => (
      <span key={index}>{serial}</span>
    ))}
  </span>
);
