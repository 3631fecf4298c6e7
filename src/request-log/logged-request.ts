/**
 * A request as the request log takes it, and as it is shown to people of the tenant. Types only, so that the pages of the dashboard can read them too.
 */

/** A call that passed authentication, when it has been answered. */
export interface LoggedCall {
  /** Boot of the node and, behind the last `-`, its number in base 36. */
  readonly requestId: string;
  /** UTC, `2026-11-20T09:30:00.000Z`. */
  readonly at: string;
  readonly teamId: string;
  readonly operation: string;
  readonly httpStatus: number;
  readonly milliseconds: number;
  readonly client: string;
  /** null when it came by the explorer. */
  readonly apiId: string | null;
  /** null when it came with a key. */
  readonly explorerUser: string | null;
  /** Whether the secret came in the URL. */
  readonly isUrlCredential: boolean;
  readonly code: string | null;
  readonly field: string | null;
  readonly message: string | null;
  /** Query parameters as they were read. What says who calls is left out of the line. */
  readonly query: Readonly<Record<string, unknown>>;
  /** JSON text of the body without credentials; null when there was none. */
  readonly body: string | null;
}

/** A request of the days the log goes back. */
export interface RequestView {
  requestID: string;
  at: string;
  operation: string;
  httpStatus: number;
  milliseconds: number;
  client: string;
  /** How it came: an API key, or the explorer, and then by whom. */
  apiID: string | null;
  explorerUser: string | null;
  code: string | null;
  message: string | null;
}

/** What a page of requests is asked for, all optional. Times are UTC ISO 8601; `from` is part of the range, `to` is not. */
export interface RequestsQuery {
  /** A status (`404`) or a class of them (`4xx`). */
  status?: string;
  operation?: string;
  from?: string;
  to?: string;
  /** `next` of the answer before: goes on further back in time. */
  cursor?: string;
}

/** Newest first, at most 50. `next` is null when there are none further back; a page may be empty and yet have a `next`. */
export interface RequestsView {
  requests: RequestView[];
  next: string | null;
  /** How far back was looked; '' for all. */
  searchedTo: string;
  keptDays: number;
}

export interface RequestDetailView extends RequestView {
  field: string | null;
  /** Query parameters without credentials. */
  query: Record<string, string>;
  /** JSON text of the body without credentials, cut to 4,096 characters; null when there was none. */
  body: string | null;
}
