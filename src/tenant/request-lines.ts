/**
 * Requests as the log keeps them: a request is a line of JSON without secrets, lines are gathered into blocks and compressed, and read back. Knows the
 * form of a block and nothing of when one is written or read. Source: decision 0022.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { CALLER_PARAMETERS, hideSecrets } from './credentials.ts';
import type { LoggedCall, RequestDetailView, RequestView } from './logged-request.ts';
import type { RequestBlock } from './store.ts';

const MESSAGE_CHARACTERS_MAX = 1000;
const BODY_CHARACTERS_MAX = 4096;
const QUERY_CHARACTERS_MAX = 1024;
export const CLIENT_CHARACTERS_MAX = 64;
/** Between the first and the last request of a block. Whoever looks for a time has to look at the blocks of this much more. */
export const BLOCK_SPAN_MS = 1000;

/** A block with more than this is full: so few that packing them takes a tenth of a millisecond, and that no text lives long before it is packed. */
const BLOCK_CHARACTERS = 64 * 1024;
/** Fewer bytes are kept as they are. */
const PLAIN_BYTES_MAX = 1024;
const OPENING_BRACKET = 0x5b;
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 16 } };
/** No block is made that comes near the size. */
const UNPACK = { maxOutputLength: 16 * 1024 * 1024 };

/** What a line is a list of: number, at, operation, status, tenths of a millisecond, client, apiID, explorer's user, code, message, field, query, body. */
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
  /** Lines with a line feed between them. */
  text: string;
}

export const openGathered = (teamId: string, boot: string, number: number, at: string): Gathered => ({
  teamId,
  boot,
  firstAt: at,
  lastAt: at,
  firstNumber: number,
  lastNumber: number,
  text: '',
});

/** Written by hand: JSON.stringify of the whole takes several times as long, and every call pays for it. */
export function writeLine(
  number: number,
  { at, operation, httpStatus, milliseconds, client, apiId, explorerUser, code, message, field, query, body }: LoggedCall,
): string {
  const who = `${writeText(client, CLIENT_CHARACTERS_MAX)},${writeText(apiId)},${explorerUser === null ? 'null' : writeText(explorerUser)}`;
  const refused = code === null && message === null ? 'null,null,null' : `${writeText(code)},${writeText(message, MESSAGE_CHARACTERS_MAX)},${writeText(field)}`;
  const asked = `${writeQuery(query)},${body === null ? 'null' : writeText(body, BODY_CHARACTERS_MAX)}]`;
  const line = `[${number},"${at}","${operation}",${httpStatus},${Math.round(milliseconds * 10)},${who},${refused},${asked}`;
  return line.includes('sr_sk_') ? hideSecrets(line) : line;
}

/** Text that JSON has as it is. */
const PLAIN = /^[ !#-[\]-~]{0,64}$/;

function writeText(text: string | null, most = Infinity): string {
  if (text === null) return 'null';
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(cut(text, most));
}

function writeQuery(query: LoggedCall['query']): string {
  let text = '';
  for (const name in query)
    if (!CALLER_PARAMETERS.includes(name))
      text += `${text === '' ? '{' : ','}${writeText(name, QUERY_CHARACTERS_MAX)}:${writeText(String(query[name]), QUERY_CHARACTERS_MAX)}`;
  return text === '' ? '{}' : `${text}}`;
}

/** The first characters; never half of one. */
export const cut = (text: string, most: number): string => (text.length > most ? text.slice(0, most).toWellFormed() : text);

/** Blocks of what was gathered: one, except where requests took so long that their times lie further apart than a block may span. */
export const packBlocks = (gathered: Gathered): RequestBlock[] =>
  divide(gathered).map(({ teamId, boot, firstAt, lastAt, firstNumber, lastNumber, text }) => {
    const blockId = `${lastAt} ${boot}-${firstNumber.toString(36)}`;
    return { teamId, blockId, firstAt, boot, firstNumber, lastNumber, lines: pack(Buffer.from(text)) };
  });

function divide(gathered: Gathered): Gathered[] {
  const { teamId, boot, firstAt, lastAt, text } = gathered;
  const end = Date.parse(lastAt);
  if (end - Date.parse(firstAt) <= BLOCK_SPAN_MS) return [gathered];
  const parts = new Map<number, Gathered>();
  for (const line of text.split('\n')) {
    const [number, at] = readLine(line);
    const place = Math.floor((end - Date.parse(at)) / BLOCK_SPAN_MS);
    let part = parts.get(place);
    if (!part) parts.set(place, (part = openGathered(teamId, boot, number, at)));
    addLine(part, number, at, line);
  }
  return [...parts.values()];
}

/** False when the block is full. */
export function addLine(to: Gathered, number: number, at: string, line: string): boolean {
  if (to.text.length > BLOCK_CHARACTERS) return false;
  if (at > to.lastAt) to.lastAt = at;
  else if (at < to.firstAt) to.firstAt = at;
  if (number > to.lastNumber) to.lastNumber = number;
  else if (number < to.firstNumber) to.firstNumber = number;
  to.text += to.text === '' ? line : `\n${line}`;
  return true;
}

const pack = (bytes: Buffer): Uint8Array => (bytes.length < PLAIN_BYTES_MAX ? bytes : zstdCompressSync(bytes, FAST));

/** The lines of a block, in the order they were recorded. */
export const unpackLines = ({ lines }: RequestBlock): string[] => unpack(lines).toString('utf8').split('\n');

const unpack = (bytes: Uint8Array): Buffer => (bytes[0] === OPENING_BRACKET ? Buffer.from(bytes) : zstdDecompressSync(bytes, UNPACK));

/** Lets everybody else go first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

export const readLine = (line: string): LineValues => JSON.parse(line) as LineValues;

export function viewRequest(boot: string, values: LineValues): RequestView {
  const [number, at, operation, httpStatus, tenths, client, apiID, explorerUser, code, message] = values;
  const requestID = `${boot}-${number.toString(36)}`;
  return { requestID, at, operation, httpStatus, milliseconds: tenths / 10, client, apiID, explorerUser, code, message };
}

export function viewDetail(boot: string, values: LineValues): RequestDetailView {
  const [field, query, body] = values.slice(10) as [string | null, Record<string, string>, string | null];
  return { ...viewRequest(boot, values), field, query, body };
}
