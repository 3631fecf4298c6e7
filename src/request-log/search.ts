/**
 * Looks through the request log of a tenant: newest first over any number of blocks and nodes, a bounded piece of it a page, the event loop free in
 * between. Never writes. Source: decision 0022.
 */
import { crc32 } from 'node:zlib';
import { Refusal } from '../errors.ts';
import type { RequestDetailView, RequestsQuery, RequestsView, RequestView } from './logged-request.ts';
import {
  BLOCK_SPAN_MS,
  nextTurn,
  readLine,
  parseNumber,
  unpackLines,
  viewDetail,
  viewRequest,
  type LineValues,
} from './lines.ts';
import type { RequestBlock, RequestStore } from './port.ts';

const PAGE_REQUESTS = 50;
/** What a page looks through at most before it says how far it came. */
const PAGE_BLOCKS_MAX = 400;
const PAGE_LINES_MAX = 100_000;
const BLOCKS_PER_READ = 8;
/** Lines taken apart in one turn of the event loop: about half a millisecond. */
const LINES_PER_TURN = 500;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z$/;
const STATUS = /^[1-5](\d\d|xx)$/;
const REQUEST_ID = /^([\w-]{1,64})-(0|[1-9a-z][0-9a-z]{0,9})$/;
const CURSOR = /^(.{24}) ([\w-]*) (\d+)$/;

/** The place of a request in the log: newest first, and those of one moment by boot and number. */
interface Place {
  readonly at: string;
  readonly boot: string;
  readonly number: number;
}
interface Found extends Place {
  readonly view: RequestView;
}

/** Below 0 when `a` comes first. */
const compare = (a: Place, b: Place): number =>
  a.at === b.at ? (a.boot === b.boot ? b.number - a.number : a.boot < b.boot ? 1 : -1) : a.at < b.at ? 1 : -1;

interface Search {
  readonly from: string;
  /** Requests from this time on are left out; '' for none. */
  readonly to: string;
  readonly after: Place | undefined;
  readonly matches: (values: LineValues) => boolean;
}

/** One page. `keptFrom` is the oldest time that is shown. Throws INVALID_PARAMETER and INVALID_CURSOR. */
export async function searchRequests(
  store: RequestStore,
  teamId: string,
  query: RequestsQuery,
  keptFrom: string,
): Promise<Omit<RequestsView, 'keptDays'>> {
  const search = parseSearch(query, keptFrom);
  const page: Found[] = [];
  /** The first of those that match and may still have newer ones in blocks not looked at. */
  let waiting: Found[] = [];
  let [blocks, lines] = [0, 0];
  const answer = (next: Place | null): Omit<RequestsView, 'keptDays'> => ({
    requests: page.map(({ view }) => view),
    next: next && formatCursor(next),
    searchedTo: next?.at ?? '',
  });
  for await (const block of loadBlocks(store, teamId, search)) {
    const lastAt = block.blockId.slice(0, search.from.length);
    // No block after this one has anything newer than its last request.
    while (page.length < PAGE_REQUESTS && waiting.length > 0 && waiting[0]!.at > lastAt) page.push(waiting.shift()!);
    if (page.length === PAGE_REQUESTS) return answer(page.at(-1)!);
    const isEnough = blocks >= PAGE_BLOCKS_MAX || lines >= PAGE_LINES_MAX;
    if (isEnough && (!search.after || lastAt < search.after.at))
      return answer({ at: lastAt, boot: BEFORE_ALL, number: 0 });
    const found = await searchBlock(block, search);
    blocks++;
    lines += found.lines;
    waiting = [...waiting, ...found.matches].toSorted(compare).slice(0, PAGE_REQUESTS - page.length + 1);
  }
  page.push(...waiting.splice(0, PAGE_REQUESTS - page.length));
  return answer(waiting.length > 0 ? page.at(-1)! : null);
}

/** No boot is greater. */
const BEFORE_ALL = 'z'.repeat(64);

