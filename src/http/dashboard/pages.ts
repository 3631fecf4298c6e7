/**
 * The built pages of the dashboard: files with their headers, and the one HTML page for every other path below
 * /dashboard/. Source: https://www.w3.org/TR/CSP3/, https://www.w3.org/TR/trusted-types/.
 */
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import helmet from '@fastify/helmet';
import { Refusal } from '../../errors.ts';
import { sendPageFile } from './page-files.ts';

const PREFIX = '/dashboard/';
const PAGE = 'index.html';
const YEAR_S = 31_536_000;
/** Names of assets have their content's hash; the page is asked for anew each time. All else stays `no-store`. */
const FOR_EVER = `public, max-age=${YEAR_S}, immutable`;

const NO_PERMISSIONS = 'camera=(), geolocation=(), microphone=(), payment=(), usb=()';

const CONTENT_POLICY = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    objectSrc: ["'none'"],
    frameAncestors: ["'none'"],
    requireTrustedTypesFor: ["'script'"],
    trustedTypes: ["'none'"],
  },
};

export async function addPages(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    // Before helmet's hook: removing a header afterwards would remove helmet's too.
    scope.addHook('onRequest', async ({ protocol }, reply) => {
      reply.removeHeader('content-security-policy').header('permissions-policy', NO_PERMISSIONS);
      // Known only from a proxy that is trusted: the service itself speaks no TLS.
      if (protocol === 'https') reply.header('strict-transport-security', `max-age=${YEAR_S}; includeSubDomains`);
    });
    await scope.register(helmet, {
      contentSecurityPolicy: CONTENT_POLICY,
      crossOriginOpenerPolicy: { policy: 'same-origin' },
      crossOriginResourcePolicy: { policy: 'same-origin' },
      referrerPolicy: { policy: 'no-referrer' },
      xFrameOptions: { action: 'deny' },
      strictTransportSecurity: false,
    });
    const add = (url: string, handler: RouteHandlerMethod): void =>
      void scope.route({ method: ['GET', 'HEAD'], url, handler });
    add(`${PREFIX}assets/*`, (request, reply) => {
      const name = `assets/${(request.params as { '*': string })['*']}`;
      if (sendPageFile(name, FOR_EVER, request, reply)) return reply;
      throw new Refusal('UNKNOWN_PATH');
    });
    add(`${PREFIX}*`, (request, reply) => {
      if (/^\/dashboard\/api([/?]|$)/.test(request.url)) throw new Refusal('UNKNOWN_PATH');
      if (sendPageFile(PAGE, 'no-cache', request, reply)) return reply;
      throw new Refusal('UNKNOWN_PATH', 'The dashboard was not built: run `npm run build` and start again.');
    });
    for (const url of ['/', '/dashboard']) add(url, (_request, reply) => reply.redirect(PREFIX));
  });
}
