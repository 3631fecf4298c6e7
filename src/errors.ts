/**
 * Every way a request or a command can be refused: a table of codes, and the class that carries a refusal. Codes are
 * stable, because programs branch on them. A message never contains a secret, a stack, SQL or a file path.
 */

/**
 * The place that returns a code: any request, every operation, some kinds of operation (`body`: operations with a body,
 * `fields`: operations that name fields), a path without an operation, the dashboard, or a command.
 */
export type ErrorPlace = 'any' | 'operation' | KindPlace | 'path' | 'dashboard' | 'command';
type KindPlace = 'get' | 'read' | 'single' | 'query' | 'changes' | 'write' | 'batch' | 'body' | 'fields';

interface ErrorEntry {
  readonly httpStatus: number;
  readonly place: ErrorPlace;
  /** The message, unless the refusal has a more exact one. */
  readonly message: string;
  /** The next step for the caller. Sent with every error, and listed in docs/errors.md. */
  readonly remedy: string;
}

function entry(httpStatus: number, place: ErrorPlace, message: string, remedy: string): ErrorEntry {
  return { httpStatus, place, message, remedy };
}

// prettier-ignore
export const ERRORS = {
  MISSING_TEAM_ID: entry(400, 'operation', "Missing 'teamID' parameter!",
    'Send teamID in the query string, or in the body of a write.'),
  INVALID_CREDENTIALS: entry(401, 'operation',
    'API ID or API Secret is missing or invalid, or no API keys are configured for the tenant.',
    'Check teamID first, then that apiID and apiSecret belong to one pair that is still valid, then where you sent them: a Basic header (`Authorization: Basic` and the base64 of apiID:apiSecret; there are no Bearer tokens) takes precedence over the query string, which takes precedence over the body.'),
  MISSING_PARAMETER: entry(400, 'operation', 'A required parameter is missing.',
    'Send the parameter that `field` names.'),
  INVALID_PARAMETER: entry(400, 'operation', 'A parameter has a value that is not allowed.',
    'Correct the parameter that `field` names.'),
  UNKNOWN_PARAMETER: entry(400, 'operation', 'The operation has no such parameter.',
    'Correct the name; the message lists the known ones.'),
  PARAMETER_CONFLICT: entry(400, 'operation', 'A parameter was given twice with different values.',
    'Send the parameter that `field` names once.'),
  INVALID_CURSOR: entry(400, 'query', 'The cursor was not issued for this query.',
    'Send the X-Next-Cursor of the previous page with the same filters and sort, or start without a cursor.'),
  INVALID_JSON: entry(400, 'body', 'The body is not valid JSON in UTF-8.',
    'Correct the body. The message gives the position if it is known.'),
  INVALID_BODY: entry(400, 'body', 'The body does not have the form of this operation.',
    'Compare the body with the example in the reference (/docs/reference).'),
  BODY_NOT_ALLOWED: entry(400, 'get', 'A GET request must not have a body.', 'Send parameters in the query string.'),
  MALFORMED_REQUEST: entry(400, 'any', 'The request is not well-formed HTTP.',
    'Correct the HTTP client or the proxy in front of the service.'),
  MISSING_FIELD: entry(400, 'write', 'A required field is missing.', 'Send the field that `field` names.'),
  UNKNOWN_FIELD: entry(400, 'fields', 'This record type has no such field.',
    'Correct the name; `suggestion` has a similar one, if there is one.'),
  FIELD_NOT_ALLOWED: entry(400, 'fields', 'This field cannot be sent in this call.', 'Leave the field out.'),
  INVALID_VALUE: entry(400, 'operation', 'The field does not accept this value.',
    'Send a value in the form that the message describes.'),
  FIELD_NOT_SORTABLE: entry(400, 'query', 'Records cannot be sorted by this field, because it has no index.',
    'Sort by one of the fields that the message names.'),
  INVALID_FILTER: entry(400, 'query', 'The filter is invalid.', 'Correct the filter that the message names.'),
  TOO_MANY_FILTERS: entry(400, 'query', 'A query can have at most 50 filters.',
    'Combine the values of one field with the op `in`, or split the query.'),
  QUERY_TOO_COSTLY: entry(400, 'read', 'The query did not finish within its time budget.',
    'Filter on an indexed field, search for a longer text, or leave out count=exact. In a lookup, send fewer numbers.'),
  ORDER_NOT_FOUND: entry(400, 'write', 'PIMS: the order does not exist.', 'Check ORDER_NUMBER.'),
  LINE_NOT_FOUND: entry(400, 'write', 'PIMS: no line of the order has this lock code.',
    'Read the order again for the LINE_REF_LOCK_CODE of its line.'),
  LINE_MOVED: entry(400, 'write', 'PIMS: the line belongs to another order now.',
    'Send the same fields with the ORDER_NUMBER in `suggestion`, to which a partial invoice moved the line.'),
  CUSTOMER_NOT_FOUND: entry(400, 'write', 'PIMS: the customer does not exist.', 'Check CUSTOMER_CODE.'),
  PART_NOT_FOUND: entry(400, 'write', 'PIMS: the part does not exist.', 'Check PART_CODE, or use createPart.'),
  CODE_TAKEN: entry(400, 'write', 'PIMS: the code is already in use.',
    'Choose another code, or send none and let PIMS assign one.'),
  UNKNOWN_REFERENCE: entry(400, 'write', 'PIMS: the code does not exist, and this tenant accepts only existing codes.',
    'Use an existing code, or ask an owner to turn off strict references.'),
  STAGE_NOT_ALLOWED: entry(400, 'write', 'PIMS: the stage of the order does not allow this.',
    'Check ORDER_TYPE: an order only moves forward.'),
  ORDER_CLOSED: entry(400, 'write', 'PIMS: this cannot be changed on an invoice or a cancelled order.',
    'Change only the fields that the message names, or create a new order. To take an invoice back, void it, after the return in `suggestion` if there is one.'),
  QUANTITY_NOT_ALLOWED: entry(400, 'write', 'PIMS: the quantity is outside its bounds.',
    'Send a quantity within the bounds in the message.'),
  SERIALS_NOT_ALLOWED: entry(400, 'write', 'PIMS: the serial numbers do not fit the line.',
    'Send at most one per unit, or exactly one if the part is SERIALIZED; no duplicates, none that is already sold, none for a care plan. For a return, send those that the invoiced line has sold.'),
  TOO_MANY_LINES: entry(400, 'write', 'PIMS: the order has 10,000 lines, or its returns would have more than 20,000.',
    'Use another order with the same REFERENCE_NUMBER, or return several units of a line at once.'),
  BATCH_TOO_LONG: entry(400, 'batch',
    'A batch can have at most 100 steps (fewer if the tenant has a low rate or quota), 4 MiB of results, and 10,000 lines whose stock it moves.',
    'Split the batch into parts within the limit in the message. Sending it again unchanged never succeeds.'),
  UNKNOWN_OPERATION: entry(400, 'batch', 'A batch cannot contain this operation.',
    'Use an operation that the message lists, and send other calls separately.'),
  INVALID_REFERENCE: entry(400, 'batch', 'The reference does not point to the result of an earlier step.',
    "Write `$N.data` or `$N.data.FIELD` for the result of step N (from 0), and `$$` for a literal $ at the start."),
  SCOPE_MISSING: entry(403, 'write', 'The API key does not have the scope of this operation.',
    'Use a key with the scope that the message names; a developer or owner creates one.'),
  NOT_FOUND: entry(404, 'single', 'The record does not exist.', 'Check the key that the message names.'),
  UNKNOWN_PATH: entry(404, 'path', 'This path does not exist.', 'Send the path that the message names, or compare yours with /openapi.json.'),
  METHOD_NOT_ALLOWED: entry(405, 'path', 'This path does not support this method.', 'Use a method of the Allow header.'),
  CHANGES_GONE: entry(410, 'changes', 'The feed does not have the changes after this position.',
    'Call without after to get the current position, read all records, then follow the feed from there.'),
  REQUEST_TIMEOUT: entry(408, 'path', 'The request did not arrive in time.',
    'Send the headers within five seconds, the request within ten.'),
  IDEMPOTENCY_KEY_RUNNING: entry(409, 'write', 'A request with this Idempotency-Key is still running.',
    'Wait a moment and retry unchanged.'),
  RECORD_CHANGED: entry(412, 'write', 'The record has changed since you read it.',
    'Read the record again, reapply your change, and send the new ETag or FROM_QUANTITY.'),
  TAG_WEAKENED: entry(412, 'write', 'If-Match has only weak ETags (W/"…"), which never match, so nothing was written.',
    'Something between you and the service, such as a proxy that compresses responses, has changed the ETag. Have it pass ETags unchanged, or send the ETag without W/. Sending it again unchanged never succeeds.'),
  BODY_TOO_LARGE: entry(413, 'body', 'The body is too large.',
    'Send at most 256 KiB, or 1 MiB for a batch.'),
  URL_TOO_LONG: entry(414, 'any', 'The URL is longer than 8192 bytes.', 'Shorten the URL.'),
  UNSUPPORTED_MEDIA_TYPE: entry(415, 'body', 'The body is not application/json in UTF-8.',
    'Send Content-Type: application/json and UTF-8, without Content-Encoding.'),
  RESULT_TOO_LARGE: entry(422, 'read', 'The result is too large for one response.',
    'Send fewer storefront numbers. For one number or order, use POST /orders/query with an exact filter, without include=lines.'),
  IDEMPOTENCY_KEY_REUSED: entry(422, 'write', 'This Idempotency-Key was used with another body.',
    'Use a new key for a new request.'),
  INVALID_IDEMPOTENCY_KEY: entry(400, 'write', 'An Idempotency-Key must have 1 to 255 printable ASCII characters and no spaces.',
    'Send a UUID, for example.'),
  INVALID_IF_MATCH: entry(400, 'write', 'If-Match must be * or a comma-separated list of ETags, each in double quotes.',
    'Send the ETag of the last read unchanged, with its double quotes.'),
  PRECONDITION_NOT_ALLOWED: entry(400, 'operation', 'This operation does not check If-Match, so nothing was done.',
    'Leave If-Match out. Changes of an existing order, line or customer check it.'),
  NOT_SIGNED_IN: entry(401, 'dashboard', 'You are not signed in, or your session has ended.', 'Sign in to the dashboard.'),
  SIGN_IN_REFUSED: entry(401, 'dashboard', 'The team, email address, password or code is wrong.',
    'Check what you entered. If you forgot the password or lost the second factor, ask an owner or the operator for a new link.'),
  SECOND_FACTOR_NEEDED: entry(401, 'dashboard', 'The verification code is missing.',
    'Send the six digits of the authenticator app, or a recovery code.'),
  PROOF_NEEDED: entry(403, 'dashboard', 'Enter your password again: you last entered it more than 5 minutes ago.',
    'Confirm your password, then send the request again.'),
  CROSS_SITE: entry(403, 'dashboard', 'The dashboard accepts requests only from its own pages.',
    'Open the dashboard at its own address (STOREROOM_PUBLIC_URL), over HTTPS or on the machine of the service.'),
  ROLE_NOT_ALLOWED: entry(403, 'dashboard', 'The role of the user does not allow this.', 'Ask an owner of the tenant to change your role.'),
  LINK_INVALID: entry(400, 'dashboard', 'The link is invalid, has expired or was already used.',
    'Ask an owner or the operator for a new link.'),
  WEAK_PASSWORD: entry(400, 'dashboard', 'The password is too short or too easy to guess.',
    'Use at least 15 characters, such as four unrelated words.'),
  USER_EXISTS: entry(400, 'dashboard', 'The tenant already has a user with this email address.',
    'Give that user a new link or another role instead.'),
  LAST_OWNER: entry(400, 'dashboard', 'A tenant needs at least one owner.', 'Make another user an owner first.'),
  TOO_MANY_ATTEMPTS: entry(429, 'dashboard', 'Too many attempts to sign in.',
    'Wait the number of seconds in Retry-After, then retry. Without Retry-After, ask an owner or the operator for a new link.'),
  QUOTA_EXCEEDED: entry(429, 'operation', "The tenant's monthly quota is used up.",
    'Wait for the next month (UTC), or ask an owner or the operator for a higher quota.'),
  RATE_LIMITED: entry(429, 'operation', "The tenant's rate limit is exceeded.",
    'Wait the number of seconds in Retry-After, then retry.'),
  TOO_MANY_QUERIES: entry(429, 'operation', 'The tenant has too many queries running and waiting.',
    'Wait the number of seconds in Retry-After, and send fewer queries at once.'),
  TOO_MANY_WAITING: entry(429, 'changes', 'Too many calls of the tenant are waiting for changes.',
    'Follow the feed with one call at a time, or send wait=0.'),
  HEADERS_TOO_LARGE: entry(431, 'any', 'The headers are larger than 8192 bytes, or there are more than 100.', 'Send fewer or shorter headers.'),
  INTERNAL_ERROR: entry(500, 'operation', 'Something went wrong; the outcome of a write is unknown.',
    'Report the requestId to the operator. Retry a write with its Idempotency-Key.'),
  SERVICE_BUSY: entry(503, 'operation', 'The service is busy or stopping.',
    'Wait the number of seconds in Retry-After, then retry. Send a write with its Idempotency-Key.'),
  STORE_UNAVAILABLE: entry(503, 'operation', 'The store is unavailable; the outcome of a write is unknown.',
    'Wait the number of seconds in Retry-After, then retry. Send a write with its Idempotency-Key.'),
  TENANT_UNAVAILABLE: entry(503, 'operation',
    "The tenant's data is unavailable; the outcome of a write is unknown. Other tenants are not affected.",
    'Ask the operator to restore the data. Then retry a write with its Idempotency-Key.'),
  STORAGE_FULL: entry(503, 'operation', 'The disk of the service is full; nothing was written.',
    'Ask the operator to free disk space, then retry. Send a write with its Idempotency-Key.'),
  TENANT_NOT_FOUND: entry(400, 'command', 'The tenant does not exist.', 'List the tenants with `storeroom tenant list`.'),
  WRONG_SETTING: entry(400, 'command', 'A setting is invalid.', 'Correct the variables that the message names.'),
  COMMAND_REFUSED: entry(400, 'command', 'The command cannot be run.', 'Correct what the message names.'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * An expected outcome other than success. Rules throw or return it, stores return it, HTTP sends it, commands print it.
 * Example: `new Refusal('INVALID_VALUE', "QUANTITY must be a decimal number, not 'x'.", { field: 'QUANTITY' })`.
 */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  /** A name that the caller may have meant by `field`, or the number of the order that has the line. */
  readonly suggestion: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The index of the refused step of a batch. */
  readonly step: number | undefined;
  /** ETag of the record's current state. */
  readonly tag: string | undefined;
  /** The lowest position in the change feed. */
  readonly earliest: string | undefined;

  constructor(
    code: ErrorCode,
    message: string = ERRORS[code].message,
    about: Partial<Pick<Refusal, 'field' | 'suggestion' | 'retryAfterSeconds' | 'step' | 'tag' | 'earliest'>> = {},
  ) {
    // A refusal's stack is never read, and capturing one is more expensive than the rest of the response.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
    this.name = 'Refusal';
    this.code = code;
    Object.assign(this, about);
  }

  atStep(step: number): Refusal {
    const { field, suggestion, retryAfterSeconds } = this;
    return new Refusal(this.code, this.message, { field, suggestion, retryAfterSeconds, step });
  }

  get httpStatus(): number {
    return ERRORS[this.code].httpStatus;
  }
}

/** Returns the beginning of a caller's text, as messages repeat it. */
export const startOf = (text: string): string => text.slice(0, 64);

export const refuseField = (code: ErrorCode, field: string, message?: string): Refusal =>
  new Refusal(code, message, { field });
export const refuseCommand = (message: string): Refusal => new Refusal('COMMAND_REFUSED', message);

/** Refuses a call that may succeed when it is sent again after some seconds. */
export const refuseForNow = (code: ErrorCode, message?: string, retryAfterSeconds = 1): Refusal =>
  new Refusal(code, message, { retryAfterSeconds });

/** A value, or a refusal instead of it. */
export type Outcome<T> = T | Refusal;

/** Returns the value, or throws the refusal. */
export function orThrow<T>(outcome: Outcome<T>): T {
  if (outcome instanceof Refusal) throw outcome;
  return outcome;
}

/** Returns the result of the work, or the refusal that it throws. */
export function settle<T>(work: () => T): Outcome<T> {
  try {
    return work();
  } catch (fault) {
    if (fault instanceof Refusal) return fault;
    throw fault;
  }
}
