/**
 * Makes tar archives whose bytes depend only on their content: sorted, without owners, with one time, and compressed by
 * the Node of the lockfile. The tar and npm of different machines would make different bytes.
 */
import { gzipSync } from 'node:zlib';

export interface TarFile {
  /** The path with slashes, at most 100 bytes. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly isProgram: boolean;
}

const BLOCK = 512;
const PATH_BYTES_MAX = 100;

/** Packs files into a compressed archive. `time` is in whole seconds since 1970. */
export function packTar(files: readonly TarFile[], time: number): Buffer {
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const parts = sorted.flatMap((file) => [renderHeader(file, time), file.bytes, padding(file.bytes.length)]);
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]), { level: 6 });
}

/** Renders a header of POSIX.1-1988 (ustar). Numbers are octal texts; the checksum counts its own field as blanks. */
function renderHeader({ path, bytes, isProgram }: TarFile, time: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) throw new Error(`${path} is too long for an archive.`);
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;
  header.write(path, 0);
  header.write(octal(isProgram ? 0o755 : 0o644, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  header.write(octal(bytes.length, 12), 124);
  header.write(octal(time, 12), 136);
  header.write(' '.repeat(8), 148);
  header.write('0', 156);
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 7)} `, 148);
  return header;
}

function padding(length: number): Buffer {
  return Buffer.alloc((BLOCK - (length % BLOCK)) % BLOCK);
}
