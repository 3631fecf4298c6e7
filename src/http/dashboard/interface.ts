/** The JSON between the dashboard's pages and the service, under /dashboard/api, as types. Routes: route-table.ts. */
import type { AuditRecord } from '../../audit/audit.ts';
import type { Session, User } from '../../account/account-port.ts';
import type { Field, RecordType } from '../../pims/rules/fields.ts';
import type { TableImport } from '../../pims/import-rows.ts';
import type { HistoryEntry } from '../../pims/operations.ts';
import type { MovementKind } from '../../pims/writes/script.ts';
import type { FoundRequest, FoundRequestDetail, FoundRequests } from '../../request-log/logged-request.ts';
import type { Scope } from '../../tenant/keys.ts';
import type { RejectedCall } from '../../tenant/credentials.ts';
import type { KeyInfo, Tenant, TenantSettings } from '../../tenant/tenant-port.ts';
import type { WebhookView } from '../../webhooks/administration.ts';
import type { Delivery } from '../../webhooks/webhooks-port.ts';
import type { TypeOf } from '../operations/json-schema.ts';
import type { Readings } from '../observe/readings.ts';
import type { NOTHING, ROUTES } from './route-table.ts';

/** The responses. A route without one returns `{}`. */
interface Answers {
  'POST /sign-in': SessionView;
  'POST /link/check': LinkView;
  'POST /link': SessionView;
  'GET /session': SessionView;
  'GET /sessions': SessionsView;
  'POST /second-factor/begin': SecondFactorView;
  /** The codes are shown only once. */
  'POST /second-factor/enable': { recoveryCodes: string[] };
  'GET /keys': KeysView;
  'POST /keys': CreatedKeyView;
  'POST /keys/replace': IssuedKeyView;
  /** The webhooks, oldest first. */
  'GET /webhooks': { webhooks: WebhookView[] };
  'POST /webhooks': { id: string; secret: string };
  'POST /webhooks/test': { status: number | null; error: string | null; durationMs: number };
  'POST /webhooks/rotate': { secret: string; oldSecretEndsAt: string };
  /** The deliveries of the last 30 days, newest first. */
  'GET /webhooks/deliveries': { deliveries: (Omit<Delivery, 'number'> & { number: string })[]; next: string | null };
  'GET /usage': UsageView;
  'GET /requests': RequestsView;
  'GET /requests/single': RequestDetailView;
  'GET /requests/rejected': { calls: readonly RejectedCall[] };
  'POST /orders/approve': AdvancedOrderView;
  'POST /orders/invoice': AdvancedOrderView;
  'GET /orders/history': { entries: HistoryEntry[]; isWhole: boolean };
  'POST /orders/void': { ORDER_NUMBER: string };
  'POST /stock/receive': { QTY_ONHAND: string };
  'POST /stock/count': { QTY_ONHAND: string };
  'POST /stock/adjust': { QTY_ONHAND: string };
  'POST /stock/on-order': { QTY_ONORDER: string };
  'GET /stock/movements': MovementsView;
  'GET /stock/waiting': { orders: WaitingView[] };
  'GET /stock/serial': { units: { PART_CODE: string; ORDER_NUMBER: string }[] };
  'GET /orders/backorders': { numbers: string[] };
  'POST /parts': { PART_CODE: string };
  'POST /parts/update': { PART_CODE: string };
  'POST /imports': ImportView;
  'GET /fields': FieldsView;
  'GET /settings': SettingsView;
  'POST /settings': SettingsView;
  'GET /users': UsersView;
  'POST /users': UserLinkView;
  'POST /users/link': UserLinkView;
  'GET /audit': AuditView;
  'GET /audit/verify': AuditCheckView;
  'GET /operate': OperateView;
}

type Routes = typeof ROUTES;
export type RouteName = keyof Routes;
export type RouteWith<Method extends 'GET' | 'POST'> = Extract<RouteName, `${Method} ${string}`>;
type Sent<Terms, Key extends string> = TypeOf<Terms extends { [K in Key]: infer S } ? S : typeof NOTHING>;
export type BodyOf<Name extends RouteName> = Sent<Routes[Name], 'body'>;
export type QueryOf<Name extends RouteName> = Sent<Routes[Name], 'query'>;
export type AnswerOf<Name extends RouteName> = Name extends keyof Answers ? Answers[Name] : void;

export interface LinkView {
  teamID: string;
  email: string;
}

export interface SessionView {
  user: Pick<User, 'email' | 'role' | 'passwordSetAt'> & { hasSecondFactor: boolean; recoveryCodesLeft: number };
  tenant: { teamID: string; name: string };
  /** The calls of this month (UTC), and the limit, or null for no limit. */
  monthCalls: number;
  monthQuota: number | null;
  /** The latest end of the session, UTC ISO 8601. */
  endsAt: string;
  /** The address of the API: `https://host/tenant/api/pims/v1`; without the host if no public address is set. */
  baseURL: string;
  isOperator: boolean;
}

