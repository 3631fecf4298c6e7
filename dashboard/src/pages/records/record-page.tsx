/**
 * One customer or one part: its fields in groups, a part's stock, a customer's orders. An order has its own page.
 */
import { searchOf, where } from '../../records/filters.ts';
import type { Values } from '../../../../src/pims/rules/values.ts';
import { useLoad } from '../../api/use-load.ts';
import { isKind, KINDS, queryRecords, loadRecord, recordPath, singleCall } from '../../records/records.ts';
import type { Kind, LoadedRecord } from '../../records/records.ts';
import { useParams } from '../../browser/router.tsx';
import { useSession } from '../../api/session.tsx';
import { ApiCall } from '../../records/api-call.tsx';
import { Badge, shorten } from '../../ui/text/text.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { openDialog } from '../../ui/dialog/dialog.tsx';
import { Copy } from '../../ui/text/copy.tsx';
import { Card, Columns, Empty, Figure, Page, Section, WhenLoaded } from '../../ui/page.tsx';
import { ADDRESS_FIELDS, Addresses, FieldList, NoRecord, OtherFields } from '../../records/record-fields.tsx';
import { Table } from '../../ui/table/table.tsx';
import { Amount, fieldColumn } from '../../records/field-column.tsx';
import { EditRecord } from '../../records/edit/edit-record.tsx';
import { Ledger, StockActions, WaitingOrders } from './part-stock.tsx';
import NotFoundPage from '../../ui/not-found-page.tsx';

const ORDERS_SHOWN = 20;
const ORDER_COLUMNS = [
  ...['ORDER_NUMBER', 'ORDER_TYPE', 'REFERENCE_NUMBER', 'ORDER_DATE', 'ORDER_STATUS'].map((name) => fieldColumn(name)),
  fieldColumn('ORDER_TOTAL', 'number'),
];
/** A name without any of these characters would be an empty heading. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;
const STOCK: readonly (readonly [field: string, label: string])[] = [
  ['QTY_ONHAND', 'On hand'],
  ['QTY_COMMITTED', 'Committed'],
  ['QTY_AVAILABLE', 'Available'],
  ['QTY_ONORDER', 'On order'],
];

export default function RecordPage() {
  const { kind = '', key = '' } = useParams();
  return isKind(kind) && kind !== 'orders' ? <Record kind={kind} code={key} /> : <NotFoundPage />;
}

function Record({ kind, code }: { kind: Exclude<Kind, 'orders'>; code: string }) {
  const record = useLoad(code, (signal) => loadRecord(kind, code, signal));
  const { data, error } = record;
  const { may } = useSession();
  if (error?.code === 'NOT_FOUND') return <NoRecord kind={kind} code={code} />;
  const values = data?.values;
  const given = values?.[kind === 'customers' ? 'CUSTOMER_NAME' : 'PART_DESCRIPTION'] ?? '';
  const name = VISIBLE.test(given) ? given : code;
  const { key, noun } = KINDS[kind];
  return (
    <Page
      title={shorten(name, 120)}
      actions={data && may('clerk') && <Actions kind={kind} record={data} onDone={record.reload} />}
      badge={values?.CARE_PLAN === 'Y' && <Badge tone="info">Care plan</Badge>}
      description={
        <span class="copy-text">
          {noun[0]!.toUpperCase() + noun.slice(1)} <code class="code-name">{code}</code>
          <Copy text={code} label={`Copy ${key}`} />
        </span>
      }
    >
      <WhenLoaded from={record}>
        {({ values: all, tag }) => (
          <>
            {kind === 'customers' ? <Customer values={all} /> : <Part values={all} version={tag} />}
            <ApiCall call={singleCall(kind, code)} />
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

interface ActionsProps {
  kind: 'customers' | 'inventory';
  record: LoadedRecord;
  onDone: () => void;
}
const Actions = ({ kind, record, onDone }: ActionsProps) => (
  <>
    {kind === 'inventory' && <StockActions record={record} onDone={onDone} />}
    <Button onClick={() => openDialog(<EditRecord kind={kind} record={record} onDone={onDone} />)}>Edit</Button>
  </>
);

const Customer = ({ values }: { values: Values }) => (
  <>
    <CustomerOrders code={values.CUSTOMER_CODE ?? ''} />
    <Addresses values={values} />
    <OtherFields values={values} shown={['CUSTOMER_CODE', 'CUSTOMER_NAME', ...ADDRESS_FIELDS]} />
  </>
);

function CustomerOrders({ code }: { code: string }) {
  const filters = [where('CUSTOMER_CODE', 'eq', code)];
  const page = useLoad(code, (signal) => queryRecords('orders', filters, { maxReturn: ORDERS_SHOWN }, signal));
  const rows = page.data?.rows;
  return (
    <Section
      title="Orders"
      description={page.data?.next ? `The table lists the ${ORDERS_SHOWN} newest orders.` : undefined}
      actions={
        rows !== undefined &&
        rows.length > 0 && <ButtonLink to={`/records/orders?${searchOf(filters)}`}>All orders</ButtonLink>
      }
    >
      <Table
        label="Orders of this customer"
        rows={rows}
        from={page}
        skeletonRows={3}
        rowKey="ORDER_NUMBER"
        rowLink={(row) => recordPath('orders', row.ORDER_NUMBER ?? '')}
        columns={ORDER_COLUMNS}
        empty={<Empty title="No orders">No order has this customer code.</Empty>}
      />
    </Section>
  );
}

const PRICES = ['UNIT_PRICE', 'UNIT_COST', 'CREATE_DATE', 'MODIFIED_DATE'];
const DETAILS = ['BARCODE', 'CATEGORY', 'LOCATION_CODE', 'SERIALIZED', 'CARE_PLAN'];

function Part({ values, version }: { values: Values; version: string }) {
  const partCode = values.PART_CODE ?? '';
  return (
    <>
      <Columns>
        {STOCK.map(([field, label]) => (
          <Figure
            key={field}
            label={label}
            value={<Amount value={values[field] || '–'} />}
            note={<code>{field}</code>}
          />
        ))}
      </Columns>
      <WaitingOrders partCode={partCode} version={version} />
      <Ledger partCode={partCode} version={version} />
      <Section title="Part">
        <Columns>
          <Card>
            <FieldList values={values} names={DETAILS} />
          </Card>
          <Card>
            <FieldList values={values} names={PRICES} />
          </Card>
        </Columns>
      </Section>
      <OtherFields
        values={values}
        shown={['PART_CODE', 'PART_DESCRIPTION', ...STOCK.map(([field]) => field), ...DETAILS, ...PRICES]}
      />
    </>
  );
}
