/**
 * Random texts that are valid in a URL and in an ETag. They are generated in blocks, because an import needs thousands
 * a second.
 */
import { randomFillSync } from 'node:crypto';

const LOCK_CODE_BYTES = 18;
const VERSION_BYTES = 9;
const block = Buffer.alloc(9 * 512);
let used = block.length;

/** Returns a lock code, which identifies a line of an order: 144 random bits. */
export const newLockCode = (): string => draw(LOCK_CODE_BYTES);

/** Returns the version of a record after a write: 72 random bits, so that no other state of the record has it. */
export const newVersion = (): string => draw(VERSION_BYTES);

function draw(bytes: number): string {
  if (used + bytes > block.length) {
    randomFillSync(block);
    used = 0;
  }
  used += bytes;
  return block.toString('base64url', used - bytes, used);
}
