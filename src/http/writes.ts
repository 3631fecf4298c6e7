/**
 * The answer of a write: its data in the envelope, marked when it was given before under the same Idempotency-Key.
 * Decides nothing.
 */
import type { FastifyReply } from 'fastify';
import type { Written } from '../pims/port.ts';
import { renderEnvelope } from './envelope.ts';

export function renderWritten(reply: FastifyReply, { data, replayed }: Written): string {
  if (replayed) reply.header('idempotent-replayed', 'true');
  return renderEnvelope(data);
}
