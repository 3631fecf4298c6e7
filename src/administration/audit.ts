/** The audit log: shows it, and checks that it is complete and unchanged. */
import type { AuditRecord } from '../audit/audit.ts';
import { verifyAudit } from '../audit/chain.ts';
import { matching, objectOf } from '../json-schema.ts';
import { action, POSITION, withHelp } from './action.ts';

const AUDIT_PAGE = 100;
const PAGE_CHARACTERS_MAX = 1024 * 1024;
const COMMAND_PAGE = 1000;
const COLUMNS = ['number', 'at', 'actor', 'action', 'target', 'client'] as const;

/** Ends a page before its JSON exceeds 1 MiB. It has at least one row. */
function endPage<T>(rows: readonly T[]): T[] {
  let characters = 0;
  return rows.filter((row, at) => (characters += JSON.stringify(row).length) <= PAGE_CHARACTERS_MAX || at === 0);
}

export const AUDIT = {
  'GET /audit': action({
    about: 'Print the audit log, oldest first.',
    role: 'owner',
    takes: objectOf({}, { before: POSITION }),
    isLong: true,
    /** Returns at most 100 records, newest first. */
    run: async ({ audit, teamId }, { before = Number.MAX_SAFE_INTEGER }) => {
      const records = endPage(await audit.loadAudit(teamId, Number(before), AUDIT_PAGE));
      const last = records.at(-1)?.number ?? 1;
      /** `next` is the `before` of the next page. */
      return { records, next: last > 1 ? last : null };
    },
    command: 'audit list <team>',
    example: '--json',
    runWhole: async ({ audit, teamId }) => {
      const records: AuditRecord[] = [];
      for (;;) {
        const page = await audit.loadAuditFrom(teamId, records.length + 1, COMMAND_PAGE);
        records.push(...page);
        if (page.length < COMMAND_PAGE) return { records };
      }
    },
    show: ({ records }) => [
      [COLUMNS.map((name) => name.toUpperCase()), ...records.map((record) => COLUMNS.map((name) => record[name]))],
    ],
  }),
  'GET /audit/verify': action({
    about: 'Check that no record of the audit log was changed, removed or added. Exits with 1 if one was.',
    role: 'owner',
    takes: objectOf(
      {},
      {
        head: withHelp(
          matching('^[0-9a-f]{64}$'),
          'hash that an earlier check printed: also check that its record is still there',
          { title: 'head <hash>', $comment: 'be 64 hexadecimal digits in lowercase' },
        ),
      },
    ),
    isLong: true,
    /** Returns the hash of the last record. Kept elsewhere, it proves later that no earlier record was changed. */
    run: async ({ audit, teamId, ended }, { head: kept }) => {
      const checked = await verifyAudit(audit, teamId, { kept, ended });
      return { isWhole: checked.fault === null, ...checked };
    },
    command: 'audit verify <team>',
    show: ({ teamID, records, head, fault }) => {
      const last = head && ` The hash of the last one is ${head}. Keep it elsewhere to check the log later.`;
      return [
        fault
          ? `The audit log of ${teamID} is NOT intact. Record ${fault.number}: ${fault.reason}.`
          : `The audit log of ${teamID} is intact: ${records} records.${last}`,
      ];
    },
    hasFailed: ({ isWhole }) => !isWhole,
  }),
};
