/** `storeroom keys …`: creates, lists, replaces and ends a tenant's named pairs of keys. Prints each secret once. */
import { Option } from 'commander';
import { byCommand } from '../../../audit/audit.ts';
import { refuseField } from '../../../errors.ts';
import { createPair, DAYS_MAX, type Overlap, OVERLAPS, replacePair, type Scope, SCOPES } from '../../../tenant/keys.ts';
import { addGroup, buildTable, byOperator, parseWhole, timeOf, type AddCommands } from '../../command.ts';
import { addTenantCommand } from '../../open-store.ts';

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
  const example = 'keys create acme --name reports --scope read';
  addTenantCommand(
    group,
    context,
    'create <team>',
    example,
    description,
    async ({ store, teamId }, { scope = 'write', ...wanted }: { name: string; scope?: Scope; days?: number }) => {
      const pair = await createPair(store.tenants, teamId, { ...wanted, scope }, byOperator(context.clock.now()));
      const rows = Object.entries(pair).map(([member, value]) => [member, value ?? 'never']);
      return [pair, `${buildTable(rows)}\n\n${SHOWN_ONCE}`];
    },
  )
    .requiredOption('--name <name>', 'name of the pair, such as its purpose; unique within the tenant')
    .addOption(new Option('--scope <scope>', 'read allows only operations that read (default: write)').choices(SCOPES))
    .option('--days <days>', 'days until it expires (default: never)', parseWhole(1, DAYS_MAX));
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
    async ({ store, teamId }, { key, overlap = 'none' }: { key?: string; overlap?: Overlap }) => {
      const actor = byOperator(context.clock.now());
      const { pair, name, oldKeysEndAt } = await replacePair(store.tenants, teamId, key, overlap, actor);
      const old = `Older keys with the name ${name}`;
      const end = overlap === 'none' ? `${old} have ended.` : `${old} end at ${oldKeysEndAt}.`;
      return [pair, `${buildTable(Object.entries(pair))}\n\n${SHOWN_ONCE} ${end}`];
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
