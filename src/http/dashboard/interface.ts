/**
 * The JSON between the dashboard's pages and the service, under /dashboard/api: the routes, what each takes and
 * answers. Types only.
 */
import type { AuditRecord } from '../../audit/entry.ts';
import type { Role } from '../../account/roles.ts';
import type { Field, RecordType } from '../../pims/fields.ts';
import type { FoundRequest, FoundRequestDetail, FoundRequests } from '../../request-log/logged-request.ts';
import type { TenantSettings } from '../../tenant/port.ts';
import type * as schemas from './request-schemas.ts';
import type { TypeOf } from './typed-schema.ts';

type Sent<Name extends keyof typeof schemas> = TypeOf<(typeof schemas)[Name]>;

/**
 * A route without a body takes `{}`, a route without an answer answers `{}`. Every route may answer 401 NOT_SIGNED_IN
 * and 403 ROLE_NOT_ALLOWED; errors have the body of the API's errors.
 */
interface Routes {
  /** 401 SIGN_IN_REFUSED · 401 SECOND_FACTOR_NEEDED: send it again with `code` · 429 TOO_MANY_ATTEMPTS. */
  'POST /sign-in': { body: Sent<'SIGN_IN'>; answer: SessionView };
  /** Whom a one-time link is for. 400 LINK_INVALID. */
  'POST /link/check': { body: Sent<'LINK_TOKEN'>; answer: LinkView };
  /** Sets the password and signs in. 400 LINK_INVALID, WEAK_PASSWORD. */
  'POST /link': { body: Sent<'LINK_PASSWORD'>; answer: SessionView };
  'POST /sign-out': {};
  'GET /session': { answer: SessionView };
  'GET /sessions': { answer: SessionsView };
  'POST /sessions/end': { body: Sent<'SESSION_END'> };
  /** All other sessions end. 401 SIGN_IN_REFUSED, 400 WEAK_PASSWORD. */
  'POST /password': { body: Sent<'PASSWORD_CHANGE'> };
  /** A new secret, in force once it is enabled. */
  'POST /second-factor/begin': { answer: SecondFactorView };
  /** 401 SIGN_IN_REFUSED: wrong password or code. */
  'POST /second-factor/enable': { body: Sent<'SECOND_FACTOR'>; answer: RecoveryCodesView };
  'POST /second-factor/disable': { body: Sent<'SECOND_FACTOR_PROOF'> };

  'GET /keys': { answer: KeysView };
  /** 401 SIGN_IN_REFUSED: wrong password. */
  'POST /keys/replace': { body: Sent<'KEY_REPLACEMENT'>; answer: IssuedKeyView };
  /** Ends a replaced key at once. 404 NOT_FOUND. */
  'POST /keys/end': { body: Sent<'KEY_END'> };

  /** This month unless another is asked for. */
  'GET /usage': { query: Sent<'USAGE_QUERY'>; answer: UsageView };
  'GET /requests': { query: Sent<'REQUESTS_QUERY'>; answer: RequestsView };
  /** 404 NOT_FOUND. */
  'GET /requests/single': { query: Sent<'REQUEST_QUERY'>; answer: RequestDetailView };

  /** Makes a worksheet or quote a sales order. */
  'POST /orders/approve': { body: Sent<'APPROVAL'>; answer: AdvancedOrderView };
  /** 400 QUANTITY_NOT_ALLOWED, SERIALS_NOT_ALLOWED, STAGE_NOT_ALLOWED. */
  'POST /orders/invoice': { body: Sent<'INVOICE'>; answer: AdvancedOrderView };
  'GET /fields': { answer: FieldsView };
  /** Adds a custom field. 400 COMMAND_REFUSED. */
  'POST /fields': { body: Sent<'NEW_FIELD'> };

  'GET /settings': { answer: SettingsView };
  'POST /settings': { body: Sent<'SETTINGS'>; answer: SettingsView };
  'GET /users': { answer: UsersView };
  'POST /users': { body: Sent<'USER_WITH_ROLE'>; answer: UserLinkView };
  /** A new link, which takes password and second factor away once it is used. */
  'POST /users/link': { body: Sent<'USER'>; answer: UserLinkView };
  /** 400 LAST_OWNER. */
  'POST /users/role': { body: Sent<'USER_WITH_ROLE'> };
  'POST /users/remove': { body: Sent<'USER'> };
  'GET /audit': { query: Sent<'AUDIT_QUERY'>; answer: AuditView };
  'GET /audit/verify': { answer: AuditCheckView };
}

