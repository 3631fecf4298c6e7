/**
 * The types of a request to log and of a search, with the bounds of a line: longer values are cut, and the body is cut
 * to fit its line.
 */
export const VALUE_CHARACTERS_MAX = 256;
export const LINE_BYTES_MAX = 2048;

/** An answered call that passed authentication. */
export interface LoggedCall {
  /** The boot of the node and, after the last `-`, the number of the request in base 36. */
  readonly requestId: string;
  /** The time of the call, UTC, `2026-11-20T09:30:00.000Z`. */
  readonly at: string;
  readonly teamId: string;
  readonly operation: string;
  readonly httpStatus: number;
  readonly milliseconds: number;
  readonly client: string;
  /** null for a call from the explorer. */
  readonly apiId: string | null;
  /** The name of the pair of keys. */
  readonly keyName: string | null;
  /** null for a call with a key. */
  readonly explorerUser: string | null;
  /** Whether the secret was sent in the URL. */
  readonly isUrlCredential: boolean;
  readonly code: string | null;
  readonly field: string | null;
  readonly message: string | null;
  /** Query parameters, including credentials, which the log leaves out. */
  readonly query: Readonly<Record<string, unknown>>;
  /** JSON text of the body without credentials; null when there was none. */
  readonly body: string | null;
}

/** Conditions of a page, all optional. Times are UTC ISO 8601; the range includes `from` and excludes `to`. */
export interface RequestsQuery {
  /** A status (`404`), a class of statuses (`4xx`), or `failed` for 4xx and 5xx. */
  status?: string;
  /** The API ID of a pair of keys, or `explorer`. */
  key?: string;
  code?: string;
  /** The number of an order that the query or the body names. */
  order?: string;
  operation?: string;
  from?: string;
  to?: string;
  /** `next` of the previous page. */
  cursor?: string;
}
