/**
 * Sends files that the build makes: the pages of the dashboard and of the documents, with their compressed copies.
 * Source: RFC 9110 sections 8.8, 13.1.
 */
import { hash } from 'node:crypto';
import { extname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { listAssets, readAsset } from '../../assets.ts';
import { Refusal } from '../../errors.ts';
import { hasAnswer } from './answer.ts';
import { chooseCoding, tagOfCoding, type Coding } from './compression.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
};
/** The extensions of compressed copies. */
const COPIES: readonly (readonly [coding: Coding, extension: string])[] = [
  ['br', '.br'],
  ['gzip', '.gz'],
];

/** All responses share its bytes. */
interface BuiltFile {
  readonly tag: string;
  readonly bytes: Buffer;
  readonly packed: ReadonlyMap<Coding, Buffer>;
}

/**
 * Returns a function that sends the file with a name in the folder, or 304 if the browser has it. The function throws
 * UNKNOWN_PATH if there is no such file. It reads a file when it is first requested; files that name each other are read
 * together, so that another build beside the service does not mix with this one.
 */
export function openFolder(folder: string, read: 'each' | 'together') {
  let names: ReadonlySet<string> | undefined;
  const files = new Map<string, BuiltFile>();
  /** A large script has only its compressed copy. */
  const isThere = (name: string) => names!.has(folder + name) || names!.has(`${folder}${name}.gz`);
  const readFile = (name: string): BuiltFile => {
    const isPlain = names!.has(folder + name);
    const bytes = isPlain ? readAsset(folder + name) : gunzipSync(readAsset(`${folder}${name}.gz`));
    const copies = COPIES.filter(([, extension]) => names!.has(folder + name + extension));
    return {
      tag: `"${hash('sha256', bytes, 'base64url').slice(0, 16)}"`,
      bytes,
      packed: new Map(copies.map(([coding, extension]) => [coding, readAsset(folder + name + extension)])),
    };
  };
  return (name: string, cacheControl: string, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (names === undefined) {
      names = new Set(listAssets(folder));
      const built = read === 'together' ? Array.from(names, (path) => path.slice(folder.length)) : [];
      for (const one of built) if (extname(one) in TYPES) files.set(one, readFile(one));
    }
    const type = TYPES[extname(name)];
    if (names.size === 0)
      throw new Refusal('UNKNOWN_PATH', 'This page is not built. Run `npm run build` and start the service again.');
    if (type === undefined || !isThere(name)) throw new Refusal('UNKNOWN_PATH');
    const { tag, bytes, packed } = files.getOrInsertComputed(name, readFile);
    const coding = chooseCoding(headers['accept-encoding'] ?? '', [...packed.keys()]);
    const etag = coding ? tagOfCoding(tag, coding) : tag;
    reply.headers({ 'content-type': type, etag, vary: 'accept-encoding', 'cache-control': cacheControl });
    if (hasAnswer(headers['if-none-match'] ?? '', etag)) return reply.code(304).send();
    return coding ? reply.header('content-encoding', coding).send(packed.get(coding)) : reply.send(bytes);
  };
}
