/**
 * The reads of one tenant's records. A small response is kept and found again until any record of its tenant changes
 * (decision 0009). Other reads run on the event loop if the response is probably small, and in a thread if it was large
 * the last time.
 */
import { orThrow, Refusal, settle, type Outcome } from '../../errors.ts';
import type { PimsStore } from '../../pims/pims-port.ts';
import type { Turns } from '../../tenant/turns.ts';
import { CUT_SHORT, faultOf, type Database, type OnFatal } from './files/database.ts';
import { makeLook } from '../pims/look-sql.ts';
import { makeLookups } from '../pims/lookups.ts';
import type { WorkerPool } from './workers/worker-pool.ts';
import { makeEntryCounts } from './reads/entry-counts.ts';
import type { SqlitePimsSql } from './reads/pims-sql.ts';
import { countAllCharacters, runRead, TOO_LONG, type FoundBy, type Read } from './reads/run-read.ts';
import type { RoundReader } from './reads/round-reader.ts';

export interface TenantReadsOptions {
  readonly workers: WorkerPool;
  readonly turns: Turns;
  readonly kept: KeptAnswers;
  readonly queryBudgetMs: number;
  readonly onFatal: OnFatal;
}

/** The connection that reads, and the state of the tenant's file. */
interface ReadConnection {
  readonly db: Database;
  readonly reader: RoundReader;
  /** Returns the SQL for the fields in the last snapshot. */
  readonly sql: () => SqlitePimsSql;
  /** Number of the file's state in the last snapshot. */
  readonly epoch: () => number;
}

/** Budget of a read on the event loop. A read that needs more is repeated in a thread. */
const LOOP_BUDGET = { ms: 5, isEnded: () => false };
/** A read whose result has more characters runs in a thread the next time. */
const LOOP_CHARACTERS_MAX = 256 * 1024;
/** Longer pages would displace everything else, because even two filters have thousands of pages. */
const KEPT_PAGE_CHARACTERS_MAX = 8 * 1024;
const neverGone = (): AbortSignal => new AbortController().signal;

type ReadPorts = Pick<
  PimsStore,
  'getOrder' | 'getRecord' | 'queryRecords' | 'viewOrders' | 'viewOrdersOfEach' | 'look'
>;

export function makeTenantReads(
  connection: ReadConnection,
  options: TenantReadsOptions,
): ReadPorts & { readonly close: () => void } {
  const { db, sql } = connection;
  const { runTenantRead, close } = makeReads(connection, options);
  const counts = makeEntryCounts(db);
  return {
    close,
    getOrder: (key, signal = neverGone) =>
      runTenantRead(`order ${key}`, () => ({ kind: 'order', sql: sql().orderWithLines, key }) as const, signal),
    getRecord: (recordType, key) => {
      const buildRecordRead = () => ({ kind: 'record', sql: sql().records[recordType], key }) as const;
      return runTenantRead(`${recordType} ${key}`, buildRecordRead, neverGone).then(orThrow);
    },
    queryRecords(recordType, request) {
      const { signal, ...asked } = request;
      const buildPageRead = () => sql().buildPageSql(recordType, request, counts);
      return runTenantRead(`page ${recordType} ${JSON.stringify(asked)}`, buildPageRead, signal);
    },
    look: makeLook(
      () => sql().script.looks,
      (query, signal) => runTenantRead('look', () => ({ kind: 'rows', ...query }) as const, signal),
    ),
    ...makeLookups((referenceNumbers, { recordsMax, signal }) => {
      const buildLookupRead = () =>
        ({ kind: 'lookup', sql: sql().ordersByReference, referenceNumbers, recordsMax }) as const;
      return runTenantRead(`lookup ${recordsMax} ${referenceNumbers.join('\0')}`, buildLookupRead, signal);
    }),
  };
}

