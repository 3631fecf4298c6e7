/** `storeroom audit …`: prints the audit log of a tenant and checks that it is complete and unchanged. */
import { verifyAudit } from '../../../audit/chain.ts';
import type { AuditRecord } from '../../../audit/entry.ts';
import type { AuditStore } from '../../../audit/audit-port.ts';
import { addGroup, type AddCommands } from '../../command.ts';
import { addTenantCommand } from '../../open-store.ts';
import { buildTable } from '../../terminal.ts';

const PAGE = 1000;
const COLUMNS = ['number', 'at', 'actor', 'action', 'target', 'client'] as const;

export const addAuditCommands: AddCommands = (program, context) => {
  const group = addGroup(program, 'audit', 'audit verify acme', 'Print and verify the audit log.');
  const listing = 'Print the audit log, oldest first.';
  addTenantCommand(group, context, 'list <team>', 'audit list acme --json', listing, async ({ store, teamId }) => {
    const records = await loadRecords(store.audit, teamId);
    const rows = records.map((record) => COLUMNS.map((name) => record[name]));
    return [{ records }, buildTable([COLUMNS.map((name) => name.toUpperCase()), ...rows])];
  });
  const verifying = 'Check that no record of the audit log was changed, removed or added. Exits with 1 if one was.';
  addTenantCommand(group, context, 'verify <team>', 'audit verify acme', verifying, async ({ store, teamId }) => {
    const { records, head, fault } = await verifyAudit(store.audit, teamId);
    if (fault) context.exitCode = 1;
    const last = head && ` The hash of the last one is ${head}. Keep it elsewhere to check the log later.`;
    const text = fault
      ? `The audit log of ${teamId} is NOT intact. Record ${fault.number}: ${fault.reason}.`
      : `The audit log of ${teamId} is intact: ${records} records.${last}`;
    return [{ isWhole: fault === null, records, head, fault }, text];
  });
};

async function loadRecords(store: AuditStore, teamId: string): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (;;) {
    const page = await store.loadAuditFrom(teamId, records.length + 1, PAGE);
    records.push(...page);
    if (page.length < PAGE) return records;
  }
}
