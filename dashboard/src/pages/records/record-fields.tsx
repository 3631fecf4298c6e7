/**
 * How records are shown: fields as columns of tables, links to records, two addresses, names with values, the empty ones
 * on demand; and the page for the address of a record that does not exist.
 */
import type { FieldType } from '../../../../src/pims/rules/fields.ts';
import { saysCancelled } from '../../../../src/pims/rules/stages.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { KINDS, recordPath, type Kind } from '../../api/records.ts';
import { Link, useQuery } from '../../router.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/form/field.tsx';
import { Card, Columns, Page, Section } from '../../ui/page.tsx';
import type { TableColumn } from '../../ui/table/table.tsx';
import { labelOf } from '../../ui/text/label.ts';
import { Day, KeyValue, Money, None, shorten, StageBadge, Text, Time } from '../../ui/text/text.tsx';

const STAMPS: readonly string[] = ['CREATE_DATE', 'MODIFIED_DATE'];
const PARTS = ['NAME', 'ATTN', 'ADDRESS1', 'ADDRESS2', 'CITY', 'STATE', 'ZIPCODE', 'COUNTRY', 'PHONE', 'EMAIL'];
/** The fields of the two addresses. */
export const ADDRESS_FIELDS: readonly string[] = ['B', 'S'].flatMap((side) => PARTS.map((part) => side + part));

/** Example: `<Addresses values={order} />`. */
export const Addresses = ({ values }: { values: Values }) => (
  <Section title="Addresses">
    <Columns>
      <Address title="Billing" side="B" values={values} />
      <Address title="Shipping" side="S" values={values} />
    </Columns>
  </Section>
);

function Address({ title, side, values }: { title: string; side: 'B' | 'S'; values: Values }) {
  const [name = '', attn, address1, address2, city, state, zip, country, phone, email] = PARTS.map(
    (part) => values[side + part],
  );
  const join = (separator: string, ...texts: (string | undefined)[]) => texts.filter(Boolean).join(separator);
  const town = join(', ', city, join(' ', state, zip));
  const lines = [attn, address1, address2, town, country].filter(Boolean);
  const contact = [phone, email].filter(Boolean);
  const isEmpty = join('', name, ...lines, ...contact) === '';
  return (
    <Card>
      <h3 class="address-title">{title}</h3>
      <address class="address">
        {name !== '' && (
          <p class="address-name">
            <Text value={name} />
          </p>
        )}
        {[...lines, ...contact].map((line = '', index) => (
          <p key={index} class={index === lines.length ? 'address-contact' : undefined}>
            <Text value={line} />
          </p>
        ))}
        {isEmpty && <p class="muted">None given</p>}
      </address>
    </Card>
  );
}

/**
 * Example: `<OtherFields values={order} shown={['ORDER_NUMBER', …]} />` shows the fields that are not in `shown`. The
 * address keeps whether empty ones are shown too.
 */
export function OtherFields({ values, shown }: { values: Values; shown: readonly string[] }) {
  const [query, setQuery] = useQuery();
  const isWhole = query.get('empty') === 'shown';
  const names = Object.keys(values).filter((name) => !shown.includes(name));
  const rows = names.filter((name) => isWhole || values[name] !== '');
  const emptyCount = names.filter((name) => values[name] === '').length;
  if (names.length === 0) return null;
  return (
    <Section
      title="Other fields"
      actions={
        emptyCount > 0 && (
          <Checkbox
            label={`Show ${emptyCount} empty`}
            name="empty"
            isChecked={isWhole}
            onChecked={(isShown) => setQuery({ empty: isShown ? 'shown' : null }, { replace: true })}
          />
        )
      }
    >
      <Card>
        {rows.length === 0 ? (
          <p class="muted">All other fields are empty.</p>
        ) : (
          <FieldList values={values} names={rows} />
        )}
      </Card>
    </Section>
  );
}

/** Example: `<FieldList values={part} names={['BARCODE', 'CATEGORY']} />`. */
export const FieldList = ({ values, names }: { values: Values; names: readonly string[] }) => (
  <KeyValue rows={names.map((name) => [labelOf(name), <Value name={name} value={values[name] ?? ''} />, name])} />
);

function Value({ name, value }: { name: string; value: string }) {
  if (value === '') return <None />;
  if (isMoney(name)) return <Money value={value} />;
  if (name === 'ORDER_DATE') return <Day value={value} />;
  return STAMPS.includes(name) ? <Time at={value} to="seconds" /> : <Text value={value} />;
}

const MONEY = 'SUBTOTAL FREIGHT TAX_TOTAL ORDER_TOTAL UNIT_PRICE UNIT_COST CREDIT_LIMIT'.split(' ');
const isMoney = (name: string): boolean => MONEY.includes(name);

/** The columns that take the remaining width. */
const WIDE = ['BNAME', 'CUSTOMER_NAME', 'PART_DESCRIPTION'];

/** Example: `fieldColumn('QUANTITY', 'number')`; with the kind for a list of records. */
export const fieldColumn = (name: string, type?: FieldType, kind?: Kind): TableColumn<Values> => ({
  key: name,
  ...(!isMoney(name) && { label: labelOf(name, kind) }),
  head: <span title={name}>{labelOf(name, kind)}</span>,
  cell: (row) =>
    kind === 'orders' && name === 'BNAME' ? <Customer row={row} /> : <Cell row={row} name={name} type={type} />,
  isWide: kind !== undefined && WIDE.includes(name),
  align: type === 'number' ? 'end' : 'start',
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

/** Example: `<NoRecord kind="orders" code="99999" />`. */
export const NoRecord = ({ kind, code }: { kind: Kind; code: string }) => (
  <Page title={`No ${KINDS[kind].noun} '${shorten(code, 120)}'`} description="Capital letters matter.">
    <p>
      <ButtonLink to={`/records/${kind}`}>{KINDS[kind].label}</ButtonLink>
    </p>
  </Page>
);
