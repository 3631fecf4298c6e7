/**
 * Lists every route below /dashboard/api with the least role that may use it and a request that succeeds. `listRoutes`
 * returns the routes of the service, so that a test notices a route without a row here.
 */
import { ROUTES } from '../../src/http/dashboard/route-table.ts';
import { bodyOf, type GoodCall } from '../kit/operations.ts';
import { BASE_PATH, type Service } from '../kit/service.ts';
import { codeOf, NEW_PASSWORD, type Role, type Visitor } from './visitor.ts';

const WRITES = ['createOrder', 'addLineItem', 'updateLineItem', 'updateOrder', 'cancelOrder', 'createCustomer'].concat(
  'updateCustomer',
  'batch',
);

/** A secret of a second factor, in the form that /second-factor/begin returns. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

/** Returns a password and a code. The code is made when the request is sent. */
const proofOf = ({ password, service }: Visitor, steps = 0): object => ({
  password,
  get code(): string {
    return codeOf(SECRET, service, steps);
  },
});

/** Everything of a tenant that a request can name. */
export interface Named {
  readonly teamID: string;
  /** API ID of the current pair. */
  readonly apiID: string;
  /** API ID of a replaced pair that still works. */
  readonly oldApiID: string;
  /** Email address of a user who sends no requests. */
  readonly email: string;
  readonly sessionId: string;
  readonly requestID: string;
  readonly cursor: string;
  /** An order that can be approved. */
  readonly quote: string;
  /** An order that can be invoiced. */
  readonly salesOrder: string;
  readonly invoice: string;
  /** An invoice whose line has its number as LINE_REF_LOCK_CODE. */
  readonly returned: string;
  /** A part in stock. */
  readonly part: string;
  readonly webhook: string;
  /** Token of an unused one-time link. */
  readonly linkToken: string;
  readonly calls: readonly GoodCall[];
}

export interface Row {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  /** The least role that may use the route, or a value that says that it needs no session. */
  readonly role: Role | 'nobody';
  readonly query?: Record<string, string>;
  readonly body?: unknown;
}

/** Counts requests, so that `unique` returns a different name each time. */
let requests = 0;
const unique = (): string => `R${process.pid}X${++requests}`;

type Ask<T> = (named: Named, visitor: Visitor) => T;
type Make = Ask<Pick<Row, 'query' | 'body'>>;
const nothing: Make = () => ({});
const empty: Make = () => ({ body: {} });
const own =
  (make: Ask<object>): Make =>
  (...given) => ({ body: make(...given) });

/** The operations of the back office. */
const OFFICE: readonly [method: 'POST' | 'PUT', path: string, make: Ask<object>][] = [
  ['POST', '/orders/approve', ({ quote }) => ({ ORDER_NUMBER: quote })],
  ['POST', '/orders/invoice', ({ salesOrder }) => ({ ORDER_NUMBER: salesOrder })],
  ['POST', '/orders/void', ({ invoice }) => ({ ORDER_NUMBER: invoice })],
  [
    'PUT',
    '/orders/return',
    ({ returned }) => ({
      ORDER_NUMBER: returned,
      lines: [{ LINE_REF_LOCK_CODE: returned, QUANTITY: '1' }],
    }),
  ],
  ['PUT', '/inventory/create', () => ({ PART_CODE: unique() })],
  ['POST', '/inventory/update', ({ part }) => ({ PART_CODE: part, BARCODE: unique() })],
  ['POST', '/stock/receive', ({ part }) => ({ PART_CODE: part, QUANTITY: '1' })],
  ['POST', '/stock/count', ({ part }) => ({ PART_CODE: part, QUANTITY: '7' })],
  ['POST', '/stock/adjust', ({ part }) => ({ PART_CODE: part, QUANTITY: '-1', REASON: 'broken' })],
];

