/**
 * The routes of the dashboard: the least role of each (none: no session is needed), the proof that a change needs, and
 * the schemas of query and body. A route without a body accepts `{}`. interface.ts derives types from the routes.
 */
import type { ProofNeed } from '../../account/users.ts';
import { ROLES, type Role } from '../../account/roles.ts';
import { CHANGED_TYPES } from '../../pims/changes.ts';
import { CUSTOM_FIELD_TYPES, RECORD_TYPES, type RecordType } from '../../pims/rules/fields.ts';
import { FIELDS_MAX } from '../../pims/rules/record-bounds.ts';
import { FIRST_STAGES } from '../../pims/rules/stages.ts';
import { DAYS_MAX, OVERLAPS, SCOPES } from '../../tenant/keys.ts';
import { EVENTS, URL_CHARACTERS_MAX } from '../../webhooks/webhooks.ts';
import {
  listOf,
  matching,
  objectOf,
  oneOf,
  required,
  textOf,
  type Members,
  type Schema,
  type TypedSchema,
} from '../operations/json-schema.ts';

export interface RouteTerms {
  readonly role?: Role;
  /** The proof that a change needs, by default a recent one. Each change with a role must name it (decision 0023). */
  readonly proof?: ProofNeed;
  readonly query?: Schema;
  readonly body?: Schema;
}
type ChangeTerms = RouteTerms & ({ readonly role?: never } | { readonly proof: ProofNeed });

const LINES_MAX = 1000;
const any = textOf();
const filled = required();
const flag: TypedSchema<boolean> = { type: 'boolean' };
/** Null removes the limit. */
const quota: TypedSchema<number | null> = { type: ['integer', 'null'], minimum: 1, maximum: 999_999_999_999_999 };
const days: TypedSchema<number> = { type: 'integer', minimum: 1, maximum: DAYS_MAX };
/** Describes an object with values of this schema by LINE_NUMBER. */
const byLine = <T>(values: TypedSchema<T>): TypedSchema<Record<string, T>> => ({
  type: 'object',
  additionalProperties: values,
  maxProperties: LINES_MAX,
});
const STOCK = { PART_CODE: filled, quantity: filled };
const SERIALS = listOf(any, { maxItems: 1000 });
const reason = textOf(undefined, { maxLength: 500 });
/** The number of a delivery, a movement or an audit record. */
const position = matching('^[1-9][0-9]{0,14}$');
/** Values by field. */
const RECORD: TypedSchema<Record<string, string>> = {
  type: 'object',
  additionalProperties: any,
  maxProperties: FIELDS_MAX,
};
const WEBHOOK = { id: filled };
const USER = { email: any };
const USER_WITH_ROLE = { email: any, role: oneOf(ROLES) };
const INVOICE = {
  ORDER_NUMBER: filled,
  quantities: byLine(any),
  serials: byLine(listOf(any)),
  tracking: listOf(any),
};
const recordType = oneOf(Object.keys(RECORD_TYPES) as RecordType[]);
const IMPORT = {
  recordType,
  file: filled,
  fields: listOf(any, { minItems: 1, maxItems: FIELDS_MAX }),
  rows: listOf(listOf(any, { maxItems: FIELDS_MAX }), { maxItems: 200 }),
  updates: flag,
  isDry: flag,
};

export const NOTHING = objectOf({});

/** Describes a read by the least role and the members of its query. */
const read = <Needed extends Members, Optional extends Members = Needed>(
  role: Role,
  needed: Needed,
  optional?: Optional,
) => ({ role, query: objectOf(needed, optional) });
/** Describes a change by the least role, the proof that it needs, and the members of its body. */
const change = <Needed extends Members, Optional extends Members = Needed>(
  role: Role,
  proof: ProofNeed,
  needed: Needed,
  optional?: Optional,
) => ({ role, proof, body: objectOf(needed, optional) });

/**
 * A comment names typical refusals of its route. Every route with a role can also return 401
 * NOT_SIGNED_IN and 403 ROLE_NOT_ALLOWED, and a route that needs a recent proof 403 PROOF_NEEDED. Errors have the body
 * of the API's errors.
 */
