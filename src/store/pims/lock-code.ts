/** Lock codes of line items: 144 random bits, fit for a URL. Drawn in blocks: an import needs thousands a second. */
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
