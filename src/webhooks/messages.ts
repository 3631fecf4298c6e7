/** The messages of deliveries: the body and the stable ID of a change, or of a test. Signs and sends a message. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Change } from '../pims/changes.ts';
import type { Poster } from './poster.ts';
import { signDelivery } from './signature.ts';
import type { Attempt, Webhook } from './webhooks-port.ts';

interface Message extends Pick<Attempt, 'seq' | 'type' | 'key'> {
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
  const body = JSON.stringify({ type: 'test', timestamp: new Date(nowMs).toISOString(), data: {} });
  return { messageId: `test_${randomUUID()}`, type: 'test', seq: '', key: '', body };
}

export type SentMessage = Omit<Attempt, 'attempt' | 'nextTryAt'>;

/** Signs a message and sends it once. */
export async function send(
  { poster, clock, key }: { readonly poster: Poster; readonly clock: Clock; readonly key: Uint8Array },
  webhook: Webhook,
  { messageId, body, ...of }: Message,
  stopped: AbortSignal,
): Promise<SentMessage> {
  const nowMs = clock.now();
  const headers = signDelivery(webhook, key, messageId, body, nowMs);
  const answer = await poster.post(webhook.url, headers, body, stopped);
  return { ...of, at: new Date(nowMs).toISOString(), request: body, ...answer };
}
