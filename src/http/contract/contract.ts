/**
 * Begin here: serves the contract, which `npm run generate` writes into openapi.json (tools/contract), with the numbers
 * of the settings, and the pages below `/docs`.
 */
import { extname } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { readAsset } from '../../assets.ts';
import { HOUR_MS } from '../../clock.ts';
import { maxReturnOf } from '../operations/operation-schemas.ts';
import { openFolder } from '../server/built-files.ts';
import { chooseCoding, compress, type Coding } from '../server/compression.ts';
import { JSON_TYPE } from '../server/protocol.ts';
import type { Contract } from './documented-operations.ts';

export const describeKeptKeys = (hours: number): string =>
  `Makes the write safe to retry for at least ${hours} hours: repeating the key returns the first response.`;

/** Returns the contract of a service with these settings. */
export function loadContract(limits: Parameters<typeof maxReturnOf>[0], idempotencyMs: number): Contract {
  const contract = JSON.parse(readAsset('openapi.json').toString()) as Contract;
  const { maxReturn, 'Idempotency-Key': key } = contract.components.parameters;
  Object.assign(maxReturn!, { description: maxReturnOf(limits)['description'] });
  Object.assign(key!, { description: describeKeptKeys(idempotencyMs / HOUR_MS) });
  return contract;
}

/**
 * Adds `/openapi.json`, and the pages below `/docs` that tools/site makes: the guides, the errors, and the reference, which
 * shows the contract. They work offline.
 */
export function addReference(app: FastifyInstance, contract: () => object): void {
  const options = { exposeHeadRoute: true };
  let text: Buffer | undefined;
  const packed = new Map<Coding, ReturnType<typeof compress>>();
  app.get('/openapi.json', options, async ({ headers }, reply) => {
    text ??= Buffer.from(JSON.stringify(contract()));
    const coding = chooseCoding(headers['accept-encoding'] ?? '');
    reply.type(JSON_TYPE);
    if (!coding) return reply.send(text);
    // The document is compressed once for each coding.
    const bytes = packed.get(coding) ?? compress(text, coding);
    packed.set(coding, bytes);
    return reply.headers({ 'content-encoding': coding, vary: 'accept-encoding' }).send(await bytes);
  });

  const sendFile = openFolder('docs/dist/', 'each');
  app.get('/docs', options, (_request, reply) => reply.redirect('/docs/', 301));
  app.get<{ Params: { '*': string } }>('/docs/*', options, (request, reply) => {
    const path = request.params['*'] || 'index';
    reply.header('content-security-policy', path === 'reference' ? REFERENCE_POLICY : PAGE_POLICY);
    return sendFile(extname(path) ? path : `${path}.html`, 'no-store', request, reply);
  });
}

const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** Allows the styles that the reference sets while it runs, and its call for the contract. */
const REFERENCE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
