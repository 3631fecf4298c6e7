/** Opens PostgreSQL for a move. A row in the control schema marks an unfinished move into the database. */
import type { Clock } from '../../clock.ts';
import { refuseCommand } from '../../errors.ts';
import { buildInserter, QUERIES, type MoveStore, type Table, type TableRow } from '../move/tables.ts';
import type { Row } from '../sql/writing.ts';
import { sqlStateOf, type StatementValues } from './connection/connection.ts';
import { CONTROL } from './migrate.ts';
import { scriptDialect } from './reads/pims-sql.ts';
import { openPostgres, READ_MOVE } from './store.ts';
import { saveTogether } from './writes/merge-sql.ts';

const NAME = 'storeroom move';
const MOVE_LOCK = 7_301_128;
/** Time for the connections of a killed move to disappear. */
const ALONE_WAIT_MS = 5000;
/** Time for the connections of a command that has just ended to disappear. */
const OTHERS_WAIT_MS = 1000;
const OTHERS_RETRY_MS = 100;
const LOCK_NOT_AVAILABLE = '55P03';
/** Names of other sessions that write. */
const OTHERS = `SELECT application_name FROM pg_stat_activity
  WHERE datname = current_database() AND application_name IN ('storeroom serve', 'storeroom command')`;
/** Opens a database, which messages call `name`. */
export async function openMove(url: string, name: string, clock: Clock, refusesEmpty: boolean): Promise<MoveStore> {
  const own = { connections: 1, name: NAME, movedAs: name, refusesEmpty, clock };
  const store = await openPostgres({ ...QUERIES, url, ...own });
  const connection = await store.openOwn();
  const askOwn = <R extends Row>(sql: string, values: StatementValues | TableRow = []): Promise<R[]> =>
    connection.query<R>(sql, values);
  const findOther = async (): Promise<string | undefined> => (await askOwn<[string]>(OTHERS))[0]?.[0];
  return {
    tenants: store.tenants,
    pims: (tenant) => store.pims(tenant),

    /** Locks out other moves during the session. It detects a running service, but cannot lock it out. */
    async takeAlone() {
      try {
        await askOwn(`SELECT set_config('lock_timeout', '${ALONE_WAIT_MS}', false), pg_advisory_lock(${MOVE_LOCK})`);
      } catch (fault) {
        if (sqlStateOf(fault) !== LOCK_NOT_AVAILABLE) throw fault;
        throw refuseCommand(`Another move into or out of ${name} is running.`);
      }
      const giveUpAt = clock.elapsed() + OTHERS_WAIT_MS;
      let other = await findOther();
      while (other !== undefined && clock.elapsed() < giveUpAt) {
        await clock.sleep(OTHERS_RETRY_MS);
        other = await findOther();
      }
      if (other !== undefined)
        throw refuseCommand(
          `A service or a command is running on ${name} (\`${other}\`). Stop it, and keep it stopped during the move.`,
        );
    },
    isUnfinished: async () => (await askOwn(READ_MOVE)).length > 0,
    async beginMove() {
      await askOwn(`INSERT INTO ${CONTROL}."MOVE" VALUES ('')`);
    },
    async finishMove() {
      await askOwn('ANALYZE');
      await askOwn(`DELETE FROM ${CONTROL}."MOVE"`);
    },

    readTable: (table, build, values) => askOwn(build(nameTable(table, table.name)), values),
    async clearTable(table) {
      await askOwn(`DELETE FROM ${nameTable(table, table.name)}`);
    },
    async insertRows(table, rows) {
      const insert = buildInserter(
        table,
        nameTable(table, table.name),
        scriptDialect((tableName) => nameTable(table, tableName)),
      );
      connection.beginTransaction();
      saveTogether(connection, rows.flatMap(insert));
      try {
        await connection.commitTransaction();
      } catch (fault) {
        if (sqlStateOf(fault) === undefined) throw fault;
        const first = `${table.key.join(' and ')} ${rows[0]!.slice(0, table.key.length).join(' and ')}`;
        const which = `${table.name}${table.tenant ? ` of ${table.tenant.teamId}` : ''}, from ${first} on`;
        throw refuseCommand(`${name} refuses the rows of ${which}: ${(fault as Error).message}`);
      }
    },
    async close() {
      await connection.close();
      await store.close();
    },
  };
}

const nameTable = ({ tenant }: Table, name: string): string => `${tenant ? `"${tenant.storeId}"` : CONTROL}."${name}"`;
