/**
 * All records of a storefront order side by side, a row per part, with sums over them.
 */
import { useMemo } from 'preact/hooks';
import {
  isBinding,
  isLoose,
  sumFulfilment,
  type Fulfilment,
  type PartRow,
  type FulfilmentState,
} from './fulfilment.ts';
import type { StorefrontOrder } from '../../../../src/pims/storefront.ts';
import { useLoad } from '../../api/use-load.ts';
import { lookUp, lookupCall, recordPath } from '../../api/records.ts';
import { Link } from '../../router.tsx';
import { ApiCall } from '../../ui/api-call.tsx';
import { Badge, StageBadge, type Tone } from '../../ui/badge.tsx';
import { LoadError, Skeleton } from '../../ui/notice.tsx';
import { Section } from '../../ui/page.tsx';
import { shorten } from '../../ui/text.tsx';
import { Table, type TableColumn } from '../../ui/table.tsx';

const STATES: Readonly<Record<FulfilmentState, readonly [label: string, tone: Tone]>> = {
  complete: ['Complete', 'good'],
  'partly shipped': ['Partly shipped', 'warn'],
  'nothing shipped': ['Nothing shipped', 'neutral'],
  'not ordered yet': ['Not ordered yet', 'neutral'],
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
      {data !== undefined && <Comparison records={data.orders} number={number} />}
      <ApiCall label="API call of the lookup" call={lookupCall(reference)} />
    </Section>
  );
}

function Comparison({ records, number }: { records: readonly StorefrontOrder[]; number: string }) {
  const fulfilment = useMemo(() => sumFulfilment(records), [records]);
  const { rows, total, isExact } = fulfilment;
  const loose = records.filter(isLoose).length;
  const hasBinding = records.some(isBinding);
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
            cell: (row) => (row === total ? <Sum fulfilment={fulfilment} /> : <Part row={row} />),
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
            cell: (row) => (
              <RecordCell row={row} index={index} isCounted={isBinding(record) || (!hasBinding && isLoose(record))} />
            ),
            align: 'end',
          })),
        ]}
      />
      {!isExact && (
        <p class="hint under-table">
          The lookup gives quantities as JSON numbers, and one here has more digits than those keep: Lines has it
          exactly.
        </p>
      )}
      {loose > 0 && hasBinding && (
        <p class="hint under-table">Quotes and worksheets are not ordered yet: their units are not counted.</p>
      )}
      {loose > 0 && !hasBinding && (
        <p class="hint under-table">Quotes and worksheets commit nothing: these units are asked for, not ordered.</p>
      )}
      {records.some(({ cancelled }) => cancelled) && <p class="hint under-table">What is cancelled is not counted.</p>}
    </>
  );
}

const HEADS = { ordered: 'Ordered in all', shipped: 'Shipped', invoiced: 'Invoiced', open: 'Still open' };

function Sum({ fulfilment: { state } }: { fulfilment: Fulfilment }) {
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
