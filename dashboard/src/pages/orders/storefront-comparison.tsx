/**
 * All records of a storefront order side by side, a row per part, with sums over them.
 */
import { useMemo } from 'preact/hooks';
import { isBinding } from '../../../../client/src/fulfillment.ts';
import { compareRecords, type Comparison, type PartRow } from './fulfilment.ts';
import type { StorefrontOrder } from '../../../../client/src/contract.ts';
import { useLoad } from '../../api/use-load.ts';
import { lookUp, lookupCall, recordPath } from '../../api/records.ts';
import { Link } from '../../router.tsx';
import { ApiCall } from '../records/api-call.tsx';
import { Badge, StageBadge, type Tone } from '../../ui/badge.tsx';
import { LoadError, Skeleton } from '../../ui/notice.tsx';
import { Section } from '../../ui/page.tsx';
import { shorten } from '../../ui/text/text.tsx';
import { Table, type TableColumn } from '../../ui/table/table.tsx';

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
  /** The record on screen. */
  number: string;
  /** Goes up when the records have changed. */
  round: number;
}

export function StorefrontComparison({ reference, number, round }: StorefrontProps) {
  const { data, error, reload } = useLoad(`${reference} ${round}`, (signal) => lookUp(reference, signal));
  return (
    <Section
      title={`Storefront order ${shorten(reference, 60)}`}
      description="Summed up here for people, over all records: the API itself computes no fulfilment."
    >
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Skeleton lines={4} />}
      {data !== undefined && <ComparisonTable records={data.orders} number={number} />}
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
        rowKey={(row) => (row === total ? 'total' : `${row.part} ${row.isCarePlan}`)}
        columns={[
          {
            key: 'part',
            head: 'Part',
            cell: (row) => (row === total ? <Sum state={state} /> : <Part row={row} />),
          },
          ...(['ordered', 'shipped', 'invoiced', 'open'] as const).map((name): TableColumn<PartRow> => ({
            key: name,
            head: HEADS[name],
            cell: (row) => <Quantity row={row} total={total} value={row[name]} />,
            align: 'end',
          })),
          ...records.map((record, index): TableColumn<PartRow> => ({
            key: `record ${index}`,
            head: <RecordHead record={record} isHere={record.pims_order_number === number} />,
            cell: (row) => <RecordCell row={row} index={index} isCounted={isBinding(record)} />,
            align: 'end',
          })),
        ]}
      />
      {!records.every(isBinding) && (
        <p class="hint under-table">Quotes, worksheets and cancelled orders are not counted.</p>
      )}
    </>
  );
}

const HEADS = { ordered: 'Ordered in all', shipped: 'Shipped', invoiced: 'Invoiced', open: 'Still open' };

function Sum({ state }: { state: Comparison['state'] }) {
  const [label, tone] = STATES[state];
  return (
    <span class="with-badge">
      <strong>All parts</strong> <Badge tone={tone}>{label}</Badge>
    </span>
  );
}

const Part = ({ row: { part, isCarePlan, description } }: { row: PartRow }) => (
  <span class="with-badge" title={shorten(description, 200)}>
    {part === '' ? (
      <span class="muted">{shorten(description, 80) || 'No part code'}</span>
    ) : (
      <Link class="row-link" to={recordPath('inventory', part)}>
        <bdi>{part}</bdi>
      </Link>
    )}
    {isCarePlan && <Badge tone="info">Care plan</Badge>}
  </span>
);

const Quantity = ({ row, total, value }: { row: PartRow; total: PartRow; value: string }) =>
  row === total ? <strong>{value}</strong> : <>{value}</>;

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
  if (units === undefined) return <span class="muted">–</span>;
  const isPartlyShipped = units.shipped !== '0' && units.shipped !== units.quantity;
  return (
    <span class={isCounted ? undefined : 'muted'}>
      {units.quantity}
      {isPartlyShipped && <span class="muted"> ({units.shipped} shipped)</span>}
    </span>
  );
}
