/** Port: the audit log of each tenant. Implemented under store/. One method is one transaction. */
import type { AuditEntry, AuditRecord } from './entry.ts';

export interface AuditStore {
  appendAudit(teamId: string, entry: AuditEntry): Promise<void>;
  /** Records with a number below `before`, newest first. */
  loadAudit(teamId: string, before: number, limit: number): Promise<AuditRecord[]>;
  /** Records from a number on, in ascending order: for verifying the chain. */
  loadAuditFrom(teamId: string, from: number, limit: number): Promise<AuditRecord[]>;
  /** Number and hash of the last record as kept beside the log; number 0 and hash '' when there is none. */
  loadAuditHead(teamId: string): Promise<{ readonly number: number; readonly hash: string }>;
}