export const ROUTES = {
  /** `code` is six digits or a recovery code. SIGN_IN_REFUSED, TOO_MANY_ATTEMPTS; SECOND_FACTOR_NEEDED: send a code. */
  'POST /sign-in': { body: objectOf({ teamID: any, email: any, password: any }, { code: any }) },
  /** Returns the user of a one-time link. LINK_INVALID. */
  'POST /link/check': { body: objectOf({ token: any }) },
  /** Sets the password and signs in. LINK_INVALID, WEAK_PASSWORD. */
  'POST /link': { body: objectOf({ token: any, password: any }) },
  /** Proves the user's identity for five minutes. SIGN_IN_REFUSED, SECOND_FACTOR_NEEDED, TOO_MANY_ATTEMPTS. */
  'POST /confirm': change('viewer', 'sent', { password: any }, { code: any }),
  'POST /sign-out': change('viewer', 'none', {}),
  'GET /session': { role: 'viewer' },
  'GET /sessions': { role: 'viewer' },
  /** Ends one session, or all other sessions of the user if no sessionId is sent. */
  'POST /sessions/end': change('viewer', 'none', {}, { sessionId: matching('^[0-9a-f-]{1,64}$') }),
  /** Changes the password and ends all other sessions. SIGN_IN_REFUSED, WEAK_PASSWORD. */
  'POST /password': change('viewer', 'sent', { password: any, newPassword: any }),
  /** Returns a new secret, which the next route enables. */
  'POST /second-factor/begin': change('viewer', 'none', {}),
  /** Enables two-step verification, or replaces it with a `presentCode`. SIGN_IN_REFUSED, SECOND_FACTOR_NEEDED. */
  'POST /second-factor/enable': change(
    'viewer',
    'sent',
    { password: any, secret: any, code: any },
    { presentCode: any },
  ),
  'POST /second-factor/disable': change('viewer', 'sent', { password: any, code: any }),

  'GET /keys': { role: 'viewer' },
  /** Creates a pair, which expires after `days`. COMMAND_REFUSED for a wrong name or too many pairs. */
  'POST /keys': change('developer', 'recent', { name: any, scope: oneOf(SCOPES) }, { days }),
  /**
   * Replaces the pair with this name; without a name, the pair `default`, or else the oldest. The old keys stay valid
   * for the time `overlap`. COMMAND_REFUSED.
   */
  'POST /keys/replace': change('developer', 'recent', { overlap: oneOf(OVERLAPS) }, { name: any }),
  /** Renames a pair. NOT_FOUND; COMMAND_REFUSED for a wrong name. */
  'POST /keys/rename': change('developer', 'recent', { apiID: filled, name: any }),
  /** Ends a pair at once. NOT_FOUND. */
  'POST /keys/end': change('developer', 'recent', { apiID: any }),

  'GET /webhooks': { role: 'viewer' },
  /** An empty list of types means all. COMMAND_REFUSED for a wrong URL or too many endpoints. */
  'POST /webhooks': change('developer', 'recent', {
    url: textOf(undefined, { maxLength: URL_CHARACTERS_MAX }),
    types: listOf(oneOf([...CHANGED_TYPES, ...EVENTS])),
  }),
  'POST /webhooks/remove': change('developer', 'recent', WEBHOOK),
  /** Sends a message of the type `test`, and waits for the response of the receiver. */
  'POST /webhooks/test': change('developer', 'none', WEBHOOK),
  'POST /webhooks/pause': change('developer', 'none', WEBHOOK),
  /** Resumes deliveries after the change `after`, or else after the last delivery. COMMAND_REFUSED, CHANGES_GONE. */
  'POST /webhooks/replay': change('developer', 'none', { id: filled }, { after: matching('^[0-9]{1,15}$') }),
  'POST /webhooks/rotate': change('developer', 'recent', WEBHOOK),
  /** `before` is the number of the last delivery seen. */
  'GET /webhooks/deliveries': read('viewer', { id: filled }, { before: position }),

  /** Returns the usage of `month`, by default of this month. */
  'GET /usage': read('viewer', {}, { month: matching('^\\d{4}-(0[1-9]|1[0-2])$') }),
  'GET /requests': read(
    'viewer',
    {},
    { status: any, operation: any, key: any, code: any, order: any, from: any, to: any, cursor: any },
  ),
  /** The last calls to this node that had no valid keys, newest first. */
  'GET /requests/rejected': { role: 'developer' },
  /** NOT_FOUND. */
  'GET /requests/single': read('viewer', { requestID: filled }),

  /** Makes a worksheet or quote a sales order. */
  'POST /orders/approve': change('clerk', 'none', { ORDER_NUMBER: filled }),
  /**
   * The names in `quantities` and `serials` are LINE_NUMBERs. Without quantities, everything is invoiced.
   * QUANTITY_NOT_ALLOWED, SERIALS_NOT_ALLOWED, STAGE_NOT_ALLOWED.
   */
  'POST /orders/invoice': change('clerk', 'none', INVOICE),
  /** The changes of an order, newest first, from the change feed. */
  'GET /orders/history': read('viewer', { ORDER_NUMBER: filled }),
  /** Voids an invoice: its units and serial numbers are in stock again. ORDER_NOT_FOUND, STAGE_NOT_ALLOWED. */
  'POST /orders/void': change('clerk', 'none', { ORDER_NUMBER: filled, reason }),
  /** This route and the next three: NOT_FOUND, QUANTITY_NOT_ALLOWED, SERIALS_NOT_ALLOWED. */
  'POST /stock/receive': change('clerk', 'none', { ...STOCK, serials: SERIALS, reason }),
  'POST /stock/count': change('clerk', 'none', { ...STOCK, reason }, { serials: SERIALS }),
  /** MISSING_FIELD without a reason. */
  'POST /stock/adjust': change('clerk', 'none', { ...STOCK, reason }, { serials: SERIALS }),
  'POST /stock/on-order': change('clerk', 'none', STOCK),
  /** `before` is the number of the last movement seen. */
  'GET /stock/movements': read('viewer', { PART_CODE: filled }, { before: position }),
  'GET /stock/waiting': read('viewer', { PART_CODE: filled }),
  /** The parts that have a unit with this serial number, and the invoice that sold it. */
  'GET /stock/serial': read('viewer', { serial: filled }),
  /** The numbers of open backorders, newest first, at most 100. */
  'GET /orders/backorders': { role: 'viewer' },
  /** Creates a part. CODE_TAKEN, and the codes for fields and values of the API. */
  'POST /parts': change('clerk', 'none', { values: RECORD }),
  /** NOT_FOUND. */
  'POST /parts/update': change('clerk', 'none', { PART_CODE: filled, values: RECORD }),
  /** Imports at most 200 rows of a table. `isDry` only checks them. UNKNOWN_FIELD, COMMAND_REFUSED. */
  'POST /imports': change('clerk', 'none', IMPORT),
  'GET /fields': { role: 'viewer' },
  /** Adds a custom field. COMMAND_REFUSED. */
  'POST /fields': change('developer', 'none', { recordType, name: any, type: oneOf(CUSTOM_FIELD_TYPES) }),

  'GET /settings': { role: 'viewer' },
  'POST /settings': change(
    'owner',
    'recent',
    { name: any, defaultStage: oneOf(FIRST_STAGES), strict: flag },
    { ownQuota: quota },
  ),
  'GET /users': { role: 'owner' },
  'POST /users': change('owner', 'recent', USER_WITH_ROLE),
  /** Issues a new link. Using it sets a new password and turns off two-step verification. */
  'POST /users/link': change('owner', 'recent', USER),
  /** LAST_OWNER. */
  'POST /users/role': change('owner', 'recent', USER_WITH_ROLE),
  'POST /users/remove': change('owner', 'recent', USER),
  /** `before` is the number of the last record seen. */
  'GET /audit': read('owner', {}, { before: position }),
  'GET /audit/verify': { role: 'owner' },

  /** Only for the operator's team. NOT_FOUND for others. */
  'GET /operate': { role: 'owner' },
  /** Begins a backup, and does not wait for it. NOT_FOUND; COMMAND_REFUSED if no backups are scheduled. */
  'POST /operate/backup': change('owner', 'recent', {}),
} as const satisfies Record<`GET ${string}`, RouteTerms> & Record<`POST ${string}`, ChangeTerms>;
