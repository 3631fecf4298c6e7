/** Builds table columns for fields, and links to records. */
import type { FieldType } from '../../../../src/pims/rules/fields.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { recordPath, type Kind } from '../../api/records.ts';
import { Link } from '../../router.tsx';
import { StageBadge } from '../../ui/badge.tsx';
import type { TableColumn } from '../../ui/table/table.tsx';
import { labelOf } from '../../ui/text/label.ts';
import { Money } from '../../ui/text/money.tsx';
import { None } from '../../ui/text/text.tsx';
import { Day, Time } from '../../ui/text/time.tsx';

const MONEY = 'SUBTOTAL FREIGHT TAX_TOTAL ORDER_TOTAL UNIT_PRICE UNIT_COST CREDIT_LIMIT'.split(' ');
export const isMoney = (name: string): boolean => MONEY.includes(name);

/** Example: `fieldColumn('QUANTITY', 'number')`. */
export const fieldColumn = (name: string, type?: FieldType): TableColumn<Values> => ({
  key: name,
  head: <span title={name}>{labelOf(name)}</span>,
  cell: (row) => <Cell name={name} type={type} value={row[name] ?? ''} />,
  align: type === 'number' ? 'end' : 'start',
});

function Cell({ name, type, value }: { name: string; type: FieldType | undefined; value: string }) {
  if (value === '') return null;
  if (name === 'ORDER_TYPE') return <StageBadge stage={value} />;
  if (type === 'timestamp') return <Time at={value} />;
  if (type === 'date' || name === 'ORDER_DATE') return <Day value={value} />;
  if (isMoney(name)) return <Money value={value} />;
  if (type === 'number') return <Amount value={value} />;
  return <bdi>{value}</bdi>;
}

/** Example: `<Amount value={part.QTY_ONHAND} />`; a negative one is red. */
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
