/** The endpoints of webhooks, their deliveries and the lease of the sender, in any SQL store. */
import { orThrow, refuseCommand } from '../../errors.ts';
import type { KeyedType } from '../../pims/rules/fields.ts';
import { DELIVERIES_MAX, WEBHOOKS_MAX } from '../../webhooks/webhooks.ts';
import type { Attempt, Delivery, Progress, Webhook, WebhookStore } from '../../webhooks/webhooks-port.ts';
import { row, rows, statement, type Bound, type Statement, type Writing } from '../writing.ts';
import { commitAudited } from './audit.ts';
import {
  changesRow,
  commit,
  commitRow,
  insertRow,
  isPlain,
  loadRecords,
  loadSecret,
  updateRows,
  type ControlDatabase,
} from './control.ts';

const WEBHOOK = [
  'teamId',
  'id',
  'url',
  'types',
  'createdAt',
  'sealedSecret',
  'oldSecret',
  'oldSecretEndsAt',
  'position',
  'state',
  'reason',
  'failures',
  'nextTryAt',
  'deliveredAt',
  'revision',
] as const;
const DELIVERY = [
  'number',
  'seq',
  'type',
  'key',
  'at',
  'attempt',
  'status',
  'error',
  'durationMs',
  'request',
  'response',
  'nextTryAt',
] as const;
type StoredWebhook = Omit<Webhook, 'types'> & { readonly types: string };

/** Condition of a statement about one endpoint. */
const THIS_WEBHOOK = '"TEAM_ID" = ? AND "ID" = ?';
/** Maximum number of old deliveries that one transaction deletes. */
const DELETED_MAX = 500;

export function makeWebhookStore(db: ControlDatabase): WebhookStore {
  const { schema } = db;
  const [webhooks, sender] = [`${schema}"WEBHOOKS"`, `${schema}"WEBHOOK_SENDER"`];
  const load = async (where: string, ...values: Bound[]) => {
    const found = await loadRecords<StoredWebhook>(db, 'WEBHOOKS', WEBHOOK, where, ...values);
    return found.map((webhook) => ({ ...webhook, types: webhook.types.split(' ') as KeyedType[] }));
  };
  /** Changes an endpoint, and informs the sender if a row changed. */
  const changeOne = function* (change: Statement): Writing<boolean> {
    const isChanged = yield* changesRow(change);
    if (isChanged) yield noteChange(schema);
    return isChanged;
  };
  return {
    loadSealingKey: () => loadSecret(db, 'webhooks'),
    addWebhook: ({ types, ...webhook }, entry) =>
      commitAudited(db, webhook.teamId, entry, function* () {
        const count = `SELECT count(*) FROM ${webhooks} WHERE "TEAM_ID" = ?`;
        const [found] = (yield* row<[number]>(count, webhook.teamId))!;
        if (found >= WEBHOOKS_MAX)
          return refuseCommand(`The tenant has ${WEBHOOKS_MAX} webhooks, the maximum. Remove one first.`);
        yield insertRow(webhooks, { ...webhook, types: types.join(' ') });
        yield noteChange(schema);
        return undefined;
      }),
    listWebhooks: (teamId) =>
      teamId === undefined ? load('TRUE ORDER BY "ID"') : load('"TEAM_ID" = ? ORDER BY "CREATED_AT", "ID"', teamId),
    findWebhook: async (teamId, id) => (isPlain(id) ? (await load(THIS_WEBHOOK, teamId, id))[0] : undefined),
    changeWebhook: async (teamId, id, change, entry) =>
      isPlain(id) &&
      commitAudited(db, teamId, entry, function* () {
        yield statement(`UPDATE ${webhooks} SET "REVISION" = "REVISION" + 1 WHERE ${THIS_WEBHOOK}`, teamId, id);
        return yield* changeOne(updateRows(webhooks, { ...change }, THIS_WEBHOOK, teamId, id));
      }).then(orThrow),
    removeWebhook: async (teamId, id, entry) =>
      isPlain(id) &&
      commitAudited(db, teamId, entry, () =>
        changeOne(statement(`DELETE FROM ${webhooks} WHERE ${THIS_WEBHOOK}`, teamId, id)),
      ).then(orThrow),
    ...ofDeliveries(db),
    async loadLease() {
      const has = `EXISTS (SELECT 1 FROM ${webhooks})`;
      const sql = `SELECT "OWNER", "TICK", "CHANGES", CAST(${has} AS INTEGER) FROM ${sender}`;
      const [found] = await db.read<[string, number, number, number]>(sql);
      const [owner, tick, changes, hasWebhooks] = found!;
      return { owner, tick, changes, hasWebhooks: hasWebhooks === 1 };
    },
    takeLease: (owner, tick) => commitRow(db, updateRows(sender, { owner, tick: tick + 1 }, '"TICK" = ?', tick)),
  };
}

