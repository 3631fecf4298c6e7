/** The words for a webhook: its records, its state, and the outcome of an attempt. */
import type { AnswerOf } from '../../../../src/http/dashboard/interface.ts';
import { KINDS, type Kind } from '../../api/records.ts';
import { Badge, StatusBadge } from '../../ui/badge.tsx';
import { countOf } from '../../ui/text/text.tsx';

export type Webhook = AnswerOf<'GET /webhooks'>['webhooks'][number];
export type Delivery = AnswerOf<'GET /webhooks/deliveries'>['deliveries'][number];

export const TYPES = Object.keys(KINDS) as Kind[];

/** Example: `nameTypes(['orders', 'customers'])` gives `Orders, Customers`. */
export const nameTypes = (types: readonly string[]): string =>
  TYPES.every((type) => types.includes(type))
    ? 'All records'
    : TYPES.flatMap((type) => (types.includes(type) ? [KINDS[type].label] : [])).join(', ');

/** Example: `<WebhookState webhook={webhook} />`. */
export function WebhookState({ webhook: { state, reason, failures, lag } }: { webhook: Webhook }) {
  if (state === 'paused')
    return (
      <>
        <Badge tone="warn">Paused</Badge> {reason}
      </>
    );
  if (failures > 0)
    return (
      <>
        <Badge tone="bad">Failing</Badge> {countOf(failures, 'failed attempt')} in a row
      </>
    );
  return lag > 0 ? <Badge tone="info">Delivering</Badge> : <Badge tone="good">Up to date</Badge>;
}

/** Example: `<Outcome of={delivery} />`. */
export const Outcome = ({ of: { status, error } }: { of: Pick<Delivery, 'status' | 'error'> }) => (
  <>
    {status === null ? <Badge tone="bad">No response</Badge> : <StatusBadge status={status} />} {error}
  </>
);
