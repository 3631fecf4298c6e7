/**
 * Lock codes of line items: opaque, 144 random bits, fit for a URL. Draws randomness in blocks, since an import needs thousands a second.
 * Knows nothing of lines.
 */
import { randomFillSync } from 'node:crypto';

const BYTES = 18;
const block = Buffer.alloc(BYTES * 256);
let used = block.length;

export function newLockCode(): string {
  if (used === block.length) {
    randomFillSync(block);
    used = 0;
  }
  used += BYTES;
  return block.toString('base64url', used - BYTES, used);
}
