/** `storeroom keys …`: issues a tenant's API ID and secret. The secret is printed once. */
import { Option, type Command } from 'commander';
import { byCommand } from '../../audit/entry.ts';
import { issueKey } from '../../tenant/credentials.ts';
import { endOfOverlap, OVERLAPS_MS, type Overlap } from '../../tenant/keys.ts';
import { addCommand, addGroup, printAnswer, type CommandContext, type CommandOptions } from '../command.ts';
import { withTenant } from '../open-store.ts';
import { buildTable } from '../text-table.ts';

export function addKeyCommands(program: Command, { environment }: CommandContext): void {
  const group = addGroup(program, 'keys', 'keys replace acme').description("Issue a tenant's API ID and secret.");
  addCommand(group, 'replace <team>', 'keys replace acme --overlap 24h')
    .description('Issue new keys. The old keys end at once, or after an overlap. The secret is shown only here.')
    .addOption(new Option('--overlap <time>', 'how long the old keys stay valid').choices(Object.keys(OVERLAPS_MS)))
    .action(async (teamId: string, options: CommandOptions & { overlap?: Overlap }) => {
      const { overlap = 'none' } = options;
      const key = issueKey();
      const now = Date.now();
      const oldEndsAt = endOfOverlap(overlap, now);
      const entry = byCommand(new Date(now).toISOString(), 'keys replaced', key.apiId, { overlap });
      await withTenant(environment, teamId, ({ store }) => store.tenants.replaceKeys(teamId, key, oldEndsAt, entry));
      const shown = { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret };
      const end = overlap === 'none' ? 'Older keys have ended.' : `Older keys end at ${oldEndsAt}.`;
      printAnswer(options, shown, `${buildTable(Object.entries(shown))}\n\nThe secret is not shown again. ${end}`);
    });
}
