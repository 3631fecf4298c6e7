/**
 * The fields of a record: two addresses, and a list of names and values, with empty fields on demand. Also the page for
 * a record that does not exist.
 */
import type { Values } from '../../../src/pims/rules/values.ts';
import { KINDS, type Kind } from './records.ts';
import { useGet } from '../api/use-load.ts';
import { isMoney } from './field-column.tsx';
import { useQuery } from '../browser/router.tsx';
import { ButtonLink } from '../ui/button.tsx';
import { Checkbox } from '../ui/form/field.tsx';
import { Card, Columns, Page, Section } from '../ui/page.tsx';
import { labelOf } from './label.ts';
import { Day, formatDate, KeyValue, Money, None, shorten, Text, Time } from '../ui/text/text.tsx';

const STAMPS: readonly string[] = ['CREATE_DATE', 'MODIFIED_DATE'];
const PARTS = ['NAME', 'ATTN', 'ADDRESS1', 'ADDRESS2', 'CITY', 'STATE', 'ZIPCODE', 'COUNTRY', 'PHONE', 'EMAIL'];
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
 * address says whether empty fields are shown too.
 */
export function OtherFields({ values, shown }: { values: Values; shown: readonly string[] }) {
  const [query, setQuery] = useQuery();
  const isWhole = query.get('empty') === 'shown';
  const fields = Object.values(useGet('/fields').data?.fields ?? {}).flat();
  const isDate = (name: string) => fields.some((field) => field.name === name && field.type === 'date');
  const names = Object.keys(values).filter((name) => !shown.includes(name));
  const rows = names.filter((name) => isWhole || values[name] !== '');
  const dated = Object.fromEntries(
    rows.map((name) => [name, isDate(name) ? formatDate(values[name]!) : values[name]!]),
  );
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
          <FieldList values={dated} names={rows} />
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

/** Example: `<NoRecord kind="orders" code="99999" />`. */
export const NoRecord = ({ kind, code }: { kind: Kind; code: string }) => (
  <Page title={`No ${KINDS[kind].noun} '${shorten(code, 120)}'`} description="Capital letters matter.">
    <p>
      <ButtonLink to={`/records/${kind}`}>{KINDS[kind].label}</ButtonLink>
    </p>
  </Page>
);
