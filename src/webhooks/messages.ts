/** The messages of deliveries, their secrets and signatures. Source: the Standard Webhooks specification, 1.0. */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { formatTime } from '../clock.ts';
import type { Change } from '../pims/changes.ts';
import { openFor, sealFor } from '../tenant/secrets.ts';
import type { Attempt, Webhook } from './webhooks-port.ts';

const SECRET_BYTES = 32;
const PREFIX = 'whsec_';

export interface Message extends Pick<Attempt, 'seq' | 'type' | 'key'> {
  /** The same for every attempt, so that a receiver can drop repeats. */
  readonly messageId: string;
  readonly body: string;
}

export function messageOf({ id }: Webhook, { seq, type, key, change, at }: Change): Message {
  const name = `${type}.${change}`;
  const body = JSON.stringify({ type: name, timestamp: at, data: { seq, type, key, change } });
  return { messageId: `${id}_${seq}`, type: name, seq, key, body };
}

export function testMessage(nowMs: number): Message {
  const body = JSON.stringify({ type: 'test', timestamp: formatTime(nowMs), data: {} });
  return { messageId: `test_${randomUUID()}`, type: 'test', seq: '', key: '', body };
}

const ownerOf = ({ teamId, id }: Pick<Webhook, 'teamId' | 'id'>) => `webhook ${teamId} ${id}`;

/** Creates a secret: the text that is shown once, and its sealed bytes. */
export function newSecret(owner: Pick<Webhook, 'teamId' | 'id'>, key: Uint8Array) {
  const bytes = randomBytes(SECRET_BYTES);
  return { secret: PREFIX + bytes.toString('base64'), sealed: sealFor(ownerOf(owner), bytes, key) };
}

/** Returns the headers of a delivery. Two secrets sign while one is replaced. */
export function sign(
  webhook: Webhook,
  { messageId, body }: Message,
  key: Uint8Array,
  nowMs: number,
): Record<string, string> {
  const { sealedSecret, oldSecret, oldSecretEndsAt } = webhook;
  const timestamp = String(Math.floor(nowMs / 1000));
  const signatures = [sealedSecret, oldSecretEndsAt > formatTime(nowMs) ? oldSecret : null]
    .filter((sealed) => sealed !== null)
    .map((sealed) => {
      const secret = openFor(ownerOf(webhook), sealed, key);
      if (!secret) throw new Error('The secret of a webhook cannot be opened: the installation has another key now.');
      return `v1,${createHmac('sha256', secret).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`;
    });
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
