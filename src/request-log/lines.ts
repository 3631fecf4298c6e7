/**
 * Requests as the log keeps them: a request is a line of JSON without secrets, lines are gathered into blocks and compressed, and read back. Knows the
 * form of a block and nothing of when one is written or read. Source: decision 0022.
 */
import { constants, createZstdCompress, zstdDecompressSync } from 'node:zlib';
import { CALLER_PARAMETERS, hideSecrets } from '../tenant/credentials.ts';
import type { LoggedCall, RequestDetailView, RequestView } from './logged-request.ts';
import type { RequestBlock } from './port.ts';

const MESSAGE_CHARACTERS_MAX = 1000;
const BODY_CHARACTERS_MAX = 4096;
const QUERY_CHARACTERS_MAX = 1024;
export const CLIENT_CHARACTERS_MAX = 64;
/** Between the first and the last request of a block. Whoever looks for a time has to look at the blocks of this much more. */
export const BLOCK_SPAN_MS = 1000;

/** A block with more than this is full: so few that no text lives long before it is packed. */
const BLOCK_CHARACTERS = 64 * 1024;
/** Fewer bytes are kept as they are. */
const PLAIN_BYTES_MAX = 1024;
const OPENING_BRACKET = 0x5b;
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 16 } };
/** No block is made that comes near the size. */
const UNPACK = { maxOutputLength: 16 * 1024 * 1024 };

/** What a line is a list of: number in base 36, at, operation, status, tenths of a millisecond, client, apiID, explorer's user, code, message, field, query, body. */
export type LineValues = [
  string,
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
  /** Lowest and highest number, in base 36 as requests have it: a number made text stays in the engine until a full garbage collection. */
  first: string;
  last: string;
  /** Lines with a line feed between them. */
  text: string;
}

export const openGathered = (teamId: string, boot: string, digits: string, at: string): Gathered => ({
  teamId,
  boot,
  firstAt: at,
  lastAt: at,
  first: digits,
  last: digits,
  text: '',
});

/** Written by hand: JSON.stringify of the whole takes several times as long, and every call pays for it. */
export function writeLine(
  digits: string,
  {
    at,
    operation,
    httpStatus,
    milliseconds,
    client,
    apiId,
    explorerUser,
    code,
    message,
    field,
    query,
    body,
  }: LoggedCall,
): string {
  const who = `${writeText(client, CLIENT_CHARACTERS_MAX)},${writeText(apiId)},${explorerUser === null ? 'null' : writeText(explorerUser)}`;
  const refused =
    code === null && message === null
      ? 'null,null,null'
      : `${writeText(code)},${writeText(message, MESSAGE_CHARACTERS_MAX)},${writeText(field)}`;
  const asked = `${formatQuery(query)},${body === null ? 'null' : writeText(body, BODY_CHARACTERS_MAX)}]`;
  const line = `["${digits}","${at}","${operation}",${httpStatus},${Math.round(milliseconds * 10)},${who},${refused},${asked}`;
  return line.includes('sr_sk_') ? hideSecrets(line) : line;
}