async function* loadBlocks(
  store: RequestStore,
  teamId: string,
  { from, to, after }: Search,
): AsyncGenerator<RequestBlock> {
  const newest = after && (to === '' || after.at < to) ? after.at : to;
  // Behind the last day that has four digits in its year there is nothing anyway.
  let before = newest === '' || newest > '9999-12-31' ? '' : formatTime(Date.parse(newest) + BLOCK_SPAN_MS + 1);
  for (;;) {
    const blocks = await store.loadBlocks(teamId, { before, from, to: newest }, BLOCKS_PER_READ);
    yield* blocks;
    if (blocks.length < BLOCKS_PER_READ) return;
    before = blocks.at(-1)!.blockId;
  }
}

/** The first requests of a block that match: more than a page holds are not kept. */
async function searchBlock(
  block: RequestBlock,
  { from, to, after, matches }: Search,
): Promise<{ matches: Found[]; lines: number }> {
  const { boot } = block;
  const lines = unpackLines(block);
  let found: Found[] = [];
  for (let start = 0; start < lines.length; start += LINES_PER_TURN) {
    for (const line of lines.slice(start, start + LINES_PER_TURN)) {
      const values = readLine(line);
      const [digits, at] = values;
      if (at < from || (to !== '' && at >= to) || !matches(values)) continue;
      const one = { at, boot, number: parseNumber(digits) };
      if (!after || compare(one, after) > 0) found.push({ ...one, view: viewRequest(boot, values) });
    }
    found = found.toSorted(compare).slice(0, PAGE_REQUESTS + 1);
    await nextTurn();
  }
  return { matches: found, lines: lines.length };
}

/** The request with this ID, whichever node it was answered by. */
export async function findRequest(
  store: RequestStore,
  teamId: string,
  requestId: string,
): Promise<RequestDetailView | undefined> {
  const [, boot, digits] = REQUEST_ID.exec(requestId) ?? [];
  if (boot === undefined || digits === undefined) return undefined;
  const start = `["${digits}",`;
  for (const block of await store.findBlocks(teamId, boot, parseNumber(digits))) {
    const line = unpackLines(block).find((one) => one.startsWith(start));
    if (line !== undefined) return viewDetail(boot, readLine(line));
    await nextTurn();
  }
  return undefined;
}

function parseSearch(
  { status = '', operation = '', from = '', to = '', cursor = '' }: RequestsQuery,
  keptFrom: string,
): Search {
  if (status !== '' && !STATUS.test(status))
    throw new Refusal('INVALID_PARAMETER', 'status is a status such as 404 or a class of them such as 4xx.', {
      field: 'status',
    });
  const [low, high] = status.endsWith('xx')
    ? [Number(status[0]) * 100, Number(status[0]) * 100 + 99]
    : [Number(status), Number(status)];
  const wantedFrom = parseTime('from', from);
  return {
    from: wantedFrom > keptFrom ? wantedFrom : keptFrom,
    to: parseTime('to', to),
    after: cursor === '' ? undefined : parseCursor(cursor),
    matches: ([, , operationOf, httpStatus]) =>
      (operation === '' || operationOf === operation) && (status === '' || (httpStatus >= low && httpStatus <= high)),
  };
}

/** The time as requests have it, with milliseconds. */
function parseTime(field: 'from' | 'to', text: string): string {
  if (text === '') return '';
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  // The 30th of February is read as a day of March.
  if (Number.isNaN(time) || !formatTime(time).startsWith(text.slice(0, 16)))
    throw new Refusal('INVALID_PARAMETER', `${field} is a time in UTC such as 2026-11-20T09:30:00Z.`, { field });
  return formatTime(time);
}

const formatTime = (ms: number): string => new Date(ms).toISOString();

/** The place behind a checksum: a cursor cut short would go on at another one. */
function formatCursor({ at, boot, number }: Place): string {
  const text = Buffer.from(`${at} ${boot} ${number}`);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(text));
  return Buffer.concat([checksum, text]).toString('base64url');
}

function parseCursor(cursor: string): Place {
  const [, at, boot, number] = CURSOR.exec(Buffer.from(cursor, 'base64url').subarray(4).toString('latin1')) ?? [];
  const time = Date.parse(at ?? '');
  const place =
    at !== undefined && !Number.isNaN(time) && formatTime(time) === at
      ? { at, boot: boot!, number: Number(number) }
      : undefined;
  if (!place || formatCursor(place) !== cursor) throw new Refusal('INVALID_CURSOR', undefined, { field: 'cursor' });
  return place;
}
