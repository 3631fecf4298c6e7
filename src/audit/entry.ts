/**
 * What the audit log keeps of an action: who did what to what, when and from where.
 */

/** `action` is what was done, such as `keys replaced`; `target` what it was done to; `detail` members that matter, never a secret. */
export interface AuditEntry {
  /** UTC ISO 8601. */
  readonly at: string;
  /** E-mail address of the user, or `command line`. */
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  /** Address the user came from; '' for the command line. */
  readonly client: string;
  readonly detail: Readonly<Record<string, string>>;
}

export interface AuditRecord extends AuditEntry {
  /** 1, 2, 3 … in each tenant. */
  readonly number: number;
  /** SHA-256, hex. */
  readonly hash: string;
}

/** The actor where nobody signed in. */
export const COMMAND_LINE = 'command line';

/** The entry of what a command did. `at` is UTC ISO 8601. */
export const byCommand = (
  at: string,
  action: string,
  target: string,
  detail: AuditEntry['detail'] = {},
): AuditEntry => ({
  at,
  actor: COMMAND_LINE,
  action,
  target,
  client: '',
  detail,
});
