/**
 * What the dashboard's routes take: a schema for each body and query. The types of the pages' calls follow from them
 * (interface.ts).
 */
import { ROLES } from '../../account/roles.ts';
import { CUSTOM_FIELD_TYPES, RECORD_TYPES, type RecordType } from '../../pims/fields.ts';
import { FIRST_STAGES } from '../../pims/stages.ts';
import { OVERLAPS } from '../../tenant/keys.ts';
import { flag, list, mapOf, object, oneOf, text } from './typed-schema.ts';

const LINES_MAX = 1000;
const filled = text({ minLength: 1 });
const email = text();
const password = text();
const role = oneOf(ROLES);

export const NOTHING = object({});
/** `code`: six digits, or a recovery code. */
export const SIGN_IN = object({ teamID: text(), email, password }, { code: text() });
export const LINK_TOKEN = object({ token: text() });
export const LINK_PASSWORD = object({ token: text(), password });

/** Without a sessionId: all other sessions of the user. */
export const SESSION_END = object({}, { sessionId: text({ pattern: '^[0-9a-f-]{1,64}$' }) });
export const PASSWORD_CHANGE = object({ password, newPassword: text() });
export const SECOND_FACTOR = object({ password, secret: text(), code: text() });
export const SECOND_FACTOR_PROOF = object({ password, code: text() });

/** `overlap`: how long the old keys stay good. */
export const KEY_REPLACEMENT = object({ password, overlap: oneOf(OVERLAPS) });
export const KEY_END = object({ apiID: text() });

export const USAGE_QUERY = object({}, { month: text({ pattern: '^\\d{4}-(0[1-9]|1[0-2])$' }) });
const any = text();
export const REQUESTS_QUERY = object({}, { status: any, operation: any, from: any, to: any, cursor: any });
export const REQUEST_QUERY = object({ requestID: filled });

export const APPROVAL = object({ ORDER_NUMBER: filled });
/** The names in `quantities` and `serials` are LINE_NUMBERs. Without quantities everything is invoiced. */
export const INVOICE = object({
  ORDER_NUMBER: filled,
  quantities: mapOf(text(), LINES_MAX),
  serials: mapOf(list(text()), LINES_MAX),
  tracking: list(text()),
});
export const NEW_FIELD = object({
  recordType: oneOf(Object.keys(RECORD_TYPES) as RecordType[]),
  name: text(),
  type: oneOf(CUSTOM_FIELD_TYPES),
});

export const SETTINGS = object({ name: text(), defaultStage: oneOf(FIRST_STAGES), strict: flag });
export const USER = object({ email });
export const USER_WITH_ROLE = object({ email, role });
/** `before`: number of the last record seen. */
export const AUDIT_QUERY = object({}, { before: text({ pattern: '^[1-9][0-9]{0,14}$' }) });
