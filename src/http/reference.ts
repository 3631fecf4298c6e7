/**
 * `/openapi.json`, and `/docs` with the reference page made from it. The page works offline and is built when it is
 * first asked for.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import Fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify';
import { Refusal } from '../errors.ts';
import { JSON_TYPE } from './envelope.ts';

/** A file of the reference page, shared by all answers that hold it. */
interface ReferenceFile {
  readonly httpStatus: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly packed: Buffer;
}
const PATHS = ['/docs', '/docs/', '/docs/js/scalar.js', '/docs/openapi.json', '/docs/openapi.yaml'];
const TAKES_GZIP = /(^|,)\s*gzip\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/i;

export function addReference(app: FastifyInstance, contract: () => object): void {
  const options = { exposeHeadRoute: true };
  let text: Buffer | undefined;
  const renderText = (): Buffer => (text ??= Buffer.from(JSON.stringify(contract())));
  app.get('/openapi.json', options, (_request, reply) => reply.type(JSON_TYPE).send(renderText()));

  let files: Promise<Map<string, ReferenceFile>> | undefined;
  const serveFile: RouteHandlerMethod = async ({ url, headers }, reply) => {
    const file = (await (files ??= renderFiles(contract))).get(url.split('?', 1)[0]!);
    if (!file) throw new Refusal('UNKNOWN_PATH');
    reply.headers(file.headers).code(file.httpStatus);
    if (!TAKES_GZIP.test(headers['accept-encoding'] ?? '')) return reply.send(file.bytes);
    return reply.header('content-encoding', 'gzip').send(file.packed);
  };
  for (const url of ['/docs', '/docs/*']) app.get(url, options, serveFile);
}

/** Every file of the page, compressed once. */
async function renderFiles(contract: () => object): Promise<Map<string, ReferenceFile>> {
  const pages = await openReference(contract);
  const files = new Map<string, ReferenceFile>();
  for (const url of PATHS) {
    const { statusCode: httpStatus, headers: sent, rawPayload: bytes, body } = await pages.inject({ url });
    if (httpStatus >= 400) continue;
    const policy = pagePolicy(sent['content-type'], body);
    const headers: Record<string, string> = { vary: 'accept-encoding', 'content-security-policy': policy };
    for (const name of ['content-type', 'location']) if (sent[name]) headers[name] = String(sent[name]);
    files.set(url, { httpStatus, headers, bytes, packed: await promisify(gzip)(bytes) });
  }
  await pages.close();
  return files;
}

async function openReference(contract: () => object): Promise<FastifyInstance> {
  const { default: reference } = await import('@scalar/fastify-api-reference');
  const pages = Fastify();
  await pages.register(reference, {
    routePrefix: '/docs',
    configuration: {
      content: contract() as Record<string, unknown>,
      pageTitle: 'Storeroom reference',
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      showDeveloperTools: 'never',
    },
  });
  await pages.ready();
  return pages;
}

/** Allows the page's own scripts by their hashes. The page sets styles while it runs, so any style is allowed. */
function pagePolicy(type: unknown, html: string): string {
  const isPage = String(type).startsWith('text/html');
  const scripts = isPage ? [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g)] : [];
  const hashOf = (script: string): string => `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
  return [
    `default-src 'none'; script-src 'self' ${scripts.map(([, script = '']) => hashOf(script)).join(' ')}`,
    `style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:`,
    `connect-src 'self'; frame-ancestors 'none'`,
  ].join('; ');
}
