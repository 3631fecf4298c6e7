/**
 * Every way a request or a command can be refused: one table of code, HTTP status and sentence, and the one class that carries a refusal.
 * Codes are stable: programs branch on them. Never holds a secret, a stack, SQL or a path. Imports nothing.
 */

interface ErrorEntry {
  readonly httpStatus: number;
  /** The sentence sent when the place that refuses has nothing more exact to say. */
  readonly message: string;
  /** What the reader of docs/errors.md should do about it. */
  readonly remedy: string;
}

const entry = (httpStatus: number, message: string, remedy: string): ErrorEntry => ({ httpStatus, message, remedy });

export const ERRORS = {
  MISSING_TEAM_ID: entry(
    400,
    "Missing 'teamID' parameter!",
    'Send teamID as a query parameter, or as a member of an object body.',
  ),
  INVALID_CREDENTIALS: entry(
    401,
    'API ID or API Secret is missing or invalid, or no API keys are configured for the tenant.',
    'Send the pair now in force.',
  ),
  MISSING_PARAMETER: entry(400, 'A required parameter is missing.', 'Send the parameter that `field` names.'),
  INVALID_PARAMETER: entry(
    400,
    'A parameter has a value that cannot be read.',
    'Correct the parameter that `field` names.',
  ),
  UNKNOWN_PARAMETER: entry(
    400,
    'The operation has no such parameter.',
    'Correct the name of the query parameter; the message lists the known ones.',
  ),
  PARAMETER_CONFLICT: entry(
    400,
    'A parameter was given twice with different values.',
    'Send the parameter that `field` names once.',
  ),
  INVALID_CURSOR: entry(
    400,
    'The cursor is not one this service issued for this kind of record.',
    'Send the X-Next-Cursor of the answer before, unchanged.',
  ),
  INVALID_JSON: entry(
    400,
    'The body is not valid JSON in UTF-8.',
    'Correct the body; the message says where reading stopped.',
  ),
  INVALID_BODY: entry(
    400,
    'The body does not have the shape this operation takes.',
    'Compare it with the example in the reference.',
  ),
  BODY_NOT_ALLOWED: entry(400, 'A GET request must not carry a body.', 'Send parameters in the query string.'),
  MALFORMED_REQUEST: entry(
    400,
    'The request is not well-formed HTTP.',
    'Correct the HTTP client or the proxy in front of the service.',
  ),
  MISSING_FIELD: entry(400, 'A required field is missing.', 'Send the field that `field` names.'),
  UNKNOWN_FIELD: entry(
    400,
    'The field is not in the field dictionary of this record type.',
    'Correct the name; `suggestion` gives the nearest known one, if one is near.',
  ),
  FIELD_NOT_ALLOWED: entry(400, 'The field is set by the service and is never sent.', 'Leave the field out.'),
  INVALID_VALUE: entry(
    400,
    'The value cannot be read as the type of its field.',
    'Send a value of the form the message gives.',
  ),
  INVALID_FILTER: entry(400, 'The filter cannot be read.', 'Correct the filter that the message names.'),
  TOO_MANY_FILTERS: entry(400, 'A query takes at most 50 filters.', 'Split the query.'),
  QUERY_TOO_COSTLY: entry(
    400,
    'The query did not finish within its time budget.',
    'Add an exact filter on an indexed field, or search for a longer text.',
  ),
  ORDER_NOT_FOUND: entry(400, 'PIMS: the order does not exist.', 'Check ORDER_NUMBER.'),
  LINE_NOT_FOUND: entry(
    400,
    'PIMS: no line of the order has this lock code.',
    'Read the order again and use the LINE_REF_LOCK_CODE of its line.',
  ),
  CUSTOMER_NOT_FOUND: entry(400, 'PIMS: the customer does not exist.', 'Check CUSTOMER_CODE.'),
  CODE_TAKEN: entry(
    400,
    'PIMS: the code is already in use.',
    'Choose another code, or send none and let PIMS assign one.',
  ),
  UNKNOWN_REFERENCE: entry(
    400,
    'PIMS: the code is not known, and this tenant is strict.',
    'Use a code that exists, or have the tenant set to lenient.',
  ),
  STAGE_NOT_ALLOWED: entry(
    400,
    'PIMS: the stage of the order does not allow it.',
    'Check ORDER_TYPE; stages only go forward, an invoice no longer changes.',
  ),
  QUANTITY_NOT_ALLOWED: entry(
    400,
    'PIMS: the quantity is outside its bounds.',
    'Send a quantity within the bounds the message gives.',
  ),
  SERIALS_NOT_ALLOWED: entry(
    400,
    'PIMS: the serial numbers do not fit the line.',
    'At most one a unit, and none on a care plan.',
  ),
  NOT_FOUND: entry(404, 'The record does not exist.', 'Check the key that the message names.'),
  UNKNOWN_PATH: entry(404, 'There is nothing at this path.', 'Compare the path with /openapi.json.'),
  METHOD_NOT_ALLOWED: entry(405, 'This path does not take this method.', 'Use a method of the Allow header.'),
  REQUEST_TIMEOUT: entry(408, 'The request did not arrive in time.', 'Send the whole request within ten seconds.'),
  IDEMPOTENCY_KEY_RUNNING: entry(
    409,
    'A request with this Idempotency-Key is still running.',
    'Wait a moment and repeat the request unchanged.',
  ),
  BODY_TOO_LARGE: entry(413, 'The body is larger than this service takes.', 'Keep bodies within 256 KiB.'),
  URL_TOO_LONG: entry(414, 'The URL is longer than 8192 bytes.', 'Shorten the URL.'),
  UNSUPPORTED_MEDIA_TYPE: entry(
    415,
    'The body must be sent as application/json in UTF-8.',
    'Send Content-Type: application/json, without Content-Encoding.',
  ),
  IDEMPOTENCY_KEY_REUSED: entry(
    422,
    'This Idempotency-Key was used before with another body.',
    'Use a new key for a new request.',
  ),
  INVALID_IDEMPOTENCY_KEY: entry(
    400,
    'An Idempotency-Key is 1 to 255 printable ASCII characters.',
    'Send for example a UUID.',
  ),
  NOT_SIGNED_IN: entry(401, 'There is no session, or it has ended.', 'Sign in to the dashboard.'),
  SIGN_IN_REFUSED: entry(
    401,
    'Team, e-mail address, password or code is wrong.',
    'Check all four; a forgotten password is set anew by a new link.',
  ),
  SECOND_FACTOR_NEEDED: entry(
    401,
    'The code of the second factor is missing.',
    'Send the six digits of the authenticator app, or a recovery code.',
  ),
  CROSS_SITE: entry(
    403,
    'The dashboard takes requests only from its own pages.',
    'Open the dashboard by its own address.',
  ),
  ROLE_NOT_ALLOWED: entry(403, 'The role of the user does not allow it.', 'Ask an owner of the tenant.'),
  LINK_INVALID: entry(400, 'The link was used before, has ended, or is not whole.', 'Ask for a new link.'),
  WEAK_PASSWORD: entry(
    400,
    'The password is too short or too easy to guess.',
    'Use at least 15 characters, such as four words that do not belong together.',
  ),
  USER_EXISTS: entry(
    400,
    'The tenant has a user with this e-mail address.',
    'Give that user a new link or another role instead.',
  ),
  LAST_OWNER: entry(400, 'A tenant keeps at least one owner.', 'Make somebody else an owner first.'),
  TOO_MANY_ATTEMPTS: entry(429, 'Too many attempts to sign in.', 'Wait as long as Retry-After says.'),
  QUOTA_EXCEEDED: entry(
    429,
    "The tenant's monthly quota of requests is used up.",
    'Wait for the next calendar month (UTC), or have the quota raised.',
  ),
  RATE_LIMITED: entry(429, "The tenant's rate of requests is exceeded.", 'Wait as long as Retry-After says.'),
  HEADERS_TOO_LARGE: entry(431, 'The headers are larger than 8192 bytes.', 'Send fewer or shorter headers.'),
  INTERNAL_ERROR: entry(
    500,
    'Something went wrong; the outcome of a write is unknown.',
    'Repeat writes with their Idempotency-Key; report the requestId.',
  ),
  SERVICE_BUSY: entry(
    503,
    'The service is busy or stopping.',
    'Repeat after Retry-After; writes with their Idempotency-Key.',
  ),
  STORE_UNAVAILABLE: entry(
    503,
    'The store cannot be used now; the outcome of a write is unknown.',
    'As for SERVICE_BUSY.',
  ),
  STORAGE_FULL: entry(
    503,
    'The disk of the service is full; nothing was written.',
    'The operator has to free space; until then no call can be counted.',
  ),
  TENANT_NOT_FOUND: entry(400, 'There is no such tenant.', 'List the tenants with `storeroom tenant list`.'),
  COMMAND_REFUSED: entry(400, 'The command cannot be carried out.', 'Correct what the message names.'),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * An expected outcome that is not success. The rules throw it, store adapters return it, the HTTP edge and the command line turn it into words.
 * Example: `new Refusal('INVALID_VALUE', "QUANTITY must be a decimal number, not 'x'.", { field: 'QUANTITY' })`.
 */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly field: string | undefined;
  /** The name that may have been meant by `field`. */
  readonly suggestion: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string = ERRORS[code].message,
    about: { field?: string; suggestion?: string | undefined; retryAfterSeconds?: number } = {},
  ) {
    // A refusal is an answer, not a fault: nobody reads its stack, and capturing one costs more than the rest of the answer.
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = limit;
    this.name = 'Refusal';
    this.code = code;
    this.field = about.field;
    this.suggestion = about.suggestion;
    this.retryAfterSeconds = about.retryAfterSeconds;
  }

  get httpStatus(): number {
    return ERRORS[this.code].httpStatus;
  }
}

/** A value, or the refusal that stands in its place. */
export type Outcome<T> = T | Refusal;

/** The value; throws the refusal that stands in its place. */
export function orThrow<T>(outcome: Outcome<T>): T {
  if (outcome instanceof Refusal) throw outcome;
  return outcome;
}
