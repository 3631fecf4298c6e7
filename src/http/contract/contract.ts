/**
 * Begin here: serves the contract, which `npm run generate` writes into openapi.json (tools/contract), with the numbers
 * of the settings, and the pages made from it.
 */
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { readAsset, startThread } from '../../assets.ts';
import { HOUR_MS } from '../../clock.ts';
import { Refusal } from '../../errors.ts';
import { maxReturnOf } from '../operations/operation-schemas.ts';
import { chooseCoding, compress, type Coding } from '../server/compression.ts';
import { JSON_TYPE } from '../server/protocol.ts';
import type { Contract } from './documented-operations.ts';
import type { ReferenceFile, ReferenceParts } from './reference-worker.ts';

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
 * Adds `/openapi.json`, `/docs` with the reference page made from it, and `/docs/errors`. The pages work offline. A
 * thread renders the pages on the first request, because loading the renderer would block the event loop for 250 ms.
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

  let files: Promise<Map<string, ReferenceFile>> | undefined;
  const serveFile: RouteHandlerMethod = async ({ url, headers }, reply) => {
    const file = (await (files ??= renderFiles(contract()))).get(url.split('?', 1)[0]!);
    if (!file) throw new Refusal('UNKNOWN_PATH');
    reply.headers(file.headers).code(file.httpStatus);
    const coding = chooseCoding(headers['accept-encoding'] ?? '', ['gzip']);
    if (!coding) return reply.send(file.bytes);
    return reply.header('content-encoding', coding).send(file.packed);
  };
  for (const url of ['/docs', '/docs/*']) app.get(url, options, serveFile);
}

function renderFiles(contract: object): Promise<Map<string, ReferenceFile>> {
  return new Promise((resolve, reject) => {
    const workerData: ReferenceParts = { contract, errorsPage: readAsset('docs/errors.html').toString() };
    const worker = startThread(new URL('reference-worker.ts', import.meta.url), { workerData });
    worker.once('message', resolve).once('error', reject);
  });
}
