/**
 * PostgreSQL's PimsStore: one tenant's inventory system in one schema. Writes go through the group commit. Source:
 * decision 0020.
 */
import { orThrow, type Outcome } from '../../errors.ts';
import type { RecordType } from '../../pims/rules/fields.ts';
import type { ImportBatches, ImportResult, ImportResults } from '../../pims/import.ts';
import type { ImportOptions, PimsStore } from '../../pims/pims-port.ts';
import type { NumberedType } from '../../pims/writes/script.ts';
import { makeScriptRunner } from '../pims/script-runner.ts';
import type { Connection } from './connection/connection.ts';
import { joinCells, makeSqlFollower } from './reads/pims-sql.ts';
import { makeTenantReads, type ReadConnections } from './tenant-reads.ts';
import { runGroup, type Locked } from './writes/write-group.ts';
import { makePostgresQueue, type PostgresWriteQueueOptions } from './writes/write-queue.ts';

export interface PimsConnections extends ReadConnections, Omit<PostgresWriteQueueOptions, 'lock'> {
  /** Opens a separate connection without time limits, for long work, once the tenant is ready. */
  readonly openOwn: () => Promise<Connection>;
}

const EXPORT_ROWS = 500;

export function openPimsStore(schema: string, connections: PimsConnections): PimsStore {
  const { ready, openOwn, onCommit } = connections;
  const follower = makeSqlFollower(schema, connections.reader);
  const { sql } = follower;
  const reads = makeTenantReads(schema, connections, follower);
  const lock = async (connection: Connection): Promise<Locked> => {
    const versions = connection.query<[number]>(sql().lock);
    const counters = connection.query<[NumberedType, number]>(sql().counters);
    // If the lock failed, report the fault of the lock, because this fault is only its consequence.
    counters.catch(() => undefined);
    await follower.follow((await versions)[0]![0], connection);
    return { sql: sql().script(), next: new Map(await counters) };
  };
  const enqueueScript = makePostgresQueue({ ...connections, lock });
  const scripts = makeScriptRunner({
    sql: () => sql().script(),
    refresh: reads.dictionaries,
    commitScript: async (begin, size) => {
      await ready;
      return enqueueScript(begin, size);
    },
  });
  async function* importAtOnce(recordType: RecordType, batches: ImportBatches, options: ImportOptions): ImportResults {
    // An open transaction ends with its connection, even if the reader of the results stops.
    await using connection = await openOwn();
    try {
      connection.beginTransaction();
      let locked = lock(connection);
      let rejected = 0;
      for await (const rows of batches) {
        const startBatch = () => scripts.importBatch(recordType, rows, options);
        const { outcomes, next } = await runGroup(connection, [startBatch], locked);
        locked = Promise.resolve({ ...(await locked), next });
        const imported = orThrow(outcomes[0] as Outcome<ImportResult>);
        rejected += imported.rejected.length;
        yield imported;
      }
      if (rejected > 0) return;
      await connection.commitTransaction();
      onCommit();
    } catch (fault) {
      throw connection.sentFault ?? fault;
    }
  }
  return {
    ...reads,
    write: scripts.runWrite,
    async *importRows(...of) {
      yield* of[2].atomic ? importAtOnce(...of) : scripts.importEach(...of);
      // Updates the statistics, so that the next query is planned for the new rows.
      await using connection = await openOwn();
      await connection.execute(sql().measure(of[0]));
    },
    async *exportRows(...of) {
      await using connection = await openOwn();
      await connection.execute('BEGIN READ ONLY');
      await connection.execute(`DECLARE everything NO SCROLL CURSOR FOR ${sql().rows(...of)}`);
      const fetchRows = (): Promise<[string][]> => {
        const rows = connection.query<[string]>(`FETCH ${EXPORT_ROWS} FROM everything`);
        // The loop throws this fault when it awaits the rows.
        rows.catch(() => undefined);
        return rows;
      };
      for (let ahead = fetchRows(); ;) {
        const rows = await ahead;
        if (rows.length === 0) return;
        // The server reads the next rows while these are used.
        ahead = fetchRows();
        yield joinCells(rows.map(([record]) => record));
      }
    },
  };
}