/** Makes the function that reads, on the event loop or in a thread. */
function makeReads(
  { db, reader, sql, epoch }: ReadConnection,
  { workers, turns, kept, queryBudgetMs: budgetMs, onFatal }: TenantReadsOptions,
) {
  const { file } = db;
  /** Number of this tenant in the keys of kept responses. It is shorter than the name of the file. */
  const tenant = kept.newEpoch();
  let largeReads = 0;
  let isClosed = false;
  /** Lets the threads close the file when it is closed here and they have no more work. */
  const releaseThreads = () => {
    if (isClosed && largeReads === 0) workers.forget(file);
  };

  /** Reads in a thread when it is the tenant's turn, and again if a process has added a field in the meantime. */
  const readLarge = async <R extends Read>(
    read: R,
    ofTenant: string,
    build: () => R,
    signal: () => AbortSignal,
  ): Promise<Outcome<FoundBy<R>>> => {
    const used = sql();
    largeReads++;
    try {
      const found = await turns.runInTurn(file, signal, (turn) =>
        workers.askWorker<FoundBy<R>>({ kind: 'read', file, read, budgetMs }, turn),
      );
      // A new snapshot has every commit that the thread can have seen, and its answer waits until they are on disk.
      return isClosed || (await reader.readInRound(sql)) === used
        ? found
        : await runTenantRead(ofTenant, build, signal);
    } catch (fault) {
      throw faultOf(fault) === 'fatal' ? onFatal(fault) : fault;
    } finally {
      largeReads--;
      releaseThreads();
    }
  };

  const runTenantRead = <R extends Read>(ofTenant: string, build: () => R, signal: () => AbortSignal) => {
    const key = `${tenant} ${ofTenant}`;
    return reader.readInRound((): Outcome<FoundBy<R>> | Promise<Outcome<FoundBy<R>>> => {
      const answer = kept.findAnswer(key, epoch());
      if (answer !== undefined) return answer as FoundBy<R>;
      const read = settle(build);
      if (read instanceof Refusal) return read;
      if (read.kind === 'rows' || (read.kind === 'page' && !read.isShort) || kept.large.has(key))
        return readLarge(read, ofTenant, build, signal);
      const found = runRead(db, read, 'loop', LOOP_BUDGET);
      const isUnfinished = found === CUT_SHORT || found === TOO_LONG;
      const characters = isUnfinished ? 0 : countAllCharacters(found);
      // A page that was cut short is not remembered as large: the event loop may have waited for a processor.
      const isLarge = found === TOO_LONG || (found === CUT_SHORT && read.kind === 'lookup');
      if (isLarge || characters > LOOP_CHARACTERS_MAX) kept.large.addKey(key);
      if (isUnfinished) return readLarge(read, ofTenant, build, signal);
      if (found !== undefined && (read.kind !== 'page' || characters + key.length <= KEPT_PAGE_CHARACTERS_MAX))
        kept.keep(key, epoch(), found, characters);
      return found;
    });
  };

  return {
    runTenantRead,
    close: (): void => {
      isClosed = true;
      releaseThreads();
    },
  };
}

interface KeptAnswer {
  readonly epoch: number;
  readonly answer: unknown;
  readonly characters: number;
}

/** Maximum characters of all kept responses. A character takes one or two bytes. */
const CHARACTERS_MAX = 24 * 1024 * 1024;
/** Maximum characters of a kept response. A larger one would displace too many others. */
const ANSWER_CHARACTERS_MAX = 64 * 1024;
/** Memory of an entry without its characters. */
const ENTRY_CHARACTERS = 200;
const RECENT_MAX = 8191;

export type KeptAnswers = ReturnType<typeof makeKeptAnswers>;

/** Keeps responses of all tenants within one bound. The oldest response is dropped first. */
export function makeKeptAnswers() {
  const byKey = new Map<string, KeptAnswer>();
  /**
   * Keys of small responses that were read once. A response is kept when it is read again, because keeping it costs
   * more than one read saves.
   */
  const small = makeRecentKeys();
  let characters = 0;
  let epochs = 0;
  const remove = (key: string) => {
    const kept = byKey.get(key);
    if (!kept) return;
    byKey.delete(key);
    characters -= kept.characters;
  };
  return {
    /** Keys of responses that were too large for the event loop. */
    large: makeRecentKeys(),
    /** Returns a number for one state of one tenant's records. No other state has it. */
    newEpoch: () => ++epochs,
    /** Returns the response if it was read in this epoch. */
    findAnswer(key: string, epoch: number): unknown {
      const kept = byKey.get(key);
      return kept?.epoch === epoch ? kept.answer : undefined;
    },
    keep(key: string, epoch: number, answer: unknown, length: number) {
      if (length > ANSWER_CHARACTERS_MAX || !small.addKey(key)) return;
      remove(key);
      const size = length + key.length + ENTRY_CHARACTERS;
      byKey.set(key, { epoch, answer, characters: size });
      characters += size;
      for (const oldest of byKey.keys()) {
        if (characters <= CHARACTERS_MAX) break;
        remove(oldest);
      }
    },
  };
}

/** Remembers keys that were added lately, by their hash. A newer key can replace an older one. */
function makeRecentKeys() {
  const hashes = new Int32Array(RECENT_MAX);
  return {
    has(key: string) {
      const hash = hashOf(key);
      return hashes[placeOf(hash)] === hash;
    },
    /** Returns whether the key was there. */
    addKey(key: string) {
      const hash = hashOf(key);
      const wasThere = hashes[placeOf(hash)] === hash;
      hashes[placeOf(hash)] = hash;
      return wasThere;
    },
  };
}

const placeOf = (hash: number) => (hash >>> 0) % RECENT_MAX;

function hashOf(key: string): number {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
  return hash;
}
