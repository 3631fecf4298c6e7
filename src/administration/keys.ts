/** Keys: lists, creates, replaces, renames and ends pairs. Only the answer that issues a secret contains it. */
import { entryBy } from '../audit/audit.ts';
import { formatTime } from '../clock.ts';
import { orThrow, refuseField } from '../errors.ts';
import { objectOf, oneOf, required, textOf, type TypedSchema } from '../json-schema.ts';
import { createPair, replacePair } from '../tenant/issued-pairs.ts';
import { checkKeyName, DAYS_MAX, OVERLAPS, SCOPES } from '../tenant/keys.ts';
import { action, withHelp } from './action.ts';

export const SHOWN_ONCE = 'The secret is not shown again.';
const NOT_ENDED = 'There is no valid key with this API ID. List the keys to see all pairs.';
const days: TypedSchema<number> = { type: 'integer', minimum: 1, maximum: DAYS_MAX };

export const KEYS = {
  'POST /keys': action({
    about: 'Create a pair for another program. The secret is shown only here.',
    role: 'developer',
    proof: 'recent',
    takes: objectOf(
      {
        name: textOf('name of the pair, such as its purpose; unique within the tenant'),
        scope: withHelp(oneOf(SCOPES), 'read allows only operations that read, office also the back office', {
          default: 'write',
        }),
      },
      { days: withHelp(days, 'days until it expires (default: never)') },
    ),
    notes: 'keys created',
    /** Throws COMMAND_REFUSED for a wrong name or too many pairs. */
    run: ({ tenants, teamId, actor }, given) => createPair(tenants, teamId, given, actor),
    command: 'keys create <team>',
    example: '--name reports --scope read',
    show: (_, printed) => [printed, SHOWN_ONCE],
  }),
  'GET /keys': action({
    about: 'List the pairs that are valid, without secrets.',
    role: 'viewer',
    isLong: true,
    /** Returns the current pairs, oldest first, then replaced pairs that have not ended. */
    run: async ({ tenants, usage, logCounts, requestLog, teamId, actor }) => {
      await requestLog.settled();
      const now = formatTime(actor.nowMs);
      const [keys, uses, lastUses, { byKey }] = await Promise.all([
        tenants.listKeys(teamId, now),
        logCounts.loadKeyUses(teamId),
        usage.loadLastUses(teamId),
        usage.loadUsage(teamId, now.slice(0, 7)),
      ]);
      const view = ({ apiId: apiID, name, scope, issuedAt, issuedBy, endsAt, isReplaced }: (typeof keys)[number]) => {
        const use = uses.find(({ apiId }) => apiId === apiID);
        // Counts and request log are written at different moments.
        const times = [lastUses.get(apiID), use?.usedAt].filter((time) => time !== undefined);
        return {
          apiID,
          name,
          scope,
          issuedAt,
          issuedBy,
          isReplaced,
          /** The expiry, or null for a pair that does not expire. */
          endsAt: endsAt || null,
          /** The exact number of calls this month (UTC). */
          monthCalls: byKey.find(({ apiId }) => apiId === apiID)?.calls ?? 0,
          lastUsedAt: times.toSorted().at(-1) ?? null,
          lastUsedFrom: use?.client ?? null,
          /** The last time the secret was sent in a URL, which logs may have kept. */
          lastUsedInUrlAt: use?.usedInUrlAt || null,
        };
      };
      return { keys: keys.map(view) };
    },
    command: 'keys list <team>',
    show: ({ teamID, keys }) => [
      keys.length === 0
        ? `${teamID} has no keys.`
        : [
            ['API ID', 'NAME', 'SCOPE', 'CREATED', 'ENDS', 'LAST USED'],
            ...keys.map(({ apiID, name, scope, issuedAt, endsAt, lastUsedAt }) => {
              return [apiID, name, scope, issuedAt, endsAt ?? 'never', lastUsedAt ?? 'never'];
            }),
          ],
    ],
    json: ({ keys }) => ({
      keys: keys.map(({ apiID, name, scope, issuedAt: createdAt, endsAt, lastUsedAt }) => {
        return { apiID, name, scope, createdAt, endsAt, lastUsedAt };
      }),
    }),
  }),
  'POST /keys/replace': action({
    about:
      'Replace a pair, or issue the first. The old pair ends at once or after an overlap. The secret is shown only here.',
    role: 'developer',
    proof: 'recent',
    takes: objectOf(
      {
        overlap: withHelp(oneOf(OVERLAPS), 'how long the old pair stays valid', {
          default: 'none',
          title: 'overlap <time>',
        }),
      },
      {
        name: textOf(
          'name of the pair to replace, which the new pair keeps (default: the pair named default, or else the oldest)',
          { title: 'key <name>' },
        ),
      },
    ),
    notes: 'keys replaced',
    run: async ({ tenants, teamId, actor }, { name: asked, overlap }) => {
      const { pair, ...about } = await replacePair(tenants, teamId, asked, overlap, actor);
      return { ...pair, ...about };
    },
    command: 'keys replace <team>',
    example: '--overlap 24h',
    json: ({ apiID, apiSecret }) => ({ apiID, apiSecret }),
    show: ({ name, overlap, oldKeysEndAt }, printed) => {
      const end = overlap === 'none' ? 'have ended' : `end at ${oldKeysEndAt}`;
      return [printed, `${SHOWN_ONCE} Older keys with the name ${name} ${end}.`];
    },
  }),
  'POST /keys/rename': action({
    about: 'Rename a pair.',
    role: 'developer',
    proof: 'recent',
    takes: objectOf({ apiID: required(), name: textOf() }),
    notes: 'keys renamed',
    check: ({ name }) => checkKeyName(name),
    /** Throws NOT_FOUND. */
    run: async ({ tenants, teamId, actor }, { apiID, name }) => {
      orThrow(await tenants.renameKeys(teamId, apiID, name, entryBy(actor, 'keys renamed', apiID, { name })));
    },
  }),
  'POST /keys/end': action({
    about: 'Revoke a pair at once. Its usage is kept.',
    role: 'developer',
    proof: 'recent',
    takes: objectOf({ apiID: textOf() }),
    notes: 'key ended',
    /** Throws NOT_FOUND. */
    run: async ({ tenants, teamId, actor }, { apiID }) => {
      const isEnded = await tenants.endKey(teamId, apiID, entryBy(actor, 'key ended', apiID));
      if (!isEnded) throw refuseField('NOT_FOUND', 'apiID', NOT_ENDED);
      return { endsAt: formatTime(actor.nowMs) };
    },
    command: 'keys end <team> <apiID>',
    show: ({ apiID }) => [`Ended ${apiID}.`],
  }),
};
