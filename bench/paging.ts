/**
 * W10: one caller reads page after page to the end, or 100,000 records, each page from the cursor of the one before.
 */
import { Agent, request, type IncomingHttpHeaders } from 'node:http';
import { forgetPeaks, peakMemoryMb } from './processes.ts';
import type { RowFigures } from './seed.ts';
import type { Side } from './side.ts';

const PAGE = 1000;
const RECORDS_MAX = 100_000;
const KEYS = { customers: '"CUSTOMER_CODE":', orders: '"ORDER_NUMBER":' };

export async function measurePaging({ server, dialect }: Side, recordType: keyof typeof KEYS): Promise<RowFigures> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const asked = dialect.query(recordType, [], PAGE);
  const readPage = (cursor: string): Promise<{ bytes: Buffer; headers: IncomingHttpHeaders }> =>
    new Promise((resolve, reject) => {
      const path = asked.path + (cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`);
      const { method, headers } = asked;
      const sent = request(server.origin + path, { agent, method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve({ bytes: Buffer.concat(chunks), headers: response.headers }));
      });
      sent.on('error', reject).end(asked.body);
    });
  forgetPeaks([server.pid]);
  const begunAt = performance.now();
  let rows = 0;
  for (let cursor: string | undefined = ''; cursor !== undefined && rows < RECORDS_MAX;) {
    const { bytes, headers } = await readPage(cursor);
    const found = countOf(bytes, KEYS[recordType]);
    if (found === 0) throw new Error(`A page has no records: ${bytes.toString().slice(0, 300)}`);
    rows += found;
    cursor = headers['x-next-cursor'] as string | undefined;
  }
  const rowsPerSecond = (rows / (performance.now() - begunAt)) * 1000;
  agent.destroy();
  return { name: `page through ${recordType}`, rows, rowsPerSecond, memoryMb: peakMemoryMb([server.pid]) };
}

/** Parsing them would take the reader longer than the service takes to answer. */
export function countOf(bytes: Buffer, key: string): number {
  let count = 0;
  for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at + key.length)) count++;
  return count;
}
