/**
 * Makes calls from the contract: every operation with the parameters, headers and members of the body that the contract
 * allows, and then with up to three changes. For HTTP, a changed call is still one whole request.
 */
import { times } from '../kit/lists.ts';
import { basicOf } from '../kit/operations.ts';
import type { Keys } from '../kit/service.ts';
import { Values, type Chance, type RequestSchema } from './fuzz-values.ts';

export interface RequestDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
}
interface OperationObject {
  readonly operationId?: string;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: RequestSchema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: RequestSchema }>> };
}

/** A call that is not yet written as bytes. */
interface Draft {
  method: string;
  path: string;
  query: [string, string][];
  headers: [string, string][];
  body: unknown;
  /** Bytes that are sent instead of the body as JSON. */
  raw: Buffer | undefined;
}

export interface FuzzedCall {
  /** Operation of the contract; undefined if the call matches none. */
  readonly operation: string | undefined;
  readonly method: string;
  /** Path in the contract, or `elsewhere`. */
  readonly path: string;
  readonly changes: readonly string[];
  readonly bytes: Buffer;
  /** Whether the service may close the connection before it has read the whole call. */
  readonly isTooLarge: boolean;
}

const TEXTS = [
  '',
  '\0',
  '\u{1F600}',
  'é',
  '%',
  '%zz',
  '../..',
  "' OR 1=1 --",
  '__proto__',
  'x'.repeat(300),
  'x'.repeat(9000),
  '\n',
  '-1',
  '1e9',
  'null',
];
const JSONS: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e300,
  '',
  'x'.repeat(8193),
  [],
  {},
  [[]],
  { a: 1 },
  ['a'],
  '\u0000',
  '\ud800',
  { __proto__: 1 },
];
const RAWS = [
  '',
  '{',
  '[',
  '"',
  '{}}',
  'nul',
  '\ufeff{}',
  '{"a":1,"a":2}',
  '{"__proto__":1}',
  '{"NOTES":1e999}',
  '{"NOTES":123456789012345678901}',
  '[{}]',
  '['.repeat(2000),
  `${'['.repeat(1500)}${']'.repeat(1500)}`,
].map((raw) => Buffer.from(raw));
const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const MANY_FILTERS = bytesOf(times(51, () => ({ field: 'NOTES', value: '1' })));
const MANY_MEMBERS = bytesOf(Object.fromEntries(times(513, (index) => [`F${index}`, index])));
const BAD_UTF8 = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]);
const LARGE = Buffer.alloc(256 * 1024 + 1, ' ');
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'QUERY', 'TRACE'];
const HEADERS: readonly [string, string][] = [
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Encoding', 'gzip'],
  ['Idempotency-Key', ''],
  ['Idempotency-Key', 'a b'],
  ['Idempotency-Key', 'same'],
  ['Authorization', 'Basic !!!'],
  ['Authorization', 'Bearer x'],
  ['Authorization', `Basic ${Buffer.from('a:b').toString('base64')}`],
  ['X-Long', 'x'.repeat(9000)],
  ['Accept', 'text/html'],
  ['Expect', '100-continue'],
  ['Connection', 'close'],
  ['Upgrade', 'websocket'],
  ['Host', 'other'],
  ['Origin', 'null'],
];

