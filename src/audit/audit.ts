/** Begin here: an entry of the audit log says who did what to what, when and from where. The port is for all stores. */

/** The actor, an email address or `command line`; the time; and the client's address ('' for the command line). */
export interface Actor {
  readonly nowMs: number;
  readonly actor: string;
  readonly client: string;
  /** Names the request by its Idempotency-Key: a second entry with the same value is refused. */
  readonly once?: string | undefined;
}

/** One action, such as `keys replaced`. `detail` never contains a secret. */
export interface AuditEntry {
  /** UTC ISO 8601. */
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly client: string;
  readonly detail: Readonly<Record<string, string>>;
  readonly once?: string | undefined;
}

export interface AuditRecord extends AuditEntry {
  /** The number of the record: 1, 2, 3 … in each tenant. */
  readonly number: number;
  /** SHA-256, hex. */
  readonly hash: string;
}

export const COMMAND_LINE = 'command line';
export const byOperator = (nowMs: number): Actor => ({ nowMs, actor: COMMAND_LINE, client: '' });

export const entryBy = (
  { nowMs, actor, client, once }: Actor,
  action: string,
  target: string,
  detail: AuditEntry['detail'] = {},
): AuditEntry => ({ at: new Date(nowMs).toISOString(), actor, action, target, client, detail, once });

/** The audit log of each tenant, implemented under store/. Each method is one transaction. */
export interface AuditStore {
  appendAudit(teamId: string, entry: AuditEntry): Promise<void>;
  /** Loads records with a number below `before`, newest first. */
  loadAudit(teamId: string, before: number, limit: number): Promise<AuditRecord[]>;
  /** Loads records with the number `from` or a higher one, in ascending order, to verify the chain. */
  loadAuditFrom(teamId: string, from: number, limit: number): Promise<AuditRecord[]>;
  /**
   * Loads the number and hash of the last record, which are stored separately from the log, or 0 and '' if there is
   * none.
   */
  loadAuditHead(teamId: string): Promise<{ readonly number: number; readonly hash: string }>;
}
