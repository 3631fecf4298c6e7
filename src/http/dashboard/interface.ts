/**
 * The shapes of the JSON between the dashboard's pages and the service, all under /dashboard/api: said once, for both sides. Types only, and the only file
 * the pages share with the service. A refusal is the error body of the API; its codes are those of errors.ts.
 */
import type { Role } from '../../account/roles.ts';
import type { Field, RecordType } from '../../pims/fields.ts';
import type { Overlap } from '../../tenant/keys.ts';
import type * as Logged from '../../request-log/logged-request.ts';
import type { TenantSettings } from '../../tenant/port.ts';

/** POST sign-in. 401 SIGN_IN_REFUSED, 401 SECOND_FACTOR_NEEDED (send again with `code`), 429 TOO_MANY_ATTEMPTS. Answers a SessionView. */
export interface SignInRequest {
  teamID: string;
  email: string;
  password: string;
  /** Six digits, or a recovery code. */
  code?: string;
}

/** POST link/check: whom a one-time link is for. 400 LINK_INVALID. */
export interface LinkCheckRequest {
  token: string;
}
export interface LinkView {
  teamID: string;
  email: string;
}
/** POST link: sets the password and signs in; 400 LINK_INVALID, WEAK_PASSWORD. Answers a SessionView. */
export interface LinkRequest extends LinkCheckRequest {
  password: string;
}

/** GET session. 401 NOT_SIGNED_IN. */
export interface SessionView {
  user: { email: string; role: Role; hasSecondFactor: boolean; recoveryCodesLeft: number; passwordSetAt: string };
  tenant: { teamID: string; name: string };
  /** When it ends at the latest, UTC ISO 8601. */
  endsAt: string;
  /** Where the API is: `https://host/tenant/api/pims/v1`. */
  baseURL: string;
}

/** POST sign-out {} · GET sessions · POST sessions/end, which ends one session, or all others of the user without a sessionId. */
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
export interface EndSessionRequest {
  sessionId?: string;
}

/** POST password. 401 SIGN_IN_REFUSED when the old one is wrong, 400 WEAK_PASSWORD. All other sessions end. Answers {}. */
export interface PasswordRequest {
  password: string;
  newPassword: string;
}

/** POST second-factor/begin {} gives a new secret; it is in force once enabled. */
export interface SecondFactorView {
  /** Base32, for typing in. */
  secret: string;
  /** otpauth://…, for a QR code. */
  uri: string;
}
/** POST second-factor/enable. 401 SIGN_IN_REFUSED: wrong password or code. Also gives new recovery codes where it is on already. */
export interface EnableSecondFactorRequest {
  password: string;
  secret: string;
  code: string;
}
export interface RecoveryCodesView {
  /** Shown this once. */
  recoveryCodes: string[];
}
/** POST second-factor/disable. */
export interface DisableSecondFactorRequest {
  password: string;
  code: string;
}

/** GET keys: the pair in force first, then replaced ones that have not ended. */
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
/** POST keys/replace (developer). 401 SIGN_IN_REFUSED when the password is wrong. */
export interface ReplaceKeysRequest {
  password: string;
  /** How long the old keys stay good. */
  overlap: Overlap;
}
export interface IssuedKeyView {
  teamID: string;
  apiID: string;
  /** Shown this once. */
  apiSecret: string;
  /** When the keys before it end, or ended. */
  oldKeysEndAt: string;
}
/** POST keys/end (developer): ends a replaced key at once. 404 NOT_FOUND. Answers {}. */
export interface EndKeyRequest {
  apiID: string;
}

/** GET usage?month=YYYY-MM (this month when left out). */
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

/** GET requests?… takes a RequestsQuery and answers a RequestsView · GET requests/single?requestID=… answers a RequestDetailView, or 404 NOT_FOUND. */
export type { RequestsQuery } from '../../request-log/logged-request.ts';
interface Place {
  method: string;
  /** That of the API, also where it came by the explorer. */
  path: string;
}
export type RequestView = Logged.FoundRequest & Place;
/** `remedy`: what to do about a refusal; null for what was answered. */
export type RequestDetailView = Logged.FoundRequestDetail & Place & { remedy: string | null };
export type RequestsView = Omit<Logged.FoundRequests, 'requests'> & { requests: RequestView[] };

/**
 * Records: the six reads and the lookup, at `/dashboard/api/records` + the path of the operation (`/orders/query`, `/orders/single`,
 * `/orders/by_storefront_reference`, `/customers/…`, `/inventory/…`): same query (no teamID), body and answer as the API, not metered.
 * Explorer: all twelve operations at `/dashboard/api/explorer` + path, metered and in the request log as the user's; viewers only read.
 */
/** POST orders/approve (developer): makes a worksheet or quote a sales order. */
export interface ApproveRequest {
  ORDER_NUMBER: string;
}
/** POST orders/invoice (developer). Keys are LINE_NUMBERs; no quantities at all invoices everything. 400 QUANTITY_NOT_ALLOWED, SERIALS_NOT_ALLOWED, STAGE_NOT_ALLOWED. */
export interface InvoiceOrderRequest {
  ORDER_NUMBER: string;
  quantities: Record<string, string>;
  serials: Record<string, string[]>;
  tracking: string[];
}
export interface AdvancedOrderView {
  ORDER_NUMBER: string;
  ORDER_TYPE: string;
  /** Number of the sales order that what is still open became; null when nothing is. */
  backorder: string | null;
}

/** GET fields. */
export interface FieldsView {
  fields: Record<RecordType, Field[]>;
}
/** POST fields (developer): adds a custom field. 400 COMMAND_REFUSED. Answers {}. */
export interface AddFieldRequest {
  recordType: RecordType;
  name: string;
  type: 'text' | 'number' | 'date' | 'flag';
}

/** GET settings. The limits are set by the operator. */
export interface SettingsView extends TenantSettings {
  teamID: string;
  name: string;
  createdAt: string;
  /** Requests are kept this long. */
  requestLogDays: number;
}
/** POST settings (owner). Answers the SettingsView. */
export interface SettingsRequest {
  name: string;
  defaultStage: TenantSettings['defaultStage'];
  strict: boolean;
}

/** GET users (owner). */
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
/** POST users (owner) makes a user; POST users/link gives one a new link, which takes password and second factor away once it is used; both answer a UserLinkView. */
export interface NewUserRequest {
  email: string;
  role: Role;
}
export interface UserRequest {
  email: string;
}
export interface UserLinkView {
  /** One-time link to set a password, shown this once. */
  link: string;
  endsAt: string;
}
/** POST users/role (owner). 400 LAST_OWNER. POST users/remove takes a UserRequest. Both answer {}. */
export type UserRoleRequest = NewUserRequest;

/** GET audit?before=… (owner): newest first, at most 100; `next` is the `before` of the next page. */
export interface AuditView {
  records: {
    number: number;
    at: string;
    actor: string;
    action: string;
    target: string;
    client: string;
    detail: Record<string, string>;
    hash: string;
  }[];
  next: number | null;
}
/** GET audit/verify (owner). */
export interface AuditCheckView {
  isWhole: boolean;
  records: number;
  /** Hash of the last record: kept elsewhere, it proves later that nothing before it was changed. */
  head: string;
  fault: { number: number; reason: string } | null;
}
