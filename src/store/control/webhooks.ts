/**
 * The endpoints of webhooks, their secrets, which are stored encrypted, their deliveries and the lease of the sender,
 * in any SQL store.
 */
import { randomBytes } from 'node:crypto';
import { orThrow, refuseCommand, type Outcome } from '../../errors.ts';
import type { AuditEntry } from '../../audit/audit.ts';
import { openFor, sealFor } from '../../tenant/secrets.ts';
import { DELIVERIES_MAX, OLD_SECRETS_MAX, WEBHOOKS_MAX } from '../../webhooks/webhooks.ts';
import type { Attempt, Delivery, Progress, Webhook, WebhookStore } from '../../webhooks/webhooks-port.ts';
import { yieldRow, yieldRows, statement, type Bound, type Row, type Statement, type Writing } from '../sql/writing.ts';
import { appendAudit, audited } from './audit.ts';
import {
  changesRow,
  commitWriting,
  commitRow,
  insertRow,
  isPlain,
  listColumns,
  loadRecords,
  toRecord,
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
type WebhookOwner = Pick<Webhook, 'teamId' | 'id'>;
interface StoredWebhook extends Omit<Webhook, 'types' | 'secret'> {
  readonly types: string;
  readonly sealedSecret: Uint8Array;
  readonly sealingKey: Uint8Array;
}

const ownerOf = ({ teamId, id }: WebhookOwner) => `webhook ${teamId} ${id}`;
const seal = (owner: WebhookOwner, secret: Uint8Array, key: Uint8Array) => sealFor(ownerOf(owner), secret, key);

function toWebhook(found: Row): Webhook {
  const { types, sealedSecret, sealingKey, oldSecret, ...webhook } = toRecord<StoredWebhook>(
    [...WEBHOOK, 'sealingKey'],
    found,
  );
  const unseal = (sealed: Uint8Array) => openFor(ownerOf(webhook), sealed, sealingKey);
  return {
    ...webhook,
    types: types.split(' '),
    secret: unseal(sealedSecret),
    oldSecret: (oldSecret && unseal(oldSecret)) ?? null,
  };
}

/** Returns the columns of an endpoint with a new secret. Throws COMMAND_REFUSED if too many old ones still sign. */
function replaceSecret(before: Webhook, secret: Uint8Array, endsAt: string, now: string, key: Uint8Array) {
  const { secret: replaced = secret, oldSecret, oldSecretEndsAt } = before;
  const ends = oldSecretEndsAt.split(' ').filter((end) => end > now);
  if (ends.length >= OLD_SECRETS_MAX)
    throw refuseCommand(`The secret was replaced ${OLD_SECRETS_MAX} times in 24 hours. Try again later.`);
  const kept = Buffer.concat([replaced, oldSecret ?? secret], secret.length * (ends.length + 1));
  return {
    sealedSecret: seal(before, secret, key),
    oldSecret: seal(before, kept, key),
    oldSecretEndsAt: [endsAt, ...ends].join(' '),
  };
}

/** Condition of a statement about one endpoint. */
const THIS_WEBHOOK = '"TEAM_ID" = ? AND "ID" = ?';
/** Maximum number of old deliveries that one transaction deletes. */
const DELETED_MAX = 500;

export function makeWebhookStore(db: ControlDatabase): WebhookStore {
  const { schema } = db;
  const [webhooks, sender, secrets] = [`${schema}"WEBHOOKS"`, `${schema}"WEBHOOK_SENDER"`, `${schema}"SECRETS"`];
  // Loads the key with the secrets, because it can be replaced at any time.
  const select = `SELECT ${listColumns(WEBHOOK, 'w')}, s."SECRET" FROM ${webhooks} w
    JOIN ${secrets} s ON s."NAME" = 'webhooks' WHERE `;
  const loadWebhooks = async (where: string, ...values: Bound[]) =>
    (await db.readRows(select + where, ...values)).map(toWebhook);
  /** Makes a change. Locks the key of the secrets before any other row, which avoids deadlocks. */
  const commitChange = <T>(teamId: string, entry: AuditEntry | null, work: (key: Uint8Array) => Writing<Outcome<T>>) =>
    db.transaction(function* () {
      const lock = `UPDATE ${secrets} SET "SECRET" = "SECRET" WHERE "NAME" = 'webhooks' RETURNING "SECRET"`;
      const [key] = (yield* yieldRow<[Uint8Array]>(lock))!;
      return yield* audited(schema, teamId, entry, () => work(key));
    });
  /** Changes an endpoint, and informs the sender if a row changed. */
  const changeOne = function* (change: Statement): Writing<boolean> {
    const isChanged = yield* changesRow(change);
    if (isChanged) yield noteChange(schema);
    return isChanged;
  };
  return {
    addWebhook: ({ types, secret, ...webhook }, entry) =>
      commitChange(webhook.teamId, entry, function* (key) {
        const count = `SELECT count(*) FROM ${webhooks} WHERE "TEAM_ID" = ?`;
        const [found] = (yield* yieldRow<[number]>(count, webhook.teamId))!;
        if (found >= WEBHOOKS_MAX)
          return refuseCommand(`The tenant has ${WEBHOOKS_MAX} webhooks, the maximum. Remove one first.`);
        const sealed = { sealedSecret: seal(webhook, secret!, key), oldSecret: null };
        yield insertRow(webhooks, { ...webhook, ...sealed, types: types.join(' ') });
        yield noteChange(schema);
        return undefined;
      }),
    listWebhooks: (teamId) =>
      teamId === undefined
        ? loadWebhooks('TRUE ORDER BY "ID"')
        : loadWebhooks('"TEAM_ID" = ? ORDER BY "CREATED_AT", "ID"', teamId),
    findWebhook: async (teamId, id) => (isPlain(id) ? (await loadWebhooks(THIS_WEBHOOK, teamId, id))[0] : undefined),
    changeWebhook: async (teamId, id, { secret, oldSecretEndsAt, ...changed }, entry) =>
      isPlain(id) &&
      commitChange(teamId, entry, function* (key) {
        const found = yield* yieldRow<Row>(select + THIS_WEBHOOK, teamId, id);
        if (!found) return false;
        yield statement(`UPDATE ${webhooks} SET "REVISION" = "REVISION" + 1 WHERE ${THIS_WEBHOOK}`, teamId, id);
        const sealed = secret && replaceSecret(toWebhook(found), secret, oldSecretEndsAt!, entry.at, key);
        return yield* changeOne(updateRows(webhooks, { ...changed, ...sealed }, THIS_WEBHOOK, teamId, id));
      }).then(orThrow),
    removeWebhook: async (teamId, id, entry) =>
      isPlain(id) &&
      commitChange(teamId, entry, () =>
        changeOne(statement(`DELETE FROM ${webhooks} WHERE ${THIS_WEBHOOK}`, teamId, id)),
      ).then(orThrow),
    replaceSealingKey: (entry) =>
      commitChange('', null, function* () {
        const key = randomBytes(32); // of AES-256
        const found = (yield* yieldRows(`${select}TRUE ORDER BY "TEAM_ID"`)).map(toWebhook);
        for (const teamId of new Set(found.map((webhook) => webhook.teamId))) yield* appendAudit(schema, teamId, entry);
        for (const { secret, oldSecret, ...webhook } of found) {
          // A secret that cannot be decrypted stays so.
          if (!secret) continue;
          const sealedSecret = seal(webhook, secret, key);
          const old = oldSecret && seal(webhook, oldSecret, key);
          yield updateRows(webhooks, { sealedSecret, oldSecret: old }, '"ID" = ?', webhook.id);
        }
        yield updateRows(secrets, { secret: key }, `"NAME" = 'webhooks'`);
        return found.length;
      }).then(orThrow),
    ...ofDeliveries(db),
    async loadLease() {
      const has = `EXISTS (SELECT 1 FROM ${webhooks})`;
      const sql = `SELECT "OWNER", "TICK", "CHANGES", CAST(${has} AS INTEGER) FROM ${sender}`;
      const [found] = await db.readRows<[string, number, number, number]>(sql);
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
      return commitWriting(db, function* () {
        if (!(yield* changesRow(updateRows(webhooks, set, where, id, revision, before)))) return false;
        yield* addDeliveries(id, attempts);
        return true;
      });
    },
    addTest: ({ id }, attempt) => commitWriting(db, () => addDeliveries(id, [attempt])),
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
        commitWriting(db, function* () {
          return (yield* yieldRows(sql, at)).length;
        });
      while ((await deleteSome()) === DELETED_MAX);
    },
  } satisfies Partial<WebhookStore>;

  /** Adds deliveries, and deletes those beyond the maximum. Adds none to an endpoint that was removed. */
  function* addDeliveries(id: string, attempts: readonly Attempt[]): Writing<void> {
    if (attempts.length === 0) return;
    const count = `UPDATE ${webhooks} SET "DELIVERIES" = "DELIVERIES" + ? WHERE "ID" = ? RETURNING "DELIVERIES"`;
    const last = yield* yieldRow<[number]>(count, attempts.length, id);
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