/** The routes, except the operations. Requests that end the session, or change what others need, are at the end. */
const ROWS: readonly [method: 'GET' | 'POST', path: string, role: Row['role'], make: Make][] = [
  ['GET', '/session', 'viewer', nothing],
  ['GET', '/sessions', 'viewer', nothing],
  ['GET', '/keys', 'viewer', nothing],
  ['GET', '/webhooks', 'viewer', nothing],
  ['GET', '/webhooks/deliveries', 'viewer', ({ webhook: id }) => ({ query: { id } })],
  ['POST', '/webhooks/test', 'developer', own(({ webhook: id }) => ({ id }))],
  ['POST', '/webhooks/replay', 'developer', own(({ webhook: id }) => ({ id }))],
  ['POST', '/webhooks/pause', 'developer', own(({ webhook: id }) => ({ id }))],
  ['POST', '/webhooks/rotate', 'developer', own(({ webhook: id }) => ({ id }))],
  ['POST', '/webhooks/remove', 'developer', own(({ webhook: id }) => ({ id }))],
  [
    'POST',
    '/webhooks',
    'developer',
    own(() => ({ url: `https://receiver.invalid/${unique()}`, types: ['customers'] })),
  ],
  ['GET', '/usage', 'viewer', nothing],
  ['GET', '/requests', 'viewer', ({ cursor }) => ({ query: { cursor } })],
  ['GET', '/requests/rejected', 'developer', nothing],
  ['GET', '/requests/single', 'viewer', ({ requestID }) => ({ query: { requestID } })],
  ['GET', '/fields', 'viewer', nothing],
  ['GET', '/settings', 'viewer', nothing],
  ['GET', '/users', 'owner', nothing],
  ['GET', '/audit', 'owner', nothing],
  ['GET', '/audit/verify', 'owner', nothing],
  ['GET', '/operate', 'owner', nothing],
  ['POST', '/operate/backup', 'owner', empty],
  ['POST', '/fields', 'developer', own(() => ({ recordType: 'orders', name: unique(), type: 'text' }))],
  ['GET', '/stock/movements', 'viewer', ({ part }) => ({ query: { PART_CODE: part } })],
  ['GET', '/stock/waiting', 'viewer', ({ part }) => ({ query: { PART_CODE: part } })],
  ['GET', '/stock/serial', 'viewer', () => ({ query: { serial: 'SN1' } })],
  [
    'POST',
    '/imports',
    'clerk',
    own(({ part }) => ({
      recordType: 'inventory',
      file: 'parts.csv',
      fields: ['PART_CODE', 'BARCODE'],
      rows: [[part, unique()]],
      updates: true,
      isDry: false,
    })),
  ],
  ['GET', '/orders/history', 'viewer', ({ quote }) => ({ query: { ORDER_NUMBER: quote } })],
  ['POST', '/settings', 'owner', own(() => ({ name: unique(), defaultStage: 'quote', strict: false }))],
  ['POST', '/users', 'owner', own(({ email }) => ({ email: `${unique()}-${email}`.toLowerCase(), role: 'viewer' }))],
  ['POST', '/users/role', 'owner', own(({ email }) => ({ email, role: 'developer' }))],
  ['POST', '/users/link', 'owner', own(({ email }) => ({ email }))],
  ['POST', '/users/remove', 'owner', own(({ email }) => ({ email }))],
  ['POST', '/keys/end', 'developer', own(({ oldApiID }) => ({ apiID: oldApiID }))],
  ['POST', '/keys/replace', 'developer', own(() => ({ overlap: '1h' }))],
  ['POST', '/keys/rename', 'developer', own(({ apiID }) => ({ apiID, name: unique() }))],
  ['POST', '/keys', 'developer', own(() => ({ name: unique(), scope: 'read' }))],
  ['POST', '/confirm', 'viewer', own((_named, { password }) => ({ password }))],
  ['POST', '/second-factor/begin', 'viewer', empty],
  [
    'POST',
    '/second-factor/enable',
    'viewer',
    own((_named, visitor) => Object.assign(proofOf(visitor), { secret: SECRET })),
  ],
  ['POST', '/second-factor/disable', 'viewer', own((_named, visitor) => proofOf(visitor, 1))],
  ['POST', '/sessions/end', 'viewer', own(({ sessionId }) => ({ sessionId }))],
  ['POST', '/sign-in', 'nobody', own((_named, { teamID, email, password }) => ({ teamID, email, password }))],
  ['POST', '/password', 'viewer', own((_named, { password }) => ({ password, newPassword: NEW_PASSWORD }))],
  ['POST', '/sign-out', 'viewer', empty],
  ['POST', '/link/check', 'nobody', own(({ linkToken }) => ({ token: linkToken }))],
  ['POST', '/link', 'nobody', own(({ linkToken }) => ({ token: linkToken, password: NEW_PASSWORD }))],
];

/** Returns all routes, with requests of this visitor for the data in `named`. */
export function rowsOf(named: Named, visitor: Visitor): Row[] {
  const rows = ROWS.map(([method, path, role, make]): Row => ({ method, path, role, ...make(named, visitor) }));
  const operations = named.calls.flatMap((call): Row[] => {
    const isWrite = WRITES.includes(call.operation);
    const { method, path, query } = call;
    const body = bodyOf(call);
    const row = { method, query, ...(body !== undefined && { body }) };
    const explorer: Row = { ...row, path: `/explorer${path}`, role: isWrite ? 'developer' : 'viewer' };
    return [explorer, { ...row, path: `/records${path}`, role: isWrite ? 'clerk' : 'viewer' }];
  });
  const others = { ...named, quote: `${named.quote}-2`, salesOrder: `${named.salesOrder}-2` };
  const office = OFFICE.flatMap(([method, path, make]): Row[] => [
    { method, path: `/explorer${path}`, role: 'developer', body: make(others, visitor) },
    { method, path: `/records${path}`, role: 'clerk', body: make(named, visitor) },
  ]);
  // The operations are first because some of the rows end sessions.
  return [...operations, ...office, ...rows];
}

/** Returns `METHOD /path` of every route of the service, and of the operations below /explorer and /records. */
export async function listRoutes(service: Service): Promise<string[]> {
  const { paths } = (await (await fetch(`${service.origin}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  const ofTheApi = Object.entries(paths).filter(([path]) => path.startsWith(BASE_PATH));
  const operations = ofTheApi.flatMap(([path, methods]) =>
    Object.keys(methods).flatMap((method) =>
      ['/explorer', '/records'].map((entry) => `${method.toUpperCase()} ${entry}${path.slice(BASE_PATH.length)}`),
    ),
  );
  return [...Object.keys(ROUTES), ...operations].toSorted();
}

/** Sends a row as the pages would. The given headers replace the usual ones. */
export function sendRow(
  visitor: Visitor,
  { method, path, query, body }: Row,
  headers: Record<string, string> = {},
): ReturnType<Visitor['send']> {
  const search = query === undefined ? '' : `?${new URLSearchParams(query).toString()}`;
  const text = body === undefined ? undefined : JSON.stringify(body);
  return visitor.send(method, `/dashboard/api${path}${search}`, text, headers);
}
