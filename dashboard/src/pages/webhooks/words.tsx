/** The columns and words for a webhook, also as rows on its page; and the outcome of an attempt. */
import type { ComponentChildren } from 'preact';
import type { AnswerOf } from '../../../../src/http/dashboard/interface.ts';
import { KINDS, type Kind } from '../../api/records.ts';
import { Badge, StatusBadge, type Tone } from '../../ui/badge.tsx';
import type { TableColumn } from '../../ui/table/table.tsx';
import { countOf } from '../../ui/text/text.tsx';
import { Time } from '../../ui/text/time.tsx';

export type Webhook = AnswerOf<'GET /webhooks'>['webhooks'][number];
export type Delivery = AnswerOf<'GET /webhooks/deliveries'>['deliveries'][number];

export const TYPES = Object.keys(KINDS) as Kind[];

function describeState({ state, reason, failures, lag }: Webhook): [tone: Tone, label: string, about?: string | null] {
  if (state === 'paused') return ['warn', 'Paused', reason];
  if (failures > 0) return ['bad', 'Failing', `${countOf(failures, 'failed attempt')} in a row`];
  return lag > 0 ? ['info', 'Delivering'] : ['good', 'Up to date'];
}
function State({ webhook }: { webhook: Webhook }) {
  const [tone, label, about] = describeState(webhook);
  return (
    <>
      <Badge tone={tone}>{label}</Badge> {about}
    </>
  );
}

const nameTypes = (types: readonly string[]): string =>
  types.length === TYPES.length ? 'All records' : types.map((type) => KINDS[type as Kind].label).join(', ');

export const COLUMNS: readonly TableColumn<Webhook>[] = [
  { key: 'url', head: 'Address', cell: ({ url }) => <span title={url}>{url.replace('https://', '')}</span> },
  { key: 'state', head: 'State', isWide: true, cell: (webhook) => <State webhook={webhook} /> },
  { key: 'types', head: 'Records', cell: ({ types }) => nameTypes(types) },
  { key: 'lag', head: 'Changes behind', align: 'end', cell: ({ lag }) => lag.toLocaleString('en') },
  {
    key: 'delivered',
    head: 'Last delivery',
    cell: ({ lastDeliveredAt }) => <Time at={lastDeliveredAt} to="seconds" none="Not yet" />,
  },
  { key: 'next', head: 'Next try', cell: ({ nextTryAt }) => <Time at={nextTryAt} to="seconds" /> },
];

/** Returns the cells of a row as names and values. */
export const toFacts = <Row,>(columns: readonly TableColumn<Row>[], row: Row) =>
  columns.map(({ head, cell }): [string, ComponentChildren] => [head as string, cell(row)]);

/** Example: `<Outcome of={delivery} />`. */
export const Outcome = ({ of: { status, error } }: { of: Pick<Delivery, 'status' | 'error'> }) => (
  <>
    {status === null ? <Badge tone="bad">No response</Badge> : <StatusBadge status={status} />} {error}
  </>
);
