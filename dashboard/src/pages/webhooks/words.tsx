/** The columns for webhooks, whose cells are also the rows on the page of a webhook, and the outcome of an attempt. */
import type { AnswerOf } from '../../../../src/http/dashboard/interface.ts';
import { KINDS, type Kind } from '../../records/records.ts';
import { Badge, countOf, StatusBadge, Time } from '../../ui/text/text.tsx';
import { column, type TableColumn } from '../../ui/table/table.tsx';

export type Webhook = AnswerOf<'GET /webhooks'>['webhooks'][number];
export type Delivery = AnswerOf<'GET /webhooks/deliveries'>['deliveries'][number];

export const TYPES = Object.keys(KINDS) as Kind[];

function State({ state, reason, failures, lag }: Webhook) {
  if (state === 'paused')
    return (
      <>
        <Badge tone="warn">Paused</Badge> {reason}
      </>
    );
  if (failures > 0)
    return (
      <>
        <Badge tone="bad">Failing</Badge> {`${countOf(failures, 'failed attempt')} in a row`}
      </>
    );
  return lag > 0 ? <Badge tone="info">Delivering</Badge> : <Badge tone="good">Up to date</Badge>;
}

export const NEXT_TRY: TableColumn<Webhook | Delivery> = column('Next attempt', ({ nextTryAt }) => (
  <Time at={nextTryAt} to="seconds" />
));

export const COLUMNS: readonly TableColumn<Webhook>[] = [
  column('Address', ({ url }) => <span title={url}>{url.replace('https://', '')}</span>),
  column('State', State, 'wide'),
  column('Records', ({ types }) =>
    types.length === TYPES.length ? 'All records' : types.map((type) => KINDS[type as Kind]?.label ?? type).join(', '),
  ),
  column('Pending changes', ({ lag }) => lag.toLocaleString('en'), 'end'),
  column('Last delivery', ({ lastDeliveredAt }) => <Time at={lastDeliveredAt} to="seconds" none="Not yet" />),
  NEXT_TRY,
];

/** Returns the cells of a row after the first, as names and values. */
export const toFacts = <Row,>(columns: readonly TableColumn<Row>[], row: Row) =>
  columns.slice(1).map(({ head, cell }) => [head as string, cell(row)] as const);

export type Attempt = Pick<Delivery, 'status' | 'error' | 'durationMs'>;

/** Example: `<Outcome {...delivery} />`. */
export const Outcome = ({ status, error }: Attempt) => (
  <>
    {status === null ? <Badge tone="bad">No response</Badge> : <StatusBadge status={status} />} {error}
  </>
);
