/**
 * The format of the request log: one line of JSON per request, with long texts cut and secrets hidden, compressed
 * into blocks. Source: decision 0022.
 */
import { constants, createZstdCompress, zstdDecompressSync } from 'node:zlib';
import { CALLER_PARAMETERS } from '../tenant/credentials.ts';
import { HIDDEN, hideSecrets, hideSecretsInJson, isSecretName } from '../tenant/secrets.ts';
import { LINE_BYTES_MAX, VALUE_CHARACTERS_MAX, type LoggedCall } from './logged-request.ts';
import type { RequestBlock } from './request-log-port.ts';

/** A text that needs no escape in JSON, and is too short to be a secret. */
const PLAIN = /^[ !#-[\]-~]{0,24}$/;
/** Maximum characters searched for secrets: those shown plus more than the length of an encoded secret. */
const SEARCHED_CHARACTERS_MAX = 2048;
const BODY_SEARCHED_MAX = 8192;
const LONG_TEXT = /"([^"\\]*(?:\\.[^"\\]*)*)"/gs;
/** The name under which parameters that do not fit are counted. */
const MORE = '…';

/** Returns the first characters of a text, without half a surrogate pair. */
export const cutText = (text: string, most: number): string =>
  text.length > most ? text.slice(0, most).toWellFormed() : text;

/** Returns the beginning of a text, with an ellipsis when it is longer. */
const shorten = (text: string, most: number) => (text.length > most ? `${cutText(text, most - 1)}…` : text);

/** Formats a text as JSON, with secrets hidden, within a number of characters and bytes. */
function formatText(text: string | null, charactersMax: number, bytesMax: number): string {
  if (text === null) return 'null';
  return PLAIN.test(text)
    ? `"${text}"`
    : formatShown(hideSecrets(text.slice(0, SEARCHED_CHARACTERS_MAX)), charactersMax, bytesMax);
}

function formatShown(shown: string, charactersMax: number, bytesMax: number): string {
  const text = shorten(shown, charactersMax);
  const json = JSON.stringify(text);
  const bytes = json.length * 3 > bytesMax ? Buffer.byteLength(json) : 0;
  return bytes <= bytesMax
    ? json
    : formatShown(text, Math.max(1, Math.floor((text.length * (bytesMax - 4)) / bytes)), bytesMax);
}

/** Formats the parameters except those that name the caller. Counts those that do not fit under `…`. */
function formatQuery(query: Readonly<Record<string, unknown>>, bytesMax: number): string {
  let [text, bytes, left] = ['', 0, 0];
  for (const name in query) {
    if (CALLER_PARAMETERS.includes(name)) continue;
    const pair = bytes < bytesMax ? formatParameter(name, query[name], bytesMax) : '';
    bytes += Buffer.byteLength(pair) + 1;
    if (pair === '' || bytes > bytesMax) left++;
    else text += `${text === '' ? '{' : ','}${pair}`;
  }
  if (left > 0) text += `${text === '' ? '{' : ','}"${MORE}":"${left}"`;
  return text === '' ? '{}' : `${text}}`;
}

function formatParameter(name: string, value: unknown, bytesMax: number): string {
  const shown = isSecretName(name) ? HIDDEN : String(value);
  const nameBytesMax = Math.floor(bytesMax / 3);
  const quoted = formatText(name, VALUE_CHARACTERS_MAX, nameBytesMax);
  return `${quoted}:${formatText(shown, VALUE_CHARACTERS_MAX, bytesMax - nameBytesMax - 2)}`;
}

/** Formats the beginning of a JSON body, with long texts cut, as JSON within a number of bytes. */
export function formatBody(body: string, bytesMax: number): string {
  const shown = hideSecretsInJson(body.slice(0, BODY_SEARCHED_MAX));
  return formatShown(
    shown.length > VALUE_CHARACTERS_MAX ? shown.replace(LONG_TEXT, cutQuoted) : shown,
    Infinity,
    bytesMax,
  );
}

const cutQuoted = (quoted: string) =>
  quoted.length > VALUE_CHARACTERS_MAX + 2
    ? JSON.stringify(shorten(JSON.parse(quoted) as string, VALUE_CHARACTERS_MAX))
    : quoted;

export const CLIENT_CHARACTERS_MAX = 64;
/** Maximum time between two requests of a block. A search extends its end by this, to find the block of a request. */
export const BLOCK_SPAN_MS = 1000;

/** A block with more characters is full. Small blocks keep texts short-lived. */
const BLOCK_CHARACTERS = 64 * 1024;
/** Below this size a block is stored without compression. */
const PLAIN_BYTES_MAX = 1024;
const OPENING_BRACKET = 0x5b;
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 16 } };
/** The size limit of an unpacked block, far above the size of any block. */
const UNPACK = { maxOutputLength: 16 * 1024 * 1024 };

/** The values of a line. `digits` is the number of the request in base 36. */
export type LineValues = [
  digits: string,
  at: string,
  operation: string,
  httpStatus: number,
  tenthsOfMs: number,
  client: string,
  apiId: string | null,
  explorerUser: string | null,
  code: string | null,
  message: string | null,
  field: string | null,
  query: Readonly<Record<string, string>>,
  body: string | null,
  /** The name of the key, which is missing for a call from the explorer. */
  keyName?: string | null,
];

/** The requests of one tenant, boot and second, which become a block. */
export interface OpenBlock {
  readonly teamId: string;
  readonly boot: string;
  firstAt: string;
  lastAt: string;
  /** Lowest and highest number, as text: V8 keeps numbers formatted in base 36 until a full garbage collection. */
  first: string;
  last: string;
  /** Lines separated by line feeds. */
  text: string;
}

