/** `storeroom audit …`: prints the audit log of a tenant and checks that it is complete and unchanged. */
import type { Command } from 'commander';
import { verifyAudit } from '../../../audit/chain.ts';
import type { AuditRecord } from '../../../audit/entry.ts';
import type { AuditStore } from '../../../audit/audit-port.ts';
import { addCommand, addGroup, printAnswer, type CommandContext } from '../../command.ts';
import { withTenant } from '../../open-store.ts';
import { buildTable } from '../../text-table.ts';

const PAGE = 1000;
const COLUMNS = ['number', 'at', 'actor', 'action', 'target', 'client'] as const;

export function addAuditCommands(program: Command, context: CommandContext): void {
  const group = addGroup(program, 'audit', 'audit verify acme', 'Print and verify the audit log.');
  addCommand(group, 'list <team>', 'audit list acme --json', 'Print the audit log, oldest first.').action(
    async (teamId: string) => {
      const records = await withTenant(context, teamId, ({ store }) => loadRecords(store.audit, teamId));
      const rows = records.map((record) => COLUMNS.map((name) => record[name]));
      const table = buildTable([COLUMNS.map((name) => name.toUpperCase()), ...rows]);
      printAnswer(context, { teamID: teamId, records }, table);
    },
  );
  const verifying = 'Check that no record of the audit log was changed, removed or added. Exits with 1 if one was.';
  addCommand(group, 'verify <team>', 'audit verify acme', verifying).action(async (teamId: string) => {
    const check = await withTenant(context, teamId, ({ store }) => verifyAudit(store.audit, teamId));
    const { records, head, fault } = check;
    if (fault) context.exitCode = 1;
    const last = head && ` The hash of the last one is ${head}. Keep it elsewhere to check the log later.`;
    const text = fault
      ? `The audit log of ${teamId} is NOT intact. Record ${fault.number}: ${fault.reason}.`
      : `The audit log of ${teamId} is intact: ${records} records.${last}`;
    printAnswer(context, { teamID: teamId, isWhole: fault === null, records, head, fault }, text);
  });
}

async function loadRecords(store: AuditStore, teamId: string): Promise<AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (;;) {
    const page = await store.loadAuditFrom(teamId, records.length + 1, PAGE);
    records.push(...page);
    if (page.length < PAGE) return records;
  }
}
