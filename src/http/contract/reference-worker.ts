/** A thread that renders the files of the reference page from the contract, and ends. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';
import { gzip } from 'node:zlib';
import reference from '@scalar/fastify-api-reference';
import Fastify, { type FastifyInstance } from 'fastify';

/** The sources of the pages. `errorsPage` is HTML. */
export interface ReferenceParts {
  readonly contract: object;
  readonly errorsPage: string;
}

/** A file of the page. All responses share its bytes. */
export interface ReferenceFile {
  readonly httpStatus: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly packed: Uint8Array;
}

const ERRORS_PATH = '/docs/errors';
const PATHS = ['/docs', '/docs/', '/docs/js/scalar.js', '/docs/openapi.json', '/docs/openapi.yaml', ERRORS_PATH];

/** Renders and compresses every file of the page. */
async function renderFiles({ contract, errorsPage }: ReferenceParts): Promise<Map<string, ReferenceFile>> {
  const pages = await openReference(contract, errorsPage);
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

async function openReference(content: object, errorsPage: string): Promise<FastifyInstance> {
  const pages = Fastify();
  await pages.register(reference, {
    routePrefix: '/docs',
    configuration: {
      content,
      pageTitle: 'Storeroom reference',
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      showDeveloperTools: 'never',
      orderSchemaPropertiesBy: 'preserve',
      orderRequiredPropertiesFirst: false,
    },
  });
  pages.get(ERRORS_PATH, (_request, reply) => reply.type('text/html; charset=utf-8').send(errorsPage));
  await pages.ready();
  return pages;
}

/** Returns a policy that allows the page's inline scripts by their hashes, and styles that it sets while it runs. */
function pagePolicy(type: unknown, html: string): string {
  const isPage = String(type).startsWith('text/html');
  const scripts = isPage ? [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>([\s\S]*?)<\/script>/g)] : [];
  const hashOf = (script: string) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
  return [
    `default-src 'none'; script-src 'self' ${scripts.map(([, script = '']) => hashOf(script)).join(' ')}`,
    `style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:`,
    `connect-src 'self'; frame-ancestors 'none'`,
  ].join('; ');
}

parentPort!.postMessage(await renderFiles(workerData as ReferenceParts));
