/** Builds table columns for fields, and links to records. */
import { saysCancelled } from '../../../src/pims/rules/stages.ts';
import type { FieldType } from '../../../src/pims/rules/fields.ts';
import type { Values } from '../../../src/pims/rules/values.ts';
import { recordPath, type Kind } from './records.ts';
import { Link } from '../browser/router.tsx';
import { Day, Money, None, StageBadge, Time } from '../ui/text/text.tsx';
import type { TableColumn } from '../ui/table/table.tsx';
import { labelOf } from './label.ts';

const MONEY = 'SUBTOTAL FREIGHT TAX_TOTAL ORDER_TOTAL UNIT_PRICE UNIT_COST CREDIT_LIMIT'.split(' ');
export const isMoney = (name: string): boolean => MONEY.includes(name);

/** The columns that get the remaining width. */
const WIDE = ['BNAME', 'CUSTOMER_NAME', 'PART_DESCRIPTION'];

/** Example: `fieldColumn('QUANTITY', 'number')`. A list of records also gives its kind. */
export const fieldColumn = (name: string, type?: FieldType, kind?: Kind): TableColumn<Values> => ({
  key: name,
  ...(!isMoney(name) && { label: labelOf(name, kind) }),
  head: <span title={name}>{labelOf(name, kind)}</span>,
  cell: (row) =>
    kind === 'orders' && name === 'BNAME' ? <Customer row={row} /> : <Cell row={row} name={name} type={type} />,
  look: type === 'number' ? 'end' : kind && WIDE.includes(name) ? 'wide' : undefined,
});

/** The name of the customer of an order, with the code below. */
const Customer = ({ row: { BNAME: name, CUSTOMER_CODE: code } }: { row: Values }) => (
  <>
    <bdi>{name || code}</bdi>
    {name && code && <bdi class="below muted small">{code}</bdi>}
  </>
);

function Cell({ row, name, type }: { row: Values; name: string; type: FieldType | undefined }) {
  const value = row[name] ?? '';
  if (value === '') return null;
  if (name === 'ORDER_TYPE') return <StageBadge stage={value} isCancelled={saysCancelled(row)} />;
  if (type === 'timestamp') return <Time at={value} />;
  if (type === 'date' || name === 'ORDER_DATE') return <Day value={value} />;
  if (isMoney(name)) return <Money value={value} />;
  if (type === 'number') return <Amount value={value} />;
  return <bdi>{value}</bdi>;
}

/** Example: `<Amount value={part.QTY_ONHAND} />`. A negative amount is red. */
export const Amount = ({ value }: { value: string }) => (
  <span class={value.startsWith('-') ? 'negative' : undefined}>{value}</span>
);

/** Example: `<RecordLink kind="inventory" code={line.PART_CODE} />`. */
export const RecordLink = ({ kind, code }: { kind: Kind; code: string }) =>
  code === '' ? (
    <None />
  ) : (
    <Link class="row-link" to={recordPath(kind, code)}>
      <bdi>{code}</bdi>
    </Link>
  );
