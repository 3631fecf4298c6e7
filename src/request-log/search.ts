/** Searches a tenant's request log over all nodes, newest first. Bounds the work of a page. Source: decision 0022. */
import { crc32 } from 'node:zlib';
import { formatTime } from '../clock.ts';
import { refuseField } from '../errors.ts';
import type { RequestsQuery } from './logged-request.ts';
import {
  BLOCK_SPAN_MS,
  nextRound,
  parseLine,
  parseNumber,
  toFound,
  toFoundDetail,
  unpackLines,
  type FoundRequest,
  type FoundRequestDetail,
  type LineValues,
} from './lines.ts';
import type { RequestBlock, RequestStore } from './request-log-port.ts';

const PAGE_REQUESTS = 50;
/** Maximum blocks and lines searched for a page, which then ends early. */
const PAGE_BLOCKS_MAX = 400;
const PAGE_LINES_MAX = 100_000;
const BLOCKS_PER_READ = 8;
/** The number of lines parsed in one round of the event loop: about half a millisecond. */
const LINES_PER_ROUND = 500;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z$/;
const STATUS = /^([1-5](\d\d|xx)|failed)$/;
const REQUEST_ID = /^([\w-]{1,64})-(0|[1-9a-z][0-9a-z]{0,9})$/;
const CURSOR = /^(.{24}) ([\w-]*) (\d+)$/;

/** A position in the log, which is sorted by time, boot and number, newest first. */
interface LogPosition {
  readonly at: string;
  readonly boot: string;
  readonly number: number;
}
interface Match extends LogPosition {
  readonly request: FoundRequest;
}

/** Returns a number below 0 when `a` comes first. */
const compare = (a: LogPosition, b: LogPosition) =>
  a.at === b.at ? (a.boot === b.boot ? b.number - a.number : a.boot < b.boot ? 1 : -1) : a.at < b.at ? 1 : -1;

interface Search {
  readonly from: string;
  /** The time from which requests are left out; '' for no such time. */
  readonly to: string;
  readonly after: LogPosition | undefined;
  readonly matches: (values: LineValues) => boolean;
}

/**
 * Returns a page, newest first, at most 50, back to the time `keptFrom`. `next` is null on the last page; an empty page
 * can have a `next`. `searchedTo` is the time back to which the log was searched; '' for all of the log. Throws
 * INVALID_PARAMETER and INVALID_CURSOR.
 */
