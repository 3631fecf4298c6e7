/**
 * `storeroom audit …`: the audit log of a tenant, and whether it is whole. Never changes it.
 */
import type { Command } from 'commander';
import { verifyAudit } from '../audit/chain.ts';
import type { AuditRecord } from '../audit/entry.ts';
import { addCommand, addGroup, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { withTenant } from './data.ts';
import { printable, buildTable } from './table.ts';

const PAGE = 1000;

export function addAuditCommands(program: Command, context: CommandContext): void {
  const { environment } = context;
  const group = addGroup(program, 'audit', {
    summary: 'Who did what when, and whether the log of it is whole.',
    example: 'audit verify acme',
  });
  addCommand(group, 'list <team>', {
    summary: 'Print the audit log, oldest first.',
    example: 'audit list acme --json',
  }).action(async (teamId: string, options: AnswerOptions) => {
    const records = await withTenant(environment, teamId, async ({ store }) => {
      const all: AuditRecord[] = [];
      for (let page: AuditRecord[] | undefined; page === undefined || page.length === PAGE;) {
        page = await store.audit.loadAuditFrom(teamId, all.length + 1, PAGE);
        all.push(...page);
      }
      return all;
    });
    const rows = records.map(({ number, at, actor, action, target, client }) =>
      [String(number), at, actor, action, target, client].map(printable),
    );
    answer(
      options,
      { teamID: teamId, records },
      buildTable([['NUMBER', 'AT', 'ACTOR', 'ACTION', 'TARGET', 'CLIENT'], ...rows]),
    );
  });
  addCommand(group, 'verify <team>', {
    summary: 'Check that no record of the audit log was changed, taken out or put in. Ends with 1 when one was.',
    example: 'audit verify acme',
  }).action(async (teamId: string, options: AnswerOptions) => {
    const { records, head, fault } = await withTenant(environment, teamId, ({ store }) =>
      verifyAudit(store.audit, teamId),
    );
    if (fault) context.exitCode = 1;
    const text = fault
      ? `The audit log of ${teamId} is NOT whole. Record ${fault.number}: ${fault.reason}.`
      : `The audit log of ${teamId} is whole: ${records} records${head === '' ? '' : `, the last with the hash ${head}`}. Keep that hash elsewhere; it proves later that nothing before it was changed.`;
    answer(options, { teamID: teamId, isWhole: fault === null, records, head, fault }, text);
  });
}
