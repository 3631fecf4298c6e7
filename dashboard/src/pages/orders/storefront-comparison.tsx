/**
 * All records of a storefront order side by side, a row per part, with sums over the records.
 */
import { useMemo } from 'preact/hooks';
import { isBinding } from '../../../../client/src/fulfillment.ts';
import { compareRecords, type Comparison, type PartRow } from './fulfillment.ts';
import type { StorefrontOrder } from '../../../../client/src/contract.ts';
import { useLoad } from '../../api/use-load.ts';
import { lookUp, lookupCall, recordPath } from '../../records/records.ts';
import { Link } from '../../browser/router.tsx';
import { ApiCall } from '../../records/api-call.tsx';
import { Badge, None, shorten, StageBadge } from '../../ui/text/text.tsx';
import { Section, WhenLoaded, type Tone } from '../../ui/page.tsx';
import { RecordLink } from '../../records/field-column.tsx';
import { column, Table, textColumn, type TableColumn } from '../../ui/table/table.tsx';

const STATES: Readonly<Record<Comparison['state'], readonly [label: string, tone: Tone]>> = {
  unknown: ['No records', 'neutral'],
  draft: ['Not ordered yet', 'neutral'],
  open: ['Nothing shipped', 'neutral'],
  partly_shipped: ['Partly shipped', 'warn'],
  shipped: ['Shipped', 'good'],
  cancelled: ['Cancelled', 'neutral'],
};

interface StorefrontProps {
  reference: string;
  /** The number of the order on screen. */
  number: string;
  /** The tag of the order on screen. Another one loads the records again. */
  version: string;
}

export function StorefrontComparison({ reference, number, version }: StorefrontProps) {
  const lookup = useLoad(`${reference} ${version}`, (signal) => lookUp(reference, signal));
  return (
    <Section
      title={`Storefront order ${shorten(reference, 60)}`}
      description="The totals cover all orders with this storefront number."
    >
      <WhenLoaded from={lookup} lines={4}>
        {({ orders }) => <ComparisonTable records={orders} number={number} />}
      </WhenLoaded>
      <ApiCall label="API call of the lookup" call={lookupCall(reference)} />
    </Section>
  );
}

function ComparisonTable({ records, number }: { records: readonly StorefrontOrder[]; number: string }) {
  const { rows, total, state } = useMemo(() => compareRecords(records), [records]);
  return (
    <>
      <Table
        label="Ordered and shipped, part by part"
        rows={[...rows, total]}
        rowClass={(row) => (row === total ? 'total' : undefined)}
        rowKey="key"
        columns={[
          column('Part', (row: PartRow) => (row === total ? <Sum state={state} /> : <Part row={row} />)),
          textColumn('ordered', 'Ordered', 'end'),
          textColumn('shipped', 'Shipped', 'end'),
          textColumn('invoiced', 'Invoiced', 'end'),
          textColumn('open', 'Open', 'end'),
          ...records.map((record, index): TableColumn<PartRow> => ({
            key: `record ${index}`,
            head: <RecordHead record={record} isHere={record.pims_order_number === number} />,
            cell: (row) => <RecordCell row={row} index={index} isCounted={isBinding(record)} />,
            look: 'end',
          })),
        ]}
      />
      {!records.every(isBinding) && (
        <p class="hint under-table">Worksheets, quotes and cancelled orders are not included.</p>
      )}
    </>
  );
}

function Sum({ state }: { state: Comparison['state'] }) {
  const [label, tone] = STATES[state];
  return (
    <span class="with-badge">
      All parts <Badge tone={tone}>{label}</Badge>
    </span>
  );
}

const Part = ({ row: { part, isCarePlan, description } }: { row: PartRow }) => (
  <span class="with-badge" title={shorten(description, 200)}>
    {part === '' ? (
      <span class="muted">{shorten(description, 80) || 'No part code'}</span>
    ) : (
      <RecordLink kind="inventory" code={part} />
    )}
    {isCarePlan && <Badge tone="info">Care plan</Badge>}
  </span>
);

function RecordHead({
  record: { pims_order_number: number, order_type: stage, cancelled },
  isHere,
}: {
  record: StorefrontOrder;
  isHere: boolean;
}) {
  return (
    <span class="record-head">
      {isHere || number === null ? (
        <span class="record-here">{number} (this one)</span>
      ) : (
        <Link to={recordPath('orders', number)}>{number}</Link>
      )}
      <StageBadge stage={stage} isCancelled={cancelled === true} />
    </span>
  );
}

function RecordCell({ row, index, isCounted }: { row: PartRow; index: number; isCounted: boolean }) {
  const units = row.records[index];
  if (units === undefined) return <None />;
  const isPartlyShipped = units.shipped !== '0' && units.shipped !== units.quantity;
  return (
    <span class={isCounted ? undefined : 'muted'}>
      {units.quantity}
      {isPartlyShipped && <span class="muted"> ({units.shipped} shipped)</span>}
    </span>
  );
}