export async function searchRequests(store: RequestStore, teamId: string, query: RequestsQuery, keptFrom: string) {
  const search = parseSearch(query, keptFrom);
  const page: Match[] = [];
  /** The newest matches so far. Blocks not searched yet may have newer ones. */
  let waiting: Match[] = [];
  let [blocks, lines] = [0, 0];
  const answer = (next: LogPosition | null) => ({
    requests: page.map(({ request }) => request),
    next: next && formatCursor(next),
    searchedTo: next?.at ?? '',
  });
  for await (const block of loadBlocks(store, teamId, search)) {
    const lastAt = block.blockId.slice(0, search.from.length);
    // The blocks that follow have no request newer than the last request of this one.
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

/** A text that sorts after every boot. */
const BEFORE_ALL = 'z'.repeat(64);

async function* loadBlocks(store: RequestStore, teamId: string, search: Search): AsyncGenerator<RequestBlock> {
  const { from, to, after } = search;
  const newest = after && (to === '' || after.at < to) ? after.at : to;
  // No request is later than the last day whose year has four digits.
  let before = newest === '' || newest > '9999-12-31' ? '' : formatTime(Date.parse(newest) + BLOCK_SPAN_MS + 1);
  for (;;) {
    const blocks = await store.loadBlocks(teamId, { before, from, to: newest }, BLOCKS_PER_READ);
    yield* blocks;
    if (blocks.length < BLOCKS_PER_READ) return;
    before = blocks.at(-1)!.blockId;
  }
}

/** Returns the newest matches in a block, at most one more than a page holds. */
async function searchBlock(block: RequestBlock, { from, to, after, matches }: Search) {
  const { boot } = block;
  const lines = unpackLines(block);
  let found: Match[] = [];
  for (let start = 0; start < lines.length; start += LINES_PER_ROUND) {
    for (const line of lines.slice(start, start + LINES_PER_ROUND)) {
      const values = parseLine(line);
      const [digits, at] = values;
      if (at < from || (to !== '' && at >= to) || !matches(values)) continue;
      const position = { at, boot, number: parseNumber(digits) };
      if (!after || compare(position, after) > 0) found.push({ ...position, request: toFound(boot, values) });
    }
    found = found.toSorted(compare).slice(0, PAGE_REQUESTS + 1);
    await nextRound();
  }
  return { matches: found, lines: lines.length };
}

/** Returns the request with this ID, from any node. */
export async function findRequest(
  store: RequestStore,
  teamId: string,
  requestId: string,
): Promise<FoundRequestDetail | undefined> {
  const [, boot, digits] = REQUEST_ID.exec(requestId) ?? [];
  if (boot === undefined || digits === undefined) return undefined;
  const start = `["${digits}",`;
  for (const block of await store.findBlocks(teamId, boot, parseNumber(digits))) {
    const line = unpackLines(block).find((one) => one.startsWith(start));
    if (line !== undefined) return toFoundDetail(boot, parseLine(line));
    await nextRound();
  }
  return undefined;
}

function parseSearch(
  { status = '', operation = '', key = '', code = '', order = '', from = '', to = '', cursor = '' }: RequestsQuery,
  keptFrom: string,
): Search {
  if (status !== '' && !STATUS.test(status))
    throw refuseField(
      'INVALID_PARAMETER',
      'status',
      'status must be a status such as 404, a class such as 4xx, or failed.',
    );
  const isStatus = statusTest(status);
  const isOrder = orderTest(order);
  const wantedFrom = parseTime('from', from);
  return {
    from: wantedFrom > keptFrom ? wantedFrom : keptFrom,
    to: parseTime('to', to),
    after: cursor === '' ? undefined : parseCursor(cursor),
    matches: (values) =>
      (operation === '' || values[2] === operation) &&
      isStatus(values[3]) &&
      (key === '' || (values[6] ?? 'explorer') === key) &&
      (code === '' || values[8] === code) &&
      isOrder(values),
  };
}

function statusTest(status: string): (httpStatus: number) => boolean {
  if (status === 'failed') return (httpStatus) => httpStatus >= 400;
  const digits = status.replace('xx', '');
  return (httpStatus) => String(httpStatus).startsWith(digits);
}

/** Returns a test for requests whose query or body names an order. A long body may be cut before the name. */
function orderTest(order: string): (values: LineValues) => boolean {
  if (order === '') return () => true;
  const named = `"ORDER_NUMBER":${JSON.stringify(order)}`;
  return (values) => values[11]['orderNum'] === order || values[12]?.includes(named) === true;
}

/** Returns the time with milliseconds, like the times of requests. */
function parseTime(field: 'from' | 'to', text: string): string {
  if (text === '') return '';
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN;
  // Date.parse reads 30 February as a day in March.
  if (Number.isNaN(time) || !formatTime(time).startsWith(text.slice(0, 16)))
    throw refuseField('INVALID_PARAMETER', field, `${field} must be a UTC time such as 2026-11-20T09:30:00Z.`);
  return formatTime(time);
}

/** Formats the position after a checksum, which detects a cursor that was cut short. */
function formatCursor({ at, boot, number }: LogPosition): string {
  const text = Buffer.from(`${at} ${boot} ${number}`);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(text));
  return Buffer.concat([checksum, text]).toString('base64url');
}

function parseCursor(cursor: string): LogPosition {
  const [, at, boot, number] = CURSOR.exec(Buffer.from(cursor, 'base64url').subarray(4).toString('latin1')) ?? [];
  const time = Date.parse(at ?? '');
  const position =
    at !== undefined && !Number.isNaN(time) && formatTime(time) === at
      ? { at, boot: boot!, number: Number(number) }
      : undefined;
  if (!position || formatCursor(position) !== cursor)
    throw refuseField('INVALID_CURSOR', 'cursor', 'The cursor is incomplete. Copy all of it, or search without it.');
  return position;
}
