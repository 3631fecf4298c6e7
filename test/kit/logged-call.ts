/** A call as the request log keeps it, for tests of the log. */
import type { LoggedCall } from '../../src/request-log/logged-request.ts';

export const LOGGED_CALL: LoggedCall = {
  requestId: 'boot-1',
  at: '2026-11-20T09:30:00.000Z',
  teamId: 'team',
  operation: 'getOrder',
  httpStatus: 200,
  milliseconds: 1,
  client: '192.0.2.1',
  apiId: 'sr_id_1',
  keyName: 'default',
  explorerUser: null,
  isUrlCredential: false,
  code: null,
  field: null,
  message: null,
  query: {},
  body: null,
};