/** Text that JSON has as it is. */
const PLAIN = /^[ !#-[\]-~]{0,64}$/;

function writeText(text: string | null, most = Infinity): string {
  if (text === null) return 'null';
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(cut(text, most));
}

function formatQuery(query: LoggedCall['query']): string {
  let text = '';
  for (const name in query)
    if (!CALLER_PARAMETERS.includes(name))
      text += `${text === '' ? '{' : ','}${writeText(name, QUERY_CHARACTERS_MAX)}:${writeText(String(query[name]), QUERY_CHARACTERS_MAX)}`;
  return text === '' ? '{}' : `${text}}`;
}

/** The first characters; never half of one. */
export const cut = (text: string, most: number): string =>
  text.length > most ? text.slice(0, most).toWellFormed() : text;

/**
 * Makes blocks of what was gathered, in the thread pool. All go through one stream: what a stream of their own leaves behind goes away only in a full
 * garbage collection, and would bring one on every second.
 */
export class BlockPacker {
  readonly #stream = createZstdCompress(FAST).on('data', (part: Buffer) => void this.#parts.push(part));
  readonly #parts: Buffer[] = [];

  /** One block, except where requests took so long that their times lie further apart than a block may span. */
  pack(gathered: Gathered): Promise<RequestBlock>[] {
    return divide(gathered).map(async ({ teamId, boot, firstAt, lastAt, first, last, text }) => {
      const block = {
        teamId,
        blockId: `${lastAt} ${boot}-${first}`,
        firstAt,
        boot,
        firstNumber: parseNumber(first),
        lastNumber: parseNumber(last),
      };
      return { ...block, lines: await this.#compress(Buffer.from(text)) };
    });
  }

  #compress(bytes: Buffer): Promise<Uint8Array> {
    if (bytes.length < PLAIN_BYTES_MAX) return Promise.resolve(bytes);
    const { promise, resolve } = Promise.withResolvers<Uint8Array>();
    this.#stream.write(bytes);
    // Ends the frame, so that each can be read by itself. The copy is no piece of Node's pool of small buffers, which it would hold on to.
    this.#stream.flush(constants.ZSTD_e_end, () => resolve(new Uint8Array(Buffer.concat(this.#parts.splice(0)))));
    return promise;
  }
}

function divide(gathered: Gathered): Gathered[] {
  const { teamId, boot, firstAt, lastAt } = gathered;
  const end = Date.parse(lastAt);
  if (end - Date.parse(firstAt) <= BLOCK_SPAN_MS) return [gathered];
  const parts = new Map<number, Gathered>();
  for (const line of gathered.text.split('\n')) {
    const [digits, at] = readLine(line);
    const place = Math.floor((end - Date.parse(at)) / BLOCK_SPAN_MS);
    let part = parts.get(place);
    if (!part) parts.set(place, (part = openGathered(teamId, boot, digits, at)));
    addLine(part, digits, at, line);
  }
  return [...parts.values()];
}

/** False when the block is full. */
export function addLine(to: Gathered, digits: string, at: string, line: string): boolean {
  if (to.text.length > BLOCK_CHARACTERS) return false;
  if (at > to.lastAt) to.lastAt = at;
  else if (at < to.firstAt) to.firstAt = at;
  if (isLower(to.last, digits)) to.last = digits;
  else if (isLower(digits, to.first)) to.first = digits;
  to.text += to.text === '' ? line : `\n${line}`;
  return true;
}

const isLower = (a: string, b: string): boolean => (a.length === b.length ? a < b : a.length < b.length);
export const parseNumber = (digits: string): number => Number.parseInt(digits, 36);

/** The lines of a block, in the order they were recorded. */
export const unpackLines = ({ lines }: RequestBlock): string[] => unpack(lines).toString('utf8').split('\n');

const unpack = (bytes: Uint8Array): Buffer =>
  bytes[0] === OPENING_BRACKET ? Buffer.from(bytes) : zstdDecompressSync(bytes, UNPACK);

/** Lets everybody else go first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

export const readLine = (line: string): LineValues => JSON.parse(line) as LineValues;

export function viewRequest(boot: string, values: LineValues): RequestView {
  const [digits, at, operation, httpStatus, tenths, client, apiID, explorerUser, code, message] = values;
  return {
    requestID: `${boot}-${digits}`,
    at,
    operation,
    httpStatus,
    milliseconds: tenths / 10,
    client,
    apiID,
    explorerUser,
    code,
    message,
  };
}

export function viewDetail(boot: string, values: LineValues): RequestDetailView {
  const [field, query, body] = values.slice(10) as [string | null, Record<string, string>, string | null];
  return { ...viewRequest(boot, values), field, query, body };
}
