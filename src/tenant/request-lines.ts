/**
 * Requests as the log keeps them: a request is a line of JSON without secrets, lines are gathered into blocks and compressed, and read back. Knows the
 * form of a block and nothing of when one is written or read. Source: decision 0022.
 */
import { constants, zstdCompress, zstdCompressSync, zstdDecompress, zstdDecompressSync } from 'node:zlib';
import { hideSecrets } from './credentials.ts';
import type { LoggedCall, RequestDetailView, RequestView } from './logged-request.ts';
import type { RequestBlock } from './store.ts';

const MESSAGE_CHARACTERS_MAX = 1000;
const BODY_CHARACTERS_MAX = 4096;
const QUERY_CHARACTERS_MAX = 1024;
export const CLIENT_CHARACTERS_MAX = 64;
/** Between the first and the last request of a block. Whoever looks for a time has to look at the blocks of this much more. */
export const BLOCK_SPAN_MS = 1000;

/** Fewer bytes are kept as they are; up to the next bound it takes less time to compress them at once than to hand them to a thread. */
const PLAIN_BYTES_MAX = 1024;
const AT_ONCE_BYTES_MAX = 65_536;
const AT_ONCE_PACKED_BYTES_MAX = 8192;
const OPENING_BRACKET = 0x5b;
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** No block is made that comes near the size. */
const UNPACK = { chunkSize: 256 * 1024, maxOutputLength: 256 * 1024 * 1024 };

/** What a line is a list of: number, at, operation, status, milliseconds, client, apiID, explorer's user, code, message, field, query, body. */
export type LineValues = [
  number,
  string,
  string,
  number,
  number,
  string,
  string | null,
  string | null,
  string | null,
  string | null,
  string | null,
  Readonly<Record<string, string>>,
  string | null,
];

/** Requests of one tenant and one boot that wait for their block. */
export interface Gathered {
  readonly teamId: string;
  readonly boot: string;
  firstAt: string;
  lastAt: string;
  firstNumber: number;
  lastNumber: number;
  readonly lines: string[];
}

export function writeLine(number: number, call: LoggedCall): string {
  const { message, body, client } = call;
  const values: LineValues = [
    number,
    call.at,
    call.operation,
    call.httpStatus,
    Math.round(call.milliseconds * 10) / 10,
    cut(client, CLIENT_CHARACTERS_MAX),
    call.apiId,
    call.explorerUser,
    call.code,
    message && cut(message, MESSAGE_CHARACTERS_MAX),
    call.field,
    cutValues(call.query),
    body && cut(body, BODY_CHARACTERS_MAX),
  ];
  const line = JSON.stringify(values);
  return line.includes('sr_sk_') ? hideSecrets(line) : line;
}

/** The first characters; never half of one. */
export const cut = (text: string, most: number): string => (text.length > most ? text.slice(0, most).toWellFormed() : text);

function cutValues(query: LoggedCall['query']): LoggedCall['query'] {
  for (const name in query)
    if (query[name]!.length > QUERY_CHARACTERS_MAX)
      return Object.fromEntries(Object.entries(query).map(([key, value]) => [key, cut(value, QUERY_CHARACTERS_MAX)]));
  return query;
}

/** Blocks of what was gathered: one, except where requests took so long that their times lie further apart than a block may span. */
export async function* packBlocks(gathered: Gathered): AsyncGenerator<RequestBlock> {
  for (const { teamId, boot, firstAt, lastAt, firstNumber, lastNumber, lines } of divide(gathered)) {
    const blockId = `${lastAt} ${boot}-${firstNumber.toString(36)}`;
    yield { teamId, blockId, firstAt, boot, firstNumber, lastNumber, lines: await pack(Buffer.from(lines.join('\n'))) };
  }
}

function divide(gathered: Gathered): Gathered[] {
  const { teamId, boot, firstAt, lastAt, lines } = gathered;
  const end = Date.parse(lastAt);
  if (end - Date.parse(firstAt) <= BLOCK_SPAN_MS) return [gathered];
  const parts = new Map<number, Gathered>();
  for (const line of lines) {
    const [number, at] = JSON.parse(line) as LineValues;
    const place = Math.floor((end - Date.parse(at)) / BLOCK_SPAN_MS);
    const part = parts.get(place);
    if (part) addLine(part, number, at, line);
    else parts.set(place, { teamId, boot, firstAt: at, lastAt: at, firstNumber: number, lastNumber: number, lines: [line] });
  }
  return [...parts.values()];
}

export function addLine(to: Gathered, number: number, at: string, line: string): void {
  if (at > to.lastAt) to.lastAt = at;
  else if (at < to.firstAt) to.firstAt = at;
  if (number > to.lastNumber) to.lastNumber = number;
  else if (number < to.firstNumber) to.firstNumber = number;
  to.lines.push(line);
}

async function pack(bytes: Buffer): Promise<Uint8Array> {
  if (bytes.length < PLAIN_BYTES_MAX) return bytes;
  if (bytes.length < AT_ONCE_BYTES_MAX) {
    await nextTurn();
    return zstdCompressSync(bytes, FAST);
  }
  return new Promise((resolve, reject) => {
    zstdCompress(bytes, FAST, (fault, packed) => (fault ? reject(fault) : resolve(packed)));
  });
}

/** The lines of a block, in the order they were recorded. */
export async function unpackLines({ lines }: RequestBlock): Promise<string[]> {
  return (await unpack(lines)).toString('utf8').split('\n');
}

async function unpack(bytes: Uint8Array): Promise<Buffer> {
  if (bytes[0] === OPENING_BRACKET) return Buffer.from(bytes);
  if (bytes.length < AT_ONCE_PACKED_BYTES_MAX) return zstdDecompressSync(bytes, UNPACK);
  return new Promise((resolve, reject) => {
    zstdDecompress(bytes, UNPACK, (fault, unpacked) => (fault ? reject(fault) : resolve(unpacked)));
  });
}

/** Lets everybody else go first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

export const readLine = (line: string): LineValues => JSON.parse(line) as LineValues;

export function viewRequest(boot: string, values: LineValues): RequestView {
  const [number, at, operation, httpStatus, milliseconds, client, apiID, explorerUser, code, message] = values;
  const requestID = `${boot}-${number.toString(36)}`;
  return { requestID, at, operation, httpStatus, milliseconds, client, apiID, explorerUser, code, message };
}

export function viewDetail(boot: string, values: LineValues): RequestDetailView {
  const [field, query, body] = values.slice(10) as [string | null, Record<string, string>, string | null];
  return { ...viewRequest(boot, values), field, query, body };
}
