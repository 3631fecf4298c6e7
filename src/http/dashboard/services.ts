/** What the dashboard uses: the services of the operations, users, and what their pages read. */
import type { Accounts } from '../../account/accounts.ts';
import type { Users } from '../../account/users.ts';
import type { AuditStore } from '../../audit/audit-port.ts';
import type { RequestLog } from '../../request-log/request-log.ts';
import type { TakeTurn } from '../../tenant/turns.ts';
import type { RequestStore } from '../../request-log/request-log-port.ts';
import type { OperationServices } from '../call/stages.ts';

export interface DashboardServices extends OperationServices {
  readonly accounts: Accounts;
  readonly users: Users;
  readonly audit: AuditStore;
  readonly requests: RequestStore;
  readonly requestLog: RequestLog;
  readonly requestLogDays: number;
  readonly takeTurn: TakeTurn;
  /**
   * Where people reach the service, without a path: `https://pims.example.com`. With '' addresses in answers are
   * relative: a Host header can be made up, the browser knows where it is.
   */
  readonly publicUrl: string;
}