/** Ways to change a call. Each may find nothing to change. */
const CHANGES: Readonly<Record<string, (draft: Draft, chance: Chance) => void>> = {
  'drop parameter': ({ query }, chance) => void query.splice(chance.below(query.length), 1),
  'repeat parameter': ({ query }, chance) => void (query.length > 0 && query.push([...chance.pick(query)])),
  'other value twice': ({ query }, chance) =>
    void (query.length > 0 && query.push([chance.pick(query)[0], chance.pick(TEXTS)])),
  'rename parameter': ({ query }, chance) =>
    void (query.length > 0 && (chance.pick(query)[0] += chance.pick(['s', ' ', '[]', '%00']))),
  'change parameter': ({ query }, chance) => void (query.length > 0 && (chance.pick(query)[1] = chance.pick(TEXTS))),
  'unknown parameter': ({ query }, chance) =>
    void query.push([chance.pick(['x', 'maxreturn', '__proto__', 'limit', '']), '1']),
  'add header': ({ headers }, chance) => void headers.push(chance.pick(HEADERS)),
  'drop header': ({ headers }, chance) => void headers.splice(chance.below(headers.length), 1),
  'repeat header': ({ headers }, chance) => void (headers.length > 0 && headers.push(chance.pick(headers))),
  'other method': (draft, chance) => void (draft.method = chance.pick(METHODS)),
  'other path': (draft, chance) => {
    const { path } = draft;
    draft.path = chance.pick([
      `${path}/`,
      `/${path}`,
      path.toUpperCase(),
      `${path}%2f`,
      path.replace('v1', 'v2'),
      `${path};a=b`,
      '/tenant',
      `${path}/%00`,
      `${path}/${'x'.repeat(200)}`,
      '/%ff',
    ]);
  },
  'raw body': (draft, chance) => void (draft.raw = chance.pick(RAWS)),
  'bytes of no text': (draft) => void (draft.raw = BAD_UTF8),
  'cut body': (draft, chance) => {
    const whole = Buffer.from(JSON.stringify(draft.body) ?? '');
    draft.raw = whole.subarray(0, chance.below(whole.length + 1));
  },
  'other body': (draft, chance) => void (draft.body = structuredClone(chance.pick(JSONS))),
  'change member': ({ body }, chance) => {
    const owner = Array.isArray(body) && body.length > 0 ? chance.pick(body as unknown[]) : body;
    if (typeof owner !== 'object' || owner === null || Array.isArray(owner)) return;
    const members = owner as Record<string, unknown>;
    members[chance.pick([...Object.keys(members), 'NO_SUCH_FIELD', 'FUNCTION', 'ORDER_NUMBER', 'teamID'])] =
      structuredClone(chance.pick(JSONS));
  },
  'drop member': ({ body }, chance) => {
    if (typeof body === 'object' && body !== null && !Array.isArray(body))
      delete (body as Record<string, unknown>)[chance.pick([...Object.keys(body), ''])];
  },
  'too many': (draft) => void (draft.raw = Array.isArray(draft.body) ? MANY_FILTERS : MANY_MEMBERS),
};
const NAMES = Object.keys(CHANGES);
/** Share of calls with a body that is too large. They are expensive, so they are rare. */
const LARGE_SHARE = 0.001;
const GOOD_SHARE = 0.45;
const SMALL_PAGES = ['1', '2', '7', '020'];
/** Names under which `Values` knows values of parameters. */
const FIELDS: Readonly<Record<string, string>> = {
  orderNum: 'ORDER_NUMBER',
  customerCode: 'CUSTOMER_CODE',
  partCode: 'PART_CODE',
  storefront_order_number: 'REFERENCE_NUMBER',
  cursor: 'cursor',
  'Idempotency-Key': '',
};

export class FuzzedCalls {
  readonly #operations: { method: string; path: string; operation: OperationObject }[];
  readonly #chance: Chance;
  readonly #keys: Keys;
  readonly #names: readonly string[];
  readonly values: Values;

  /** `names` are the fields that filters use. */
  constructor(document: RequestDocument, chance: Chance, keys: Keys, names: readonly string[]) {
    this.#operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    );
    this.#chance = chance;
    this.#keys = keys;
    this.#names = names;
    this.values = new Values(chance);
  }

  get operations(): string[] {
    return this.#operations.flatMap(({ operation }) => operation.operationId ?? []);
  }

