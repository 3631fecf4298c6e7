/**
 * Compresses a response for a caller that accepts it, in the thread pool, a few responses at a time, at the fastest
 * level. Source: RFC 9110 section 12.5.3, decision 0045.
 */
import type { ServerResponse } from 'node:http';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib';

/** The codings, in the order in which the service prefers them. */
const CODINGS = ['zstd', 'br', 'gzip'] as const;
export type Coding = (typeof CODINGS)[number];

/** Minimum bytes to compress. A smaller response fits into two packets uncompressed. */
export const COMPRESSED_BYTES_LEAST = 2048;
/** Maximum compressions at once. Leaves the event loop one of several processors, and files one of four threads. */
const AT_ONCE_MAX = Math.min(3, Math.max(1, availableParallelism() - 1));
/** Bounds of a compressed piece, each of which the event loop receives. Node joins the pieces into one buffer. */
const PIECE_BYTES_LEAST = 1024;
const PIECE_BYTES_MAX = 256 * 1024;

const WEIGHT = /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/i;

/**
 * Chooses the offered coding with the greatest weight in `Accept-Encoding`, the first of equals. Returns undefined if
 * none is accepted or `identity` is preferred. A part that cannot be read counts as not accepted.
 */
export function chooseCoding(accepted: string, offered: readonly Coding[] = CODINGS): Coding | undefined {
  const weights = new Map<string, number>();
  for (const part of accepted.split(',')) {
    const [name = '', weight, ...more] = part.split(';').map((text) => text.trim());
    const [, value] = weight === undefined ? ['', '1'] : (WEIGHT.exec(weight) ?? ['', '0']);
    weights.set(name.toLowerCase().replace(/^x-(?=gzip$)/, ''), more.length === 0 ? Number(value) : 0);
  }
  const weightOf = (coding: Coding) => weights.get(coding) ?? weights.get('*') ?? 0;
  const [best] = offered.toSorted((a, b) => weightOf(b) - weightOf(a));
  const least = Math.max(weights.get('identity') ?? 0, Number.MIN_VALUE);
  return best !== undefined && weightOf(best) >= least ? best : undefined;
}

/** Returns the ETag of a coding: `"7"` becomes `"7-br"`, because a strong ETag identifies the bytes of a response. */
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
/** Waiting compressions in order of arrival. The process has one thread pool, so it has one queue. */
const waiting = new Set<(hasTurn: boolean) => void>();

/** Compresses bytes, which stay usable. Resolves to undefined if the caller disconnects before it has a place. */
export async function compress(
  bytes: Uint8Array,
  coding: Coding,
  response?: ServerResponse,
): Promise<Uint8Array | undefined> {
  if (running < AT_ONCE_MAX) running++;
  else if (!(await waitForPlace(response))) return undefined;
  try {
    // Most responses compress to less than a quarter.
    const piece = Math.min(PIECE_BYTES_MAX, Math.max(PIECE_BYTES_LEAST, Math.ceil(bytes.length / 4)));
    return await PACK[coding](bytes, piece);
  } finally {
    const [next] = waiting;
    if (next) next(true);
    else running--;
  }
}

/** Resolves to false if the caller disconnects. A place that becomes free goes to the next in the queue. */
function waitForPlace(response: ServerResponse | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const leave = () => takePlace(false);
    const takePlace = (isFree: boolean) => {
      waiting.delete(takePlace);
      response?.off('close', leave);
      resolve(isFree);
    };
    waiting.add(takePlace);
    response?.once('close', leave);
  });
}