export type RouteName = keyof Routes;
/** The names of the routes with this method. */
export type RouteWith<Method extends 'GET' | 'POST'> = Extract<RouteName, `${Method} ${string}`>;
type Member<Name extends RouteName, Key extends string, Otherwise> = Routes[Name] extends { [K in Key]: infer T }
  ? T
  : Otherwise;
export type BodyOf<Name extends RouteName> = Member<Name, 'body', Sent<'NOTHING'>>;
export type QueryOf<Name extends RouteName> = Member<Name, 'query', Sent<'NOTHING'>>;
export type AnswerOf<Name extends RouteName> = Member<Name, 'answer', void>;

export interface LinkView {
  teamID: string;
  email: string;
}

export interface SessionView {
  user: { email: string; role: Role; hasSecondFactor: boolean; recoveryCodesLeft: number; passwordSetAt: string };
  tenant: { teamID: string; name: string };
  /** When it ends at the latest, UTC ISO 8601. */
  endsAt: string;
  /** Where the API is: `https://host/tenant/api/pims/v1`. */
  baseURL: string;
}

export interface SessionsView {
  sessions: {
    sessionId: string;
    createdAt: string;
    seenAt: string;
    client: string;
    agent: string;
    isThisOne: boolean;
  }[];
}

export interface SecondFactorView {
  /** Base32, for typing in. */
  secret: string;
  /** otpauth://…, for a QR code. */
  uri: string;
}
interface RecoveryCodesView {
  /** Shown this once. */
  recoveryCodes: string[];
}

/** The pair in force first, then replaced ones that have not ended. */
export interface KeysView {
  keys: {
    apiID: string;
    issuedAt: string;
    /** E-mail address, or `command line`. */
    issuedBy: string;
    /** null for the pair in force. */
    endsAt: string | null;
    lastUsedAt: string | null;
    lastUsedFrom: string | null;
    /** When its secret last came in a URL, where logs may have kept it. */
    lastUsedInUrlAt: string | null;
  }[];
}
export interface IssuedKeyView {
  teamID: string;
  apiID: string;
  /** Shown this once. */
  apiSecret: string;
  /** When the keys before it end, or ended. */
  oldKeysEndAt: string;
}

export interface UsageView {
  month: string;
  /** The same figure as `storeroom usage`. */
  total: number;
  refused: number;
  /** null: no limit. */
  monthQuota: number | null;
  rows: { day: string; operation: string; calls: number; refused: number }[];
  /** Months there are calls of, newest first. */
  months: { month: string; calls: number }[];
}

export interface CalledPath {
  method: string;
  /** The path of the API, also for calls of the explorer. */
  path: string;
}
export type RequestView = FoundRequest & CalledPath;
/** `remedy`: what to do about a refusal; null for a call that was answered. */
export type RequestDetailView = FoundRequestDetail & CalledPath & { remedy: string | null };
export type RequestsView = Omit<FoundRequests, 'requests'> & { requests: RequestView[] };

export interface AdvancedOrderView {
  ORDER_NUMBER: string;
  ORDER_TYPE: string;
  /** Number of the sales order that what is still open became; null when nothing is. */
  backorder: string | null;
}

/** `description` is for the contract. */
export type FieldView = Omit<Field, 'description'>;
export interface FieldsView {
  fields: Record<RecordType, FieldView[]>;
}

/** The limits are set by the operator. */
export interface SettingsView extends TenantSettings {
  teamID: string;
  name: string;
  createdAt: string;
  /** Requests are kept this long. */
  requestLogDays: number;
}

export interface UsersView {
  users: {
    email: string;
    role: Role;
    createdAt: string;
    hasPassword: boolean;
    hasSecondFactor: boolean;
    isYou: boolean;
  }[];
}
export interface UserLinkView {
  /** One-time link to set a password, shown this once. */
  link: string;
  endsAt: string;
}

/** Newest first, at most 100; `next` is the `before` of the next page. */
export interface AuditView {
  records: AuditRecord[];
  next: number | null;
}
export interface AuditCheckView {
  isWhole: boolean;
  records: number;
  /** Hash of the last record: kept elsewhere, it proves later that nothing before it was changed. */
  head: string;
  fault: { number: number; reason: string } | null;
}
