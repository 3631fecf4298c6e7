/**
 * `/openapi.json`, and `/docs` with the reference page made from it. The page works offline and is built when it is
 * first asked for.
 */
import { createHash } from 'node:crypto';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { Refusal } from '../errors.ts';
import { JSON_TYPE } from './envelope.ts';

export function addReference(app: FastifyInstance, contract: () => object): void {
  let text: string | undefined;
  app.get('/openapi.json', (_request, reply) => reply.type(JSON_TYPE).send((text ??= JSON.stringify(contract()))));

  let pages: Promise<FastifyInstance> | undefined;
  const servePage = async (url: string, reply: FastifyReply): Promise<FastifyReply> => {
    const page = await (await (pages ??= openReference(contract))).inject({ url });
    if (page.statusCode === 404) throw new Refusal('UNKNOWN_PATH');
    for (const name of ['content-type', 'location'])
      if (page.headers[name]) reply.header(name, String(page.headers[name]));
    reply.header('content-security-policy', pagePolicy(page.headers['content-type'], page.body));
    return reply.code(page.statusCode).send(page.rawPayload);
  };
  for (const url of ['/docs', '/docs/*']) app.get(url, (request, reply: FastifyReply) => servePage(request.url, reply));
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
