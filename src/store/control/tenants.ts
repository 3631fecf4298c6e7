/**
 * The part of TenantStore that is the same for every SQL store: tenants as they are read, their settings, and the replacing of keys. How a caller is
 * found, and how a tenant is made and removed, each store has for itself.
 */
import { Refusal, type Outcome } from '../../errors.ts';
import type { AuditEntry } from '../../audit/entry.ts';
import type { KeyView, Tenant, TenantSettings } from '../../tenant/port.ts';
import { appendAudit, lockAudit } from './audit-store.ts';
import { insist, isPlain, type Control } from './database.ts';
import { row, write, type Writing } from '../writing.ts';

export type TenantRow = [
  string,
  string,
  string,
  string,
  TenantSettings['defaultStage'],
  number,
  number | null,
  number | null,
];

/** Of a table TENANTS that the statement names `t`. */
export const TENANT_COLUMNS =
  't."TEAM_ID", t."NAME", t."CREATED_AT", t."STORE_ID", t."DEFAULT_STAGE", CAST(t."STRICT" AS INTEGER), t."MONTH_QUOTA", t."CALLS_PER_SECOND"';

export function toTenant([
  teamId,
  name,
  createdAt,
  storeId,
  defaultStage,
  strict,
  monthQuota,
  callsPerSecond,
]: TenantRow): Tenant {
  return { teamId, name, createdAt, storeId, defaultStage, strict: strict === 1, monthQuota, callsPerSecond };
}

/** What a tenant begins with. */
export const FIRST_SETTINGS: TenantSettings = {
  defaultStage: 'worksheet',
  strict: false,
  monthQuota: null,
  callsPerSecond: null,
};
export const refuseTaken = (teamId: string): Refusal =>
  new Refusal('COMMAND_REFUSED', `There is a tenant '${teamId}' already (upper and lower case count as the same).`);

export abstract class Tenants {
  protected readonly control: Control;

  constructor(control: Control) {
    this.control = control;
  }

  async findTenant(teamId: string): Promise<Tenant | undefined> {
    if (!isPlain(teamId)) return undefined;
    const [found] = await this.control.read<TenantRow>(
      `SELECT ${TENANT_COLUMNS} FROM ${this.control.schema}"TENANTS" t WHERE t."TEAM_ID" = ?`,
      teamId,
    );
    return found && toTenant(found);
  }

  async listTenants(): Promise<Tenant[]> {
    return (
      await this.control.read<TenantRow>(
        `SELECT ${TENANT_COLUMNS} FROM ${this.control.schema}"TENANTS" t ORDER BY t."TEAM_ID"`,
      )
    ).map(toTenant);
  }

  updateTenant(
    teamId: string,
    settings: TenantSettings & { readonly name: string },
    entry: AuditEntry | null,
  ): Promise<void> {
    return insist(this.control.change(() => updateTenant(this.control.schema, teamId, settings, entry)));
  }

  replaceKeys(
    teamId: string,
    key: { apiId: string; secretHash: Uint8Array },
    oldEndsAt: string,
    entry: AuditEntry,
  ): Promise<void> {
    return insist(this.control.change(() => replaceKeys(this.control.schema, teamId, key, oldEndsAt, entry)));
  }

  async listKeys(teamId: string, now: string): Promise<KeyView[]> {
    const rows = await this.control.read<[string, string, string, string]>(
      `SELECT "API_ID", "ISSUED_AT", "ISSUED_BY", "ENDS_AT" FROM ${this.control.schema}"API_KEYS" WHERE "TEAM_ID" = ? AND ("ENDS_AT" = '' OR "ENDS_AT" > ?)
        ORDER BY "ENDS_AT" = '' DESC, "ISSUED_AT" DESC, "API_ID"`,
      teamId,
      now,
    );
    return rows.map(([apiId, issuedAt, issuedBy, endsAt]) => ({ apiId, issuedAt, issuedBy, endsAt }));
  }

  endKey(teamId: string, apiId: string, entry: AuditEntry): Promise<boolean> {
    return insist(this.control.change(() => endKey(this.control.schema, teamId, apiId, entry)));
  }
}

function* updateTenant(
  schema: string,
  teamId: string,
  settings: TenantSettings & { name: string },
  entry: AuditEntry | null,
): Writing<Outcome<void>> {
  const { name, defaultStage, strict, monthQuota, callsPerSecond } = settings;
  const head = entry && (yield* lockAudit(schema, teamId));
  const set = '"NAME" = ?, "DEFAULT_STAGE" = ?, "STRICT" = ?, "MONTH_QUOTA" = ?, "CALLS_PER_SECOND" = ?';
  const update = `UPDATE ${schema}"TENANTS" SET ${set} WHERE "TEAM_ID" = ?`;
  yield write(update, name, defaultStage, Number(strict), monthQuota, callsPerSecond, teamId);
  if (head && entry) yield* appendAudit(head, entry);
}

/** Of two replacements at once, on whatever nodes, the second ends the key of the first: the head of the audit log lines them up. */
function* replaceKeys(
  schema: string,
  teamId: string,
  { apiId, secretHash }: { apiId: string; secretHash: Uint8Array },
  oldEndsAt: string,
  entry: AuditEntry,
): Writing<Outcome<void>> {
  const keys = `${schema}"API_KEYS"`;
  const head = yield* lockAudit(schema, teamId);
  yield write(
    `UPDATE ${keys} SET "ENDS_AT" = ? WHERE "TEAM_ID" = ? AND ("ENDS_AT" = '' OR "ENDS_AT" > ?)`,
    oldEndsAt,
    teamId,
    oldEndsAt,
  );
  yield write(`DELETE FROM ${keys} WHERE "TEAM_ID" = ? AND "ENDS_AT" <> '' AND "ENDS_AT" <= ?`, teamId, entry.at);
  const insert = `INSERT INTO ${keys} ("API_ID", "TEAM_ID", "SECRET_HASH", "ISSUED_AT", "ENDS_AT", "ISSUED_BY") VALUES (?, ?, ?, ?, '', ?)`;
  yield write(insert, apiId, teamId, secretHash, entry.at, entry.actor);
  yield* appendAudit(head, entry);
}

function* endKey(schema: string, teamId: string, apiId: string, entry: AuditEntry): Writing<Outcome<boolean>> {
  if (!isPlain(apiId)) return false;
  const head = yield* lockAudit(schema, teamId);
  const ended = `DELETE FROM ${schema}"API_KEYS" WHERE "TEAM_ID" = ? AND "API_ID" = ? AND "ENDS_AT" <> '' AND "ENDS_AT" > ? RETURNING 1`;
  if (!(yield* row(ended, teamId, apiId, entry.at))) return false;
  yield* appendAudit(head, entry);
  return true;
}
