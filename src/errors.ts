/**
 * Every way a request or a command can be refused: a table of codes, and the class that carries a refusal.
 * Codes are stable, as programs branch on them. A message never holds a secret, a stack, SQL or a file path.
 */

/**
 * Where a code is answered: by any request, every operation, some kinds of operation (`body`: those with one, `fields`:
 * those that name fields), a path without an operation, the dashboard, or a command.
 */
export type ErrorPlace = 'any' | 'operation' | KindPlace | 'path' | 'dashboard' | 'command';
type KindPlace = 'get' | 'read' | 'single' | 'query' | 'write' | 'batch' | 'body' | 'fields';

interface ErrorEntry {
  readonly httpStatus: number;
  readonly place: ErrorPlace;
  /** The sentence sent unless the code that refuses has a more exact one. */
  readonly message: string;
  /** What the caller does next. Sent with every error, and listed in docs/errors.md. */
  readonly remedy: string;
}

function entry(httpStatus: number, place: ErrorPlace, message: string, remedy: string): ErrorEntry {
  return { httpStatus, place, message, remedy };
}

// prettier-ignore
export const ERRORS = {
  MISSING_TEAM_ID: entry(400, 'operation', "Missing 'teamID' parameter!",
    'Send teamID as a query parameter, or as a member of an object body.'),
  INVALID_CREDENTIALS: entry(401, 'operation',
    'API ID or API Secret is missing or invalid, or no API keys are configured for the tenant.',
    'Check teamID first, then that apiID and apiSecret belong to one pair, then where you sent them: a Basic header decides alone, then the query, then the body.'),
  MISSING_PARAMETER: entry(400, 'operation', 'A required parameter is missing.',
    'Send the parameter that `field` names.'),
  INVALID_PARAMETER: entry(400, 'operation', 'A parameter has a value that cannot be read.',
    'Correct the parameter that `field` names.'),
  UNKNOWN_PARAMETER: entry(400, 'operation', 'The operation has no such parameter.',
    'Correct the name of the query parameter; the message lists the known ones.'),
  PARAMETER_CONFLICT: entry(400, 'operation', 'A parameter was given twice with different values.',
    'Send the parameter that `field` names once.'),
  INVALID_CURSOR: entry(400, 'query', 'The cursor was not issued for this query.',
    'Send the X-Next-Cursor of the previous page unchanged, with the same filters and sort, or start again without a cursor.'),
  INVALID_JSON: entry(400, 'body', 'The body is not valid JSON in UTF-8.',
    'Correct the body. The message gives the position where it is known.'),
  INVALID_BODY: entry(400, 'body', 'The body does not have the shape this operation takes.',
    'Compare the body with the example in the reference.'),
  BODY_NOT_ALLOWED: entry(400, 'get', 'A GET request must not carry a body.', 'Send parameters in the query string.'),
  MALFORMED_REQUEST: entry(400, 'any', 'The request is not well-formed HTTP.',
    'Correct the HTTP client or the proxy in front of the service.'),
  MISSING_FIELD: entry(400, 'write', 'A required field is missing.', 'Send the field that `field` names.'),
  UNKNOWN_FIELD: entry(400, 'fields', 'The field is not in the field dictionary of this record type.',
    'Correct the name; `suggestion` gives the nearest known one, if one is near.'),
  FIELD_NOT_ALLOWED: entry(400, 'fields', 'The field is set by the service and is never sent.', 'Leave the field out.'),
  INVALID_VALUE: entry(400, 'operation', 'The value cannot be read as the type of its field.',
    'Send a value of the form the message gives.'),
  FIELD_NOT_SORTABLE: entry(400, 'query', 'Records cannot be sorted by the field, which has no index.',
    'Sort by one of the fields that the message names.'),
  INVALID_FILTER: entry(400, 'query', 'The filter cannot be read.', 'Correct the filter that the message names.'),
  TOO_MANY_FILTERS: entry(400, 'query', 'A query takes at most 50 filters.', 'Split the query.'),
  QUERY_TOO_COSTLY: entry(400, 'read', 'The query did not finish within its time budget.',
    'Add an exact filter on an indexed field, or search for a longer text.'),
  ORDER_NOT_FOUND: entry(400, 'write', 'PIMS: the order does not exist.', 'Check ORDER_NUMBER.'),
  LINE_NOT_FOUND: entry(400, 'write', 'PIMS: no line of the order has this lock code.',
    'Read the order again and use the LINE_REF_LOCK_CODE of its line.'),
  LINE_MOVED: entry(400, 'write', 'PIMS: the line belongs to another order now.',
    'Send the same fields with the ORDER_NUMBER in `suggestion`: a partial invoice moved the line there.'),
  CUSTOMER_NOT_FOUND: entry(400, 'write', 'PIMS: the customer does not exist.', 'Check CUSTOMER_CODE.'),
  CODE_TAKEN: entry(400, 'write', 'PIMS: the code is already in use.',
    'Choose another code, or send none and let PIMS assign one.'),
  UNKNOWN_REFERENCE: entry(400, 'write', 'PIMS: the code is not known, and this tenant is strict.',
    "Use an existing code, or ask for the tenant's strict setting to be turned off."),
  STAGE_NOT_ALLOWED: entry(400, 'write', 'PIMS: the stage of the order does not allow it.',
    'Check ORDER_TYPE: an order only moves forward through the stages.'),
  ORDER_CLOSED: entry(400, 'write', 'PIMS: the order is invoiced or cancelled, so this can no longer be changed.',
    'Change only what the message names, and put what is still needed on a new order.'),
  QUANTITY_NOT_ALLOWED: entry(400, 'write', 'PIMS: the quantity is outside its bounds.',
    'Send a quantity within the bounds the message gives.'),
  SERIALS_NOT_ALLOWED: entry(400, 'write', 'PIMS: the serial numbers do not fit the line.',
    'Send at most one for each unit, and none for a care plan.'),
  TOO_MANY_LINES: entry(400, 'write', 'PIMS: the order already has 10,000 lines, the maximum.',
    'Put further lines on another order with the same REFERENCE_NUMBER.'),
  BATCH_TOO_LONG: entry(400, 'batch',
    'A batch has at most 100 steps, or as many as the rate or the quota of the tenant allows at once; 4 MiB of answers; and 10,000 lines of orders whose DROP_SHIP it changes.',
    'Split the batch into parts that the message allows. Sending it again unchanged never succeeds.'),
  UNKNOWN_OPERATION: entry(400, 'batch', 'A batch does not take this operation.',
    'Use one of the operations that the message lists; make other calls by themselves.'),
  INVALID_REFERENCE: entry(400, 'batch', 'The reference does not point to the result of an earlier step.',
    "Write `$N.data` or `$N.data.FIELD` for what step N (from 0) answered, and a literal $ at the start as `$$`."),
  SCOPE_MISSING: entry(403, 'write', 'The API keys may only read.',
    'Send keys of the scope write, or ask for such a pair.'),
  NOT_FOUND: entry(404, 'single', 'The record does not exist.', 'Check the key that the message names.'),
  UNKNOWN_PATH: entry(404, 'path', 'There is nothing at this path.', 'Compare the path with /openapi.json.'),
  METHOD_NOT_ALLOWED: entry(405, 'path', 'This path does not take this method.', 'Use a method of the Allow header.'),
  REQUEST_TIMEOUT: entry(408, 'path', 'The request did not arrive in time.',
    'Send the whole request within ten seconds.'),
  IDEMPOTENCY_KEY_RUNNING: entry(409, 'write', 'A request with this Idempotency-Key is still running.',
    'Wait a moment and repeat the request unchanged.'),
  RECORD_CHANGED: entry(412, 'write', 'The record has changed since you read it.',
    'Read the record again, reapply your change, and send the new ETag.'),
  BODY_TOO_LARGE: entry(413, 'body', 'The body is larger than this service takes.',
    'Keep bodies within 256 KiB, those of a batch within 1 MiB.'),
  URL_TOO_LONG: entry(414, 'any', 'The URL is longer than 8192 bytes.', 'Shorten the URL.'),
  UNSUPPORTED_MEDIA_TYPE: entry(415, 'body', 'The body must be sent as application/json in UTF-8.',
    'Send Content-Type: application/json, without Content-Encoding.'),
  RESULT_TOO_LARGE: entry(422, 'read', 'The result is too large for one response.',
    'Ask for fewer storefront numbers; for one of them use POST /orders/query with an exact filter on REFERENCE_NUMBER, page by page.'),
  IDEMPOTENCY_KEY_REUSED: entry(422, 'write', 'This Idempotency-Key was used before with another body.',
    'Use a new key for a new request.'),
  INVALID_IDEMPOTENCY_KEY: entry(400, 'write', 'An Idempotency-Key has 1 to 255 printable ASCII characters, without spaces.',
    'Send a UUID, for example.'),
  INVALID_IF_MATCH: entry(400, 'write', 'If-Match must be * or a comma-separated list of ETags, each in double quotes.',
    'Send the ETag of the last read unchanged, with its double quotes.'),
  PRECONDITION_NOT_ALLOWED: entry(400, 'operation', 'This operation does not check If-Match, so nothing was done.',
    'Leave If-Match out, or use an operation that takes it: a change of an existing order, line or customer.'),
  NOT_SIGNED_IN: entry(401, 'dashboard', 'There is no session, or it has ended.', 'Sign in to the dashboard.'),
  SIGN_IN_REFUSED: entry(401, 'dashboard', 'Team, e-mail address, password or code is wrong.',
    'Check all four. If you forgot the password, ask an owner for a new link.'),
  SECOND_FACTOR_NEEDED: entry(401, 'dashboard', 'The code of the second factor is missing.',
    'Send the six digits of the authenticator app, or a recovery code.'),
  PROOF_NEEDED: entry(403, 'dashboard', 'This needs the password again: it was last given more than 5 minutes ago.',
    'Confirm your password, then send the request again.'),
  CROSS_SITE: entry(403, 'dashboard', 'The dashboard takes requests only from its own pages.',
    'Open the dashboard by its own address.'),
  ROLE_NOT_ALLOWED: entry(403, 'dashboard', 'The role of the user does not allow it.', 'Ask an owner of the tenant.'),
  LINK_INVALID: entry(400, 'dashboard', 'The link is invalid, has expired or was already used.',
    'Ask an owner for a new link.'),
  WEAK_PASSWORD: entry(400, 'dashboard', 'The password is too short or too easy to guess.',
    'Use at least 15 characters, for example four unrelated words.'),
  USER_EXISTS: entry(400, 'dashboard', 'The tenant has a user with this e-mail address.',
    'Give that user a new link or another role instead.'),
  LAST_OWNER: entry(400, 'dashboard', 'A tenant keeps at least one owner.', 'Make another user an owner first.'),
  TOO_MANY_ATTEMPTS: entry(429, 'dashboard', 'Too many attempts to sign in.', 'Wait the number of seconds in Retry-After, then repeat the request.'),
  QUOTA_EXCEEDED: entry(429, 'operation', "The tenant's monthly quota of requests is used up.",
    'Wait for the next calendar month (UTC), or ask for a higher quota.'),
  RATE_LIMITED: entry(429, 'operation', "The tenant's rate of requests is exceeded.",
    'Wait the number of seconds in Retry-After, then repeat the request.'),
  TOO_MANY_QUERIES: entry(429, 'operation', 'The tenant has too many queries running and waiting.',
    'Wait the number of seconds in Retry-After, and send fewer queries at the same time.'),
  HEADERS_TOO_LARGE: entry(431, 'any', 'The headers are larger than 8192 bytes.', 'Send fewer or shorter headers.'),
  INTERNAL_ERROR: entry(500, 'operation', 'Something went wrong; the outcome of a write is unknown.',
    'Repeat writes with their Idempotency-Key; report the requestId.'),
  SERVICE_BUSY: entry(503, 'operation', 'The service is busy or stopping.',
    'Repeat after Retry-After; repeat writes with their Idempotency-Key.'),
  STORE_UNAVAILABLE: entry(503, 'operation', 'The store cannot be used now; the outcome of a write is unknown.',
    'Repeat after Retry-After; repeat writes with their Idempotency-Key.'),
  TENANT_UNAVAILABLE: entry(503, 'operation',
    "The tenant's data cannot be used now; the outcome of a write is unknown. Other tenants are not affected.",
    'Tell the operator, who restores it. Then repeat writes with their Idempotency-Key.'),
  STORAGE_FULL: entry(503, 'operation', 'The disk of the service is full; nothing was written.',
    'Free disk space; until then every call is refused.'),
  TENANT_NOT_FOUND: entry(400, 'command', 'There is no such tenant.', 'List the tenants with `storeroom tenant list`.'),
  WRONG_SETTING: entry(400, 'command', 'A setting cannot be used.', 'Correct the variables that the message names.'),
  COMMAND_REFUSED: entry(400, 'command', 'The command cannot be carried out.', 'Correct what the message names.'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * An expected outcome other than success. Rules throw it and stores return it; HTTP answers it, commands print it.
 * Example: `new Refusal('INVALID_VALUE', "QUANTITY must be a decimal number, not 'x'.", { field: 'QUANTITY' })`.
 */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  /** What may have been meant by `field`: a name, or the number of the order that has the line. */
  readonly suggestion: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** The step of a batch that is refused. */
  readonly step: number | undefined;
  /** ETag of the record's current state. */
  readonly tag: string | undefined;

  constructor(
    code: ErrorCode,
    message: string = ERRORS[code].message,
    about: Partial<Pick<Refusal, 'field' | 'suggestion' | 'retryAfterSeconds' | 'step' | 'tag'>> = {},
  ) {
    // A refusal's stack is never read, and capturing one costs more than the rest of the answer.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
    this.name = 'Refusal';
    this.code = code;
    this.field = about.field;
    this.suggestion = about.suggestion;
    this.retryAfterSeconds = about.retryAfterSeconds;
    this.step = about.step;
    this.tag = about.tag;
  }

  /** The same, of a step of a batch. */
  atStep(step: number): Refusal {
    const { field, suggestion, retryAfterSeconds } = this;
    return new Refusal(this.code, this.message, { field, suggestion, retryAfterSeconds, step });
  }

  get httpStatus(): number {
    return ERRORS[this.code].httpStatus;
  }
}

export const refuseField = (code: ErrorCode, field: string, message: string): Refusal =>
  new Refusal(code, message, { field });
export const refuseCommand = (message: string): Refusal => new Refusal('COMMAND_REFUSED', message);

/** A value, or the refusal that stands in its place. */
export type Outcome<T> = T | Refusal;

/** The value; throws the refusal that stands in its place. */
export function orThrow<T>(outcome: Outcome<T>): T {
  if (outcome instanceof Refusal) throw outcome;
  return outcome;
}