/** Returns the part of a time that all requests of a block share. */
export const secondOf = (at: string): string => at.slice(0, 19);

export const isFull = ({ text }: OpenBlock): boolean => text.length > BLOCK_CHARACTERS;

export const openBlock = (teamId: string, boot: string, digits: string, at: string): OpenBlock => ({
  teamId,
  boot,
  firstAt: at,
  lastAt: at,
  first: digits,
  last: digits,
  text: '',
});

/** Maximum bytes of these values in a line, so that there is room for the body. */
const CLIENT_BYTES_MAX = 128;
const NAME_BYTES_MAX = 256;
const MESSAGE_BYTES_MAX = 400;
const QUERY_BYTES_MAX = 600;

/** Formats a line by hand, because JSON.stringify takes several times as long, and every call needs a line. */
export function formatLine(digits: string, call: LoggedCall): string {
  const { at, operation, httpStatus, milliseconds, client, apiId, explorerUser, code, message, field } = call;
  const key = apiId === null ? 'null' : `"${apiId}"`;
  const user = formatText(explorerUser, VALUE_CHARACTERS_MAX, NAME_BYTES_MAX);
  const who = `${formatText(client, CLIENT_CHARACTERS_MAX, CLIENT_BYTES_MAX)},${key},${user}`;
  let refused = 'null,null,null';
  if (code !== null || message !== null) {
    const why = formatText(message, VALUE_CHARACTERS_MAX, MESSAGE_BYTES_MAX);
    refused = `${JSON.stringify(code)},${why},${formatText(field, VALUE_CHARACTERS_MAX, NAME_BYTES_MAX)}`;
  }
  const tenths = Math.round(milliseconds * 10);
  const query = formatQuery(call.query, QUERY_BYTES_MAX);
  const start = `["${digits}","${at}","${operation}",${httpStatus},${tenths},${who},${refused},${query},`;
  // The characters of a key name need no escape.
  const end = call.keyName === null ? ']' : `,"${call.keyName}"]`;
  const bytesLeft = LINE_BYTES_MAX - end.length;
  const body = call.body === null ? 'null' : formatBody(call.body, bytesLeft - Buffer.byteLength(start));
  return `${start}${body}${end}`;
}

/** Compresses blocks in the thread pool. A stream per block would force a full garbage collection every second. */
export class BlockPacker {
  readonly #stream = createZstdCompress(FAST).on('data', (part: Buffer) => void this.#parts.push(part));
  readonly #parts: Buffer[] = [];

  async pack({ teamId, boot, firstAt, lastAt, first, last, text }: OpenBlock): Promise<RequestBlock> {
    const [firstNumber, lastNumber] = [parseNumber(first), parseNumber(last)];
    const lines = await this.#compress(Buffer.from(text));
    return { teamId, blockId: `${lastAt} ${boot}-${first}`, firstAt, boot, firstNumber, lastNumber, lines };
  }

  #compress(bytes: Buffer): Promise<Uint8Array> {
    if (bytes.length < PLAIN_BYTES_MAX) return Promise.resolve(bytes);
    const { promise, resolve } = Promise.withResolvers<Uint8Array>();
    this.#stream.write(bytes);
    // ZSTD_e_end makes each block a separate frame. The copy keeps no piece of Node's buffer pool alive.
    this.#stream.flush(constants.ZSTD_e_end, () => resolve(new Uint8Array(Buffer.concat(this.#parts.splice(0)))));
    return promise;
  }
}

export function addLine(to: OpenBlock, digits: string, at: string, line: string): void {
  if (at > to.lastAt) to.lastAt = at;
  else if (at < to.firstAt) to.firstAt = at;
  if (isLower(to.last, digits)) to.last = digits;
  else if (isLower(digits, to.first)) to.first = digits;
  to.text += to.text === '' ? line : `\n${line}`;
}

const isLower = (a: string, b: string) => (a.length === b.length ? a < b : a.length < b.length);
export const parseNumber = (digits: string): number => Number.parseInt(digits, 36);

/** Returns the lines of a block in the order they were recorded. */
export function unpackLines({ lines }: Pick<RequestBlock, 'lines'>): string[] {
  const bytes = lines[0] === OPENING_BRACKET ? Buffer.from(lines) : zstdDecompressSync(lines, UNPACK);
  return bytes.toString('utf8').split('\n');
}

/** Lets the event loop do other work. */
export const nextRound = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

export const parseLine = (line: string): LineValues => JSON.parse(line) as LineValues;

/** A request of the log. Calls from the explorer have no `apiID` and no `keyName`, but an `explorerUser`, an address. */
export type FoundRequest = ReturnType<typeof toFound>;
export function toFound(boot: string, values: LineValues) {
  const [digits, at, operation, httpStatus, tenthsOfMs, client, apiID, explorerUser, code, message] = values;
  const [requestID, milliseconds] = [`${boot}-${digits}`, tenthsOfMs / 10];
  const keyName = values[13] ?? null;
  return { requestID, at, operation, httpStatus, milliseconds, client, apiID, keyName, explorerUser, code, message };
}

/** Adds the query without credentials, and the JSON text of the body without them: of a long body its beginning. */
export type FoundRequestDetail = ReturnType<typeof toFoundDetail>;
export function toFoundDetail(boot: string, values: LineValues) {
  const [field, query, body] = values.slice(10, 13) as [string | null, Record<string, string>, string | null];
  return { ...toFound(boot, values), field, query, body };
}
