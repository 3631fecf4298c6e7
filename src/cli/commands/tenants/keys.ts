/** `storeroom keys …`: creates, lists, replaces and ends a tenant's named pairs of keys. Prints each secret once. */
import { InvalidArgumentError, Option } from 'commander';
import { byCommand } from '../../../audit/audit.ts';
import { formatTime } from '../../../clock.ts';
import { orThrow, refuseField } from '../../../errors.ts';
import { issueKey } from '../../../tenant/credentials.ts';
import {
  checkKeyName,
  DAYS_MAX,
  endOfDays,
  endOfOverlap,
  type Overlap,
  OVERLAPS,
  type Scope,
  SCOPES,
} from '../../../tenant/keys.ts';
import { addCommand, addGroup, buildTable, printAnswer, timeOf, type AddCommands } from '../../command.ts';
import { addTenantCommand, withTenant } from '../../open-store.ts';

const SHOWN_ONCE = 'The secret is not shown again.';

export const addKeyCommands: AddCommands = (program, context) => {
  const description = "Create, list, replace and end a tenant's keys, which are pairs of API ID and secret.";
  const group = addGroup(program, 'keys', 'keys create acme --name reports --scope read', description);
  addCreateCommand(group, context);
  addListCommand(group, context);
  addReplaceCommand(group, context);
  addEndCommand(group, context);
};

const addCreateCommand: AddCommands = (group, context) => {
  const description = 'Create a pair for another program. The secret is shown only here.';
  addCommand(group, 'create <team>', 'keys create acme --name reports --scope read', description)
    .requiredOption('--name <name>', 'name of the pair, such as its purpose; unique within the tenant')
    .addOption(new Option('--scope <scope>', 'read allows only operations that read (default: write)').choices(SCOPES))
    .option('--days <days>', 'days until it expires (default: never)', parseDays)
    .action(async (teamId: string, { name, scope = 'write', days }: { name: string; scope?: Scope; days?: number }) => {
      checkKeyName(name);
      const key = issueKey();
      const now = context.clock.now();
      const end = endOfDays(days, now);
      const entry = byCommand(formatTime(now), 'keys created', key.apiId, { name, scope, endsAt: end });
      await withTenant(context, teamId, async ({ store }) =>
        orThrow(await store.tenants.createKeys(teamId, { ...key, name, scope }, end, entry)),
      );
      const { apiId: apiID, apiSecret } = key;
      const pair = { teamID: teamId, apiID, apiSecret, name, scope, endsAt: end || null };
      const rows = Object.entries(pair).map(([member, value]) => [member, value ?? 'never']);
      printAnswer(context, pair, `${buildTable(rows)}\n\n${SHOWN_ONCE}`);
    });
};

const addListCommand: AddCommands = (group, context) => {
  const description = 'List the pairs that are valid, without secrets.';
  addTenantCommand(group, context, 'list <team>', 'keys list acme', description, async ({ store, teamId }) => {
    const found = await store.tenants.listKeys(teamId, timeOf(context.clock));
    const lastUses = await store.usage.loadLastUses(teamId);
    const keys = found.map(({ apiId, name, scope, issuedAt, endsAt }) => {
      const times = { createdAt: issuedAt, endsAt: endsAt || null, lastUsedAt: lastUses.get(apiId) ?? null };
      return { apiID: apiId, name, scope, ...times };
    });
    const head = ['API ID', 'NAME', 'SCOPE', 'CREATED', 'ENDS', 'LAST USED'];
    const rows = keys.map((key) => Object.values(key).map((value) => value ?? 'never'));
    return [{ keys }, keys.length === 0 ? `${teamId} has no keys.` : buildTable([head, ...rows])];
  });
};

const addReplaceCommand: AddCommands = (group, context) => {
  const description =
    'Replace a pair, or issue the first. The old pair ends at once or after an overlap. The secret is shown only here.';
  addTenantCommand(
    group,
    context,
    'replace <team>',
    'keys replace acme --overlap 24h',
    description,
    async ({ store, teamId }, { key: name, overlap = 'none' }: { key?: string; overlap?: Overlap }) => {
      const key = issueKey();
      const now = context.clock.now();
      const oldEndsAt = endOfOverlap(overlap, now);
      const entry = byCommand(formatTime(now), 'keys replaced', key.apiId, { overlap });
      const terms = orThrow(await store.tenants.replaceKeys(teamId, key, oldEndsAt, entry, name));
      const shown = { teamID: teamId, apiID: key.apiId, apiSecret: key.apiSecret };
      const old = `Older keys with the name ${terms.name}`;
      const end = overlap === 'none' ? `${old} have ended.` : `${old} end at ${oldEndsAt}.`;
      return [shown, `${buildTable(Object.entries(shown))}\n\n${SHOWN_ONCE} ${end}`];
    },
  )
    .option(
      '--key <name>',
      'name of the pair to replace, which the new pair keeps (default: the pair named default, or else the oldest)',
    )
    .addOption(new Option('--overlap <time>', 'how long the old pair stays valid (default: none)').choices(OVERLAPS));
};

const addEndCommand: AddCommands = (group, context) => {
  const example = 'keys end acme sr_id_2VwWy7hmf0nqTzrTUpGSWk';
  const description = 'End a pair at once. Its usage is kept.';
  addTenantCommand(
    group,
    context,
    'end <team> <apiID>',
    example,
    description,
    async ({ store, teamId }, apiID: string) => {
      const endsAt = timeOf(context.clock);
      const entry = byCommand(endsAt, 'key ended', apiID);
      const isEnded = await store.tenants.endKey(teamId, apiID, entry);
      const missing = `${teamId} has no valid keys with this API ID; \`storeroom keys list ${teamId}\` shows all.`;
      if (!isEnded) throw refuseField('COMMAND_REFUSED', 'apiID', missing);
      return [{ apiID, endsAt }, `Ended ${apiID}.`];
    },
  );
};

function parseDays(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= DAYS_MAX) return Number(text);
  throw new InvalidArgumentError(`It must be a whole number of days from 1 to ${DAYS_MAX}.`);
}
