/** Random texts, fit for a URL and for an ETag. Drawn in blocks: an import needs thousands a second. */
import { randomFillSync } from 'node:crypto';

const LOCK_CODE_BYTES = 18;
const VERSION_BYTES = 9;
const block = Buffer.alloc(9 * 512);
let used = block.length;

/** Names a line of an order: 144 random bits. */
export const newLockCode = (): string => draw(LOCK_CODE_BYTES);

/** Stands for the state that a write leaves a record in, and for no other: 72 random bits. */
export const newVersion = (): string => draw(VERSION_BYTES);

function draw(bytes: number): string {
  if (used + bytes > block.length) {
    randomFillSync(block);
    used = 0;
  }
  used += bytes;
  return block.toString('base64url', used - bytes, used);
}
