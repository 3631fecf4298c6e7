/**
 * Compresses an answer for a caller that says it takes that: in the thread pool, a few answers at a time, at the level
 * that is fastest. Source: specification "Reading much in few calls", RFC 9110 section 12.5.3, docs/decisions/0045.
 */
import type { ServerResponse } from 'node:http';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';

/** The codings there are, the fastest for its size first. */
const CODINGS = ['zstd', 'br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/** A smaller answer fits into two packets as it is. */
export const COMPRESSED_BYTES_LEAST = 2048;
/** One processor is left for the event loop, one of the four threads of the pool for files. */
const AT_ONCE_MAX = Math.min(3, Math.max(1, availableParallelism() - 1));
/** Each piece of what is compressed comes back to the event loop. Of several, Node makes bytes of the right length. */
const PIECE_BYTES_LEAST = 1024;
const PIECE_BYTES_MAX = 256 * 1024;

const WEIGHT = /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/i;

/**
 * The coding that the header `Accept-Encoding` likes best of those offered, of equals the first. undefined: none, or
 * the answer as it is no less. A part that cannot be read counts as not taken.
 */
export function chooseCoding(accepted: string, offered: readonly Coding[] = CODINGS): Coding | undefined {
  const weights = new Map<string, number>();
  for (const part of accepted.split(',')) {
    const [name = '', weight, ...more] = part.split(';').map((text) => text.trim());
    const [, value] = weight === undefined ? ['', '1'] : (WEIGHT.exec(weight) ?? ['', '0']);
    weights.set(name.toLowerCase().replace(/^x-(?=gzip$)/, ''), more.length === 0 ? Number(value) : 0);
  }
  const weightOf = (coding: Coding): number => weights.get(coding) ?? weights.get('*') ?? 0;
  const [best] = offered.toSorted((a, b) => weightOf(b) - weightOf(a));
  const least = Math.max(weights.get('identity') ?? 0, Number.MIN_VALUE);
  return best !== undefined && weightOf(best) >= least ? best : undefined;
}

/** A strong ETag names bytes, so each coding of an answer has its own: `"7"` becomes `"7-br"`. */
export const tagOfCoding = (tag: string, coding: Coding): string => `${tag.slice(0, -1)}-${coding}"`;

const [packZstd, packBrotli, packGzip] = [promisify(zstdCompress), promisify(brotliCompress), promisify(gzip)];

const PACK: Record<Coding, (bytes: Uint8Array, chunkSize: number) => Promise<Uint8Array>> = {
  zstd: (bytes, chunkSize) =>
    packZstd(bytes, { chunkSize, pledgedSrcSize: bytes.length, params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  br: (bytes, chunkSize) =>
    packBrotli(bytes, {
      chunkSize,
      // A window of 256 KiB bounds the memory of a compression; a larger one makes pages no smaller at this quality.
      params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 },
    }),
  gzip: (bytes, chunkSize) => packGzip(bytes, { chunkSize, level: 1 }),
};

let running = 0;
/** In order of arrival. The pool is that of the process, and so is this line. */
const waiting = new Set<(hasTurn: boolean) => void>();

/** Compressed bytes; undefined when the caller leaves before its turn. The bytes may be used again afterwards. */
export async function compress(
  bytes: Uint8Array,
  coding: Coding,
  response?: ServerResponse,
): Promise<Uint8Array | undefined> {
  if (running < AT_ONCE_MAX) running++;
  else if (!(await waitForTurn(response))) return undefined;
  try {
    // A quarter is more than most answers come to.
    const piece = Math.min(PIECE_BYTES_MAX, Math.max(PIECE_BYTES_LEAST, Math.ceil(bytes.length / 4)));
    return await PACK[coding](bytes, piece);
  } finally {
    const [next] = waiting;
    if (next) next(true);
    else running--;
  }
}

/** Resolves to false when the caller leaves. A turn that ends is handed on, so that nobody overtakes. */
function waitForTurn(response: ServerResponse | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const leave = (): void => take(false);
    const take = (hasTurn: boolean): void => {
      waiting.delete(take);
      response?.off('close', leave);
      resolve(hasTurn);
    };
    waiting.add(take);
    response?.once('close', leave);
  });
}
