/** The port for the audit log of each tenant, implemented under store/. Each method is one transaction. */
import type { AuditEntry, AuditRecord } from './entry.ts';

export interface AuditStore {
  appendAudit(teamId: string, entry: AuditEntry): Promise<void>;
  /** Loads records with a number below `before`, newest first. */
  loadAudit(teamId: string, before: number, limit: number): Promise<AuditRecord[]>;
  /** Loads records from a number on, in ascending order, for verifying the chain. */
  loadAuditFrom(teamId: string, from: number, limit: number): Promise<AuditRecord[]>;
  /**
   * Loads the number and hash of the last record, which are stored separately from the log, or 0 and '' if there is
   * none.
   */
  loadAuditHead(teamId: string): Promise<{ readonly number: number; readonly hash: string }>;
}