export interface SessionsView {
  sessions: (Pick<Session, 'sessionId' | 'createdAt' | 'seenAt' | 'client' | 'agent'> & { isThisOne: boolean })[];
}

export interface SecondFactorView {
  /** The secret in base32, for typing in. */
  secret: string;
  /** otpauth://…, for a QR code. */
  uri: string;
}

/** The current pairs, oldest first, then replaced pairs that have not ended. */
export interface KeysView {
  keys: (Pick<KeyInfo, 'name' | 'scope' | 'issuedAt' | 'issuedBy' | 'isReplaced'> & {
    apiID: string;
    /** The expiry, or null for a pair that does not expire. */
    endsAt: string | null;
    /** The exact number of calls this month (UTC). */
    monthCalls: number;
    lastUsedAt: string | null;
    lastUsedFrom: string | null;
    /** The last time the secret was sent in a URL, which logs may have kept. */
    lastUsedInUrlAt: string | null;
  })[];
}
interface NewPairView {
  teamID: string;
  apiID: string;
  /** The secret, which is shown only once. */
  apiSecret: string;
}
export interface CreatedKeyView extends NewPairView {
  name: string;
  scope: Scope;
  /** The expiry, or null if the pair does not expire. */
  endsAt: string | null;
}
export interface IssuedKeyView extends NewPairView {
  /** The time at which the previous keys end or ended. */
  oldKeysEndAt: string;
}

export interface UsageView {
  month: string;
  total: number;
  refused: number;
  monthQuota: number | null;
  rows: { day: string; operation: string; calls: number; refused: number }[];
  /** Calls by pair of keys. Other calls were made in the explorer, or before calls were counted by pair. */
  byKey: { apiID: string; name: string; calls: number }[];
  /** Months with calls, newest first. */
  months: { month: string; calls: number }[];
}

export interface CalledPath {
  method: string;
  /** The path of the API, also for calls of the explorer. */
  path: string;
}
export type RequestView = FoundRequest & CalledPath;
/** `remedy`: what to do about a refusal; null for a call that succeeded. */
export type RequestDetailView = FoundRequestDetail & CalledPath & { remedy: string | null };
export type RequestsView = Omit<FoundRequests, 'requests'> & { requests: RequestView[] };

export interface AdvancedOrderView {
  ORDER_NUMBER: string;
  ORDER_TYPE: string;
  /** Number of the sales order with the open units, or null if there are none. */
  backorder: string | null;
}

/** The movements, newest first, at most 100. `next` is the `before` of the next page. */
export interface MovementsView {
  movements: {
    number: number;
    at: string;
    kind: MovementKind;
    quantity: string;
    /** QTY_ONHAND before the movement. */
    before: string;
    after: string;
    reason: string;
    by: string;
    orderNumber: string;
    serials: string[];
  }[];
  next: number | null;
}
export interface WaitingView {
  ORDER_NUMBER: string;
  ORDER_DATE: string;
  CUSTOMER_CODE: string;
  BNAME: string;
  /** The units that the order waits for. */
  quantity: string;
  /** Whether enough units are on hand for this order after the older orders are filled. */
  canFill: boolean;
}

export type ImportView = TableImport;

export type FieldView = Omit<Field, 'description' | 'required'>;
export interface FieldsView {
  fields: Record<RecordType, FieldView[]>;
}

/** The operator sets `monthQuota` and `callsPerSecond`; owners can set the other settings. */
export interface SettingsView extends TenantSettings, Pick<Tenant, 'name' | 'createdAt'> {
  teamID: string;
  requestLogDays: number;
}

export interface UsersView {
  users: (Pick<User, 'email' | 'role' | 'createdAt'> & {
    hasPassword: boolean;
    hasSecondFactor: boolean;
    isYou: boolean;
  })[];
}
export interface UserLinkView {
  /** One-time link to set a password, shown only once. Like `baseURL`, it may have no host. */
  link: string;
  endsAt: string;
}

/** The records, newest first, at most 100. `next` is the `before` of the next page. */
export interface AuditView {
  records: AuditRecord[];
  next: number | null;
}
export interface AuditCheckView {
  isWhole: boolean;
  records: number;
  /** Hash of the last record. Kept elsewhere, it proves later that no earlier record was changed. */
  head: string;
  fault: { number: number; reason: string } | null;
}

/** The state of the node that answers. */
export interface OperateView extends Pick<Readings, 'ready' | 'usable' | 'meteringFailures' | 'webhooks'> {
  version: string;
  upSeconds: number;
  store: 'SQLite' | 'PostgreSQL';
  disk: Pick<NonNullable<Readings['disk']>, 'freeBytes' | 'sizeBytes' | 'lowBytes'> | null;
  requestLog: Pick<Readings['requestLog'], 'isStopped' | 'dropped'>;
  /** The state of the backups; null if the service makes none. */
  backup: NonNullable<Readings['backup']> | null;
  /** The oldest teams, at most 100, with their calls this month (UTC). */
  teams: { teamID: string; name: string; createdAt: string; monthCalls: number }[];
}
