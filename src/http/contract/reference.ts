/**
 * `/openapi.json`, `/docs` with the reference page made from it, and `/docs/errors`. The pages work offline. A thread
 * renders them on the first request, because loading the renderer would block the event loop for 250 ms.
 */
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import { startThread } from '../../assets.ts';
import { Refusal } from '../../errors.ts';
import { chooseCoding, compress, type Coding } from '../server/compression.ts';
import { JSON_TYPE } from '../call/answer.ts';
import type { ReferenceFile } from './reference-worker.ts';

export function addReference(app: FastifyInstance, contract: () => object): void {
  const options = { exposeHeadRoute: true };
  let text: Buffer | undefined;
  const packed = new Map<Coding, ReturnType<typeof compress>>();
  app.get('/openapi.json', options, async ({ headers }, reply) => {
    text ??= Buffer.from(JSON.stringify(contract()));
    const coding = chooseCoding(headers['accept-encoding'] ?? '');
    reply.type(JSON_TYPE);
    if (!coding) return reply.send(text);
    // Each coding is built once.
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
    const worker = startThread(new URL('reference-worker.ts', import.meta.url), { workerData: contract });
    worker.once('message', resolve).once('error', reject);
  });
}
