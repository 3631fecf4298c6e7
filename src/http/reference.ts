/**
 * `/openapi.json`, and `/docs` with the reference page made from it. The page works offline. A thread makes it when it
 * is first asked for: loading what makes it would hold the event loop for 250 ms.
 */
import { Worker } from 'node:worker_threads';
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { Refusal } from '../errors.ts';
import { JSON_TYPE } from './envelope.ts';
import type { ReferenceFile } from './reference-worker.ts';

const TAKES_GZIP = /(^|,)\s*gzip\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/i;

export function addReference(app: FastifyInstance, contract: () => object): void {
  const options = { exposeHeadRoute: true };
  let text: Buffer | undefined;
  const renderText = (): Buffer => (text ??= Buffer.from(JSON.stringify(contract())));
  app.get('/openapi.json', options, (_request, reply) => reply.type(JSON_TYPE).send(renderText()));

  let files: Promise<Map<string, ReferenceFile>> | undefined;
  const serveFile: RouteHandlerMethod = async ({ url, headers }, reply) => {
    const file = (await (files ??= renderFiles(contract()))).get(url.split('?', 1)[0]!);
    if (!file) throw new Refusal('UNKNOWN_PATH');
    reply.headers(file.headers).code(file.httpStatus);
    if (!TAKES_GZIP.test(headers['accept-encoding'] ?? '')) return reply.send(file.bytes);
    return reply.header('content-encoding', 'gzip').send(file.packed);
  };
  for (const url of ['/docs', '/docs/*']) app.get(url, options, serveFile);
}

function renderFiles(contract: object): Promise<Map<string, ReferenceFile>> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('reference-worker.ts', import.meta.url), { workerData: contract });
    worker.once('message', resolve).once('error', reject);
  });
}
