/**
 * The built pages of the dashboard: files with their headers, and the one HTML page for every other path below
 * /dashboard/. Source: https://www.w3.org/TR/CSP3/, https://www.w3.org/TR/trusted-types/, RFC 9110 sections 8.8, 13.1.
 */
import { hash } from 'node:crypto';
import { extname } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { listAssets, readAsset } from '../../assets.ts';
import { Refusal } from '../../errors.ts';
import { hasAnswer } from '../call/answer.ts';
import { chooseCoding, tagOfCoding, type Coding } from '../server/compression.ts';

const PREFIX = '/dashboard/';
const DIST = 'dashboard/dist/';
const PAGE = 'index.html';
const YEAR_S = 31_536_000;
/** Names of assets contain the hash of their content; the page is requested again each time. */
const FOR_EVER = `public, max-age=${YEAR_S}, immutable`;
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** Each file has these compressed copies, which the build makes. */
const COPIES: readonly (readonly [coding: Coding, extension: string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
];

/** With these headers, a browser loads only the page's own files and never shows the page in a frame. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';" +
    "form-action 'self';base-uri 'none';object-src 'none';frame-ancestors 'none';" +
    "require-trusted-types-for 'script';trusted-types 'none'",
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'DENY',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
};
/** This header is sent only if a trusted proxy reports TLS, because the service itself does not speak it. */
const TLS_ONLY = `max-age=${YEAR_S}; includeSubDomains`;

interface PageFile {
  readonly type: string;
  readonly tag: string;
  readonly bytes: Buffer;
  readonly packed: ReadonlyMap<Coding, Buffer>;
}

export async function addPages(app: FastifyInstance): Promise<void> {
  await app.register(async (scope) => {
    scope.addHook('onRequest', async ({ protocol }, reply) => {
      reply.headers(HEADERS);
      if (protocol === 'https') reply.header('strict-transport-security', TLS_ONLY);
    });
    const add = (url: string, handler: RouteHandlerMethod) =>
      void scope.route({ method: ['GET', 'HEAD'], url, handler });
    add(`${PREFIX}assets/*`, (request, reply) => {
      const name = `assets/${(request.params as { '*': string })['*']}`;
      if (sendPageFile(name, FOR_EVER, request, reply)) return reply;
      throw new Refusal('UNKNOWN_PATH');
    });
    add(`${PREFIX}*`, (request, reply) => {
      if (/^\/dashboard\/api([/?]|$)/.test(request.url)) throw new Refusal('UNKNOWN_PATH');
      if (sendPageFile(PAGE, 'no-cache', request, reply)) return reply;
      throw new Refusal('UNKNOWN_PATH', 'The dashboard is not built. Run `npm run build` and start the service again.');
    });
    for (const url of ['/', '/dashboard']) add(url, (_request, reply) => reply.redirect(PREFIX));
  });
}

let files: ReadonlyMap<string, PageFile> | undefined;

/** Sends the file with this name in dashboard/dist, or 304 if the browser has it. Returns false if there is none. */
function sendPageFile(name: string, cacheControl: string, { headers }: FastifyRequest, reply: FastifyReply): boolean {
  files ??= readFiles();
  const file = files.get(name);
  if (!file) return false;
  const { type, tag, bytes, packed } = file;
  const coding = chooseCoding(headers['accept-encoding'] ?? '', [...packed.keys()]);
  const etag = coding ? tagOfCoding(tag, coding) : tag;
  reply.headers({ 'content-type': type, etag, vary: 'accept-encoding', 'cache-control': cacheControl });
  if (hasAnswer(headers['if-none-match'] ?? '', etag)) reply.code(304).send();
  else if (coding) reply.header('content-encoding', coding).send(packed.get(coding));
  else reply.send(bytes);
  return true;
}

function readFiles(): Map<string, PageFile> {
  const names = new Set(listAssets(DIST));
  const read = new Map<string, PageFile>();
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const bytes = readAsset(name);
    const copies = COPIES.filter(([, extension]) => names.has(name + extension));
    const packed = new Map(copies.map(([coding, extension]) => [coding, readAsset(name + extension)]));
    const tag = `"${hash('sha256', bytes, 'base64url').slice(0, 16)}"`;
    read.set(name.slice(DIST.length), { type, tag, bytes, packed });
  }
  return read;
}
