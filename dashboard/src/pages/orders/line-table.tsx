/**
 * The lines of an order.
 */
import type { Values } from '../../../../src/pims/rules/values.ts';
import { splitList } from '../../../../src/pims/rules/lists.ts';
import { recordPath } from '../../api/records.ts';
import { Link } from '../../router.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Copy } from '../../ui/text/copy.tsx';
import { Empty } from '../../ui/notice.tsx';
import { Section } from '../../ui/page.tsx';
import { Text } from '../../ui/text/text.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';

const COLUMNS: readonly TableColumn<Values>[] = [
  {
    key: 'LINE_NUMBER',
    head: <span title="LINE_NUMBER">LINE</span>,
    cell: (line) => line['LINE_NUMBER'],
    align: 'end',
  },
  { key: 'PART_CODE', head: 'PART_CODE', cell: (line) => <PartCode code={line['PART_CODE'] ?? ''} /> },
  { key: 'DESCRIPTION', head: 'DESCRIPTION', cell: (line) => <Description line={line} />, isWide: true },
  { key: 'QUANTITY', head: 'QUANTITY', cell: (line) => line['QUANTITY'], align: 'end' },
  { key: 'NUMBER_SHIPPED', head: 'NUMBER_SHIPPED', cell: (line) => line['NUMBER_SHIPPED'], align: 'end' },
  { key: 'UNIT_PRICE', head: 'UNIT_PRICE', cell: (line) => line['UNIT_PRICE'], align: 'end' },
  { key: 'SERIAL_NUMBERS', head: 'SERIAL_NUMBERS', cell: (line) => <Serials text={line['SERIAL_NUMBERS'] ?? ''} /> },
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
      empty={<Empty title="No lines">They are added with PUT /orders/line_item.</Empty>}
    />
  </Section>
);

const PartCode = ({ code }: { code: string }) =>
  code === '' ? (
    <span class="muted">–</span>
  ) : (
    <Link class="row-link" to={recordPath('inventory', code)}>
      <bdi>{code}</bdi>
    </Link>
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