  next(): FuzzedCall {
    const chance = this.#chance;
    const { method, path, operation } = chance.pick(this.#operations);
    const draft = this.#draft(method, path, operation);
    const changes: string[] = [];
    if (!chance.is(GOOD_SHARE))
      for (let count = 1 + chance.below(3); count > 0; count--) {
        const name = chance.pick(NAMES);
        CHANGES[name]!(draft, chance);
        changes.push(name);
      }
    const isTooLarge = draft.body !== undefined && chance.is(LARGE_SHARE);
    if (isTooLarge) draft.raw = LARGE;
    const isNamed =
      draft.path === path && this.#operations.some((one) => one.path === path && one.method === draft.method);
    const operationId = isNamed && draft.method === method ? operation.operationId : undefined;
    return {
      operation: operationId,
      method: draft.method,
      path: isNamed ? path : 'elsewhere',
      changes,
      bytes: write(draft, chance),
      isTooLarge,
    };
  }

  #draft(method: string, path: string, { parameters = [], requestBody }: OperationObject): Draft {
    const chance = this.#chance;
    const draft: Draft = { method, path, query: [], headers: [], body: undefined, raw: undefined };
    for (const { name, in: place, required = false, schema } of parameters) {
      if (name === 'teamID' || !(required || chance.is(0.5))) continue;
      const isSmall = name === 'maxReturn' && chance.is(0.9);
      const value = isSmall ? chance.pick(SMALL_PAGES) : String(this.values.make(schema, FIELDS[name]));
      (place === 'query' ? draft.query : draft.headers).push([name, value]);
    }
    if (requestBody) {
      draft.body = this.values.make(requestBody.content['application/json']!.schema);
      draft.headers.push(['Content-Type', 'application/json']);
      if (isListOfObjects(draft.body)) this.#aim(draft, draft.body);
      else if (!Array.isArray(draft.body) && 'LINE_REF_LOCK_CODE' in (draft.body as object) && chance.is(0.6))
        Object.assign(draft.body as object, this.values.recall('line'));
    }
    if (!path.startsWith('/tenant')) return draft;
    const { teamID, apiID, apiSecret } = this.#keys;
    const hasMembers = typeof draft.body === 'object' && !Array.isArray(draft.body);
    const way = chance.next();
    if (way < 0.15 && hasMembers) Object.assign(draft.body as object, this.#keys);
    else if (way < 0.3) draft.query.push(['teamID', teamID], ['apiID', apiID], ['apiSecret', apiSecret]);
    else {
      draft.query.push(['teamID', teamID]);
      draft.headers.push(['Authorization', basicOf(this.#keys)]);
    }
    return draft;
  }

  /** Makes most filters use real fields, and often existing values, and makes most pages small. */
  #aim(draft: Draft, filters: Record<string, unknown>[]): void {
    const chance = this.#chance;
    for (const filter of filters) {
      if (chance.is(0.9)) filter['field'] = chance.pick(this.#names);
      const known = chance.is(0.5) ? this.values.recall(filter['field'] as string) : undefined;
      if (known !== undefined) filter['value'] = known;
    }
    const isBounded = draft.query.some(([name]) => name === 'maxReturn');
    if (!isBounded && (filters.length === 0 || chance.is(0.8))) draft.query.push(['maxReturn', '3']);
  }
}

const isListOfObjects = (body: unknown): body is Record<string, unknown>[] =>
  Array.isArray(body) && body.every((one) => typeof one === 'object' && one !== null);

const NO_BYTES = Buffer.alloc(0);

/** Writes a call as bytes. Headers omit characters that a line of HTTP cannot contain. */
function write({ method, path, query, headers, body, raw }: Draft, chance: Chance): Buffer {
  const content = raw ?? (body === undefined ? NO_BYTES : bytesOf(body));
  const isChunked = content.length > 0 && chance.is(0.05);
  const lines = headers.map(([name, value]) => `${name}: ${value.replaceAll(/[^ -~]/g, '')}\r\n`).join('');
  const framing = isChunked
    ? 'Transfer-Encoding: chunked\r\n'
    : content.length > 0
      ? `Content-Length: ${content.length}\r\n`
      : '';
  const search = query
    .map(([name, value]) => `${encodeName(name)}=${encodeURIComponent(value.toWellFormed())}`)
    .join('&');
  const target = search === '' ? path : `${path}?${search}`;
  const head = `${method} ${target} HTTP/1.1\r\nHost: storeroom\r\n${lines}${framing}\r\n`;
  if (!isChunked) return Buffer.concat([Buffer.from(head), content]);
  return Buffer.concat([
    Buffer.from(`${head}${content.length.toString(16)}\r\n`),
    content,
    Buffer.from('\r\n0\r\n\r\n'),
  ]);
}

const encodeName = (name: string): string => name.replaceAll(/[^!-~]/g, (character) => encodeURIComponent(character));