function ofDeliveries(db: ControlDatabase) {
  const [webhooks, deliveries] = [`${db.schema}"WEBHOOKS"`, `${db.schema}"WEBHOOK_DELIVERIES"`];
  return {
    saveProgress({ id, revision, position: before }, progress, attempts) {
      const { position, state, reason, failures, nextTryAt, deliveredAt }: Progress = progress;
      const set = { position, state, reason, failures, nextTryAt, deliveredAt };
      const where = '"ID" = ? AND "REVISION" = ? AND "POSITION" = ?';
      return commit(db, function* () {
        if (!(yield* changesRow(updateRows(webhooks, set, where, id, revision, before)))) return false;
        yield* addDeliveries(id, attempts);
        return true;
      });
    },
    addTest: ({ id }, attempt) => commit(db, () => addDeliveries(id, [attempt])),
    loadDeliveries: (id, before, from, limit) =>
      loadRecords<Delivery>(
        db,
        'WEBHOOK_DELIVERIES',
        DELIVERY,
        '"WEBHOOK_ID" = ? AND "NUMBER" < ? AND "AT" >= ? ORDER BY "NUMBER" DESC LIMIT ?',
        id,
        before,
        from,
        limit,
      ),
    async deleteDeliveriesBefore(at) {
      const old = `SELECT "WEBHOOK_ID", "NUMBER" FROM ${deliveries} WHERE "AT" < ? ORDER BY "AT" LIMIT ${DELETED_MAX}`;
      const sql = `DELETE FROM ${deliveries} WHERE ("WEBHOOK_ID", "NUMBER") IN (${old}) RETURNING 1`;
      const deleteSome = () =>
        commit(db, function* () {
          return (yield* rows(sql, at)).length;
        });
      while ((await deleteSome()) === DELETED_MAX);
    },
  } satisfies Partial<WebhookStore>;

  /** Adds deliveries, and deletes those beyond the maximum. Adds none to an endpoint that was removed. */
  function* addDeliveries(id: string, attempts: readonly Attempt[]): Writing<void> {
    if (attempts.length === 0) return;
    const count = `UPDATE ${webhooks} SET "DELIVERIES" = "DELIVERIES" + ? WHERE "ID" = ? RETURNING "DELIVERIES"`;
    const last = yield* row<[number]>(count, attempts.length, id);
    if (!last) return;
    const first = last[0] - attempts.length + 1;
    for (const [at, { seq, type, key, ...rest }] of attempts.entries())
      yield insertRow(deliveries, { webhookId: id, number: first + at, seq, type, key, ...rest });
    const beyond = `DELETE FROM ${deliveries} WHERE "WEBHOOK_ID" = ? AND "NUMBER" <= ?`;
    yield statement(beyond, id, last[0] - DELIVERIES_MAX);
  }
}

/** Builds the statement that informs the sender of an added, changed or removed endpoint. */
export const noteChange = (schema: string): Statement =>
  statement(`UPDATE ${schema}"WEBHOOK_SENDER" SET "CHANGES" = "CHANGES" + 1`);
