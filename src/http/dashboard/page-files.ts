/** The built files of the dashboard, read once, in the form a browser takes. Source: RFC 9110 sections 8.8 and 13.1. */
import { hash } from 'node:crypto';
import { extname } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { listAssets, readAsset } from '../../assets.ts';
import { chooseCoding, tagOfCoding, type Coding } from '../server/compression.ts';
import { hasAnswer } from '../call/etag.ts';

const DIST = 'dashboard/dist/';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** The build leaves these copies beside each file. */
const COPIES: readonly (readonly [coding: Coding, extension: string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
];

interface PageFile {
  readonly type: string;
  readonly tag: string;
  readonly bytes: Buffer;
  readonly packed: ReadonlyMap<Coding, Buffer>;
}

let files: ReadonlyMap<string, PageFile> | undefined;

/** Sends the file with this name in dashboard/dist, or 304 when the browser has it. False when there is none. */
export function sendPageFile(
  name: string,
  cacheControl: string,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): boolean {
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
    read.set(name.slice(DIST.length), {
      type,
      tag: `"${hash('sha256', bytes, 'base64url').slice(0, 16)}"`,
      bytes,
      packed,
    });
  }
  return read;
}
