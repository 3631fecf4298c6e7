/**
 * PostgreSQL's UsageStore: metered calls in the control schema, added by all nodes. A batch is one statement that commits by itself and carries the node
 * and a sequence number, so that one sent again after its answer was lost is added once. Source: decision 0020.
 */
import { randomUUID } from 'node:crypto';
import { Refusal } from '../../errors.ts';
import type { MonthUsage, UsageCount, UsageStore } from '../../tenant/port.ts';
import { CONTROL } from './migrate.ts';
import type { SharedConnection } from './shared-connection.ts';

const NODES = `${CONTROL}."USAGE_NODES"`;
const USAGE = `${CONTROL}."USAGE"`;
const MONTHS = `${CONTROL}."USAGE_MONTHS"`;
const FORGOTTEN_AFTER = '7 days';

/**
 * A batch that is there already changes nothing and only reads the totals. One sent before it and still on its way somewhere holds or waits for the row
 * of its node, so the two cannot both find it missing. Rows are touched in one order by all nodes, so that none waits for another in a circle.
 */
const ADD = `WITH batch AS (
    INSERT INTO ${NODES} AS n VALUES (?, ?, now()) ON CONFLICT ("NODE") DO UPDATE SET "SEQUENCE" = excluded."SEQUENCE", "SEEN_AT" = now()
      WHERE n."SEQUENCE" < excluded."SEQUENCE" RETURNING 1
  ), days AS (
    INSERT INTO ${USAGE} AS u SELECT team, day, operation, calls FROM unnest(?::text[], ?::text[], ?::text[], ?::bigint[]) AS c(team, day, operation, calls)
      WHERE EXISTS (SELECT 1 FROM batch) ORDER BY team, day, operation
      ON CONFLICT ("TEAM_ID", "DAY", "OPERATION") DO UPDATE SET "CALLS" = u."CALLS" + excluded."CALLS" RETURNING 1
  ), months AS (
    INSERT INTO ${MONTHS} AS m SELECT team, month, calls FROM unnest(?::text[], ?::text[], ?::bigint[]) AS c(team, month, calls)
      WHERE EXISTS (SELECT 1 FROM batch) AND (SELECT count(*) FROM days) >= 0 ORDER BY team, month
      ON CONFLICT ("TEAM_ID", "MONTH") DO UPDATE SET "CALLS" = m."CALLS" + excluded."CALLS" RETURNING "TEAM_ID", "MONTH", "CALLS"
  )
  SELECT "TEAM_ID", "MONTH", "CALLS" FROM months`;
const READ_TOTALS = `SELECT m."TEAM_ID", m."MONTH", m."CALLS" FROM unnest(?::text[], ?::text[]) AS c(team, month) JOIN ${MONTHS} m ON m."TEAM_ID" = team AND m."MONTH" = month`;
const READ_MONTH = `SELECT "DAY", "OPERATION", "CALLS" FROM ${USAGE} WHERE "TEAM_ID" = ? AND "DAY" BETWEEN ? AND ? ORDER BY "DAY", "OPERATION"`;
const LIST_MONTHS = `SELECT "MONTH", "CALLS" FROM ${MONTHS} WHERE "TEAM_ID" = ? ORDER BY "MONTH" DESC LIMIT 36`;
const FORGET_NODES = `DELETE FROM ${NODES} WHERE "SEEN_AT" < now() - interval '${FORGOTTEN_AFTER}'`;

/** The call's own records may have been written before it could not be counted. */
const uncounted = ({ code, retryAfterSeconds = 1 }: Refusal): Refusal =>
  new Refusal(
    code === 'STORAGE_FULL' ? code : 'STORE_UNAVAILABLE',
    'The call could not be counted. The outcome of a write is unknown.',
    { retryAfterSeconds },
  );

export class PostgresUsageStore implements UsageStore {
  readonly #connection: SharedConnection;
  readonly #node = randomUUID();
  #sequence = 0;

  constructor(connection: SharedConnection) {
    this.#connection = connection;
  }

  /** One batch at a time: a node's sequence numbers have to arrive in their order. */
  async addUsage(counts: readonly UsageCount[]): Promise<ReadonlyMap<string, number>> {
    if (this.#sequence === 0) await this.#connection.ask(FORGET_NODES, []);
    const months = new Map<string, { team: string; month: string; calls: number }>();
    for (const { teamId, day, calls } of counts) {
      const month = day.slice(0, 7);
      const sum = months.get(`${teamId} ${month}`);
      if (sum) sum.calls += calls;
      else months.set(`${teamId} ${month}`, { team: teamId, month, calls });
    }
    const sums = [...months.values()];
    const of = [sums.map(({ team }) => team), sums.map(({ month }) => month)];
    const days = [
      counts.map(({ teamId }) => teamId),
      counts.map(({ day }) => day),
      counts.map(({ operation }) => operation),
      counts.map(({ calls }) => calls),
    ];
    type Total = [string, string, number];
    let totals: Total[];
    try {
      totals = await this.#connection.ask<Total>(ADD, [
        this.#node,
        ++this.#sequence,
        ...days,
        ...of,
        sums.map(({ calls }) => calls),
      ]);
      if (totals.length === 0) totals = await this.#connection.ask<Total>(READ_TOTALS, of);
    } catch (fault) {
      throw fault instanceof Refusal ? uncounted(fault) : fault;
    }
    return new Map(totals.map(([team, month, calls]) => [`${team} ${month}`, calls]));
  }

  async loadUsage(teamId: string, month: string): Promise<MonthUsage> {
    const rows = await this.#connection.ask<[string, string, number]>(READ_MONTH, [
      teamId,
      `${month}-00`,
      `${month}-99`,
    ]);
    const byDay = rows.map(([day, operation, calls]) => ({ day, operation, calls }));
    return { total: byDay.reduce((sum, { calls }) => sum + calls, 0), byDay };
  }

  async listMonths(teamId: string): Promise<{ month: string; calls: number }[]> {
    const rows = await this.#connection.ask<[string, number]>(LIST_MONTHS, [teamId]);
    return rows.map(([month, calls]) => ({ month, calls }));
  }
}
