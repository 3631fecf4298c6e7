/**
 * `storeroom keys …`: issues a tenant's API ID and secret. The secret is shown here once and kept nowhere; the store gets its hash.
 */
import { Option, type Command } from 'commander';
import { byCommand } from '../audit/entry.ts';
import { issueKey } from '../tenant/credentials.ts';
import { endOfOverlap, OVERLAPS_MS, type Overlap } from '../tenant/keys.ts';
import { addCommand, addGroup, answer, type AnswerOptions, type CommandContext } from './command.ts';
import { findTenant, withStore } from './data.ts';
import { buildTable } from './table.ts';

export function addKeyCommands(program: Command, { environment }: CommandContext): void {
  const keys = addGroup(program, 'keys', {
    summary: "Issue a tenant's API ID and secret.",
    example: 'keys replace acme',
  });
  addCommand(keys, 'replace <team>', {
    summary: 'Issue new keys. Those before them end at once, or after an overlap. The secret is shown only here.',
    example: 'keys replace acme --overlap 24h',
  })
    .addOption(new Option('--overlap <time>', 'how long the old keys stay good').choices(Object.keys(OVERLAPS_MS)))
    .action(async (teamId: string, options: AnswerOptions & { overlap?: Overlap }) => {
      const { overlap = 'none' } = options;
      const key = issueKey();
      const now = Date.now();
      const oldEndsAt = endOfOverlap(overlap, now);
      const entry = byCommand(new Date(now).toISOString(), 'keys replaced', key.apiId, { overlap });
      await withStore(environment, async (store) => {
        await findTenant(store, teamId);
        await store.tenants.replaceKeys(teamId, key, oldEndsAt, entry);
      });
      const shown = { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret };
      const end = overlap !== 'none' ? `Keys issued before end at ${oldEndsAt}.` : 'Keys issued before have ended.';
      answer(options, shown, `${buildTable(Object.entries(shown))}\n\nThe secret is not shown again. ${end}`);
    });
}
