/**
 * Runs the scripts of a group concurrently in one transaction, with the same outcomes as one after the other. It sends
 * their next loads together. A script restarts if an earlier one changes a value that it has read.
 */
import { Refusal } from '../../../errors.ts';
import type { Load } from '../../../pims/writes/script.ts';
import type { Query } from '../../pims/load-sql.ts';
import type { ScriptSql } from '../../pims/script-sql.ts';
import type { Statement } from '../../writing.ts';
import type { Connection } from '../connection/connection.ts';
import { loadTogether, saveTogether } from './merge-sql.ts';
import { RunningScript, type Begin, type NextNumbers } from './running-script.ts';
import { changeAll, FORGOTTEN, loadName, sourceOf, type Loaded } from './write-conflicts.ts';

/** A load that is about to be sent. */
interface WantedLoad {
  readonly load: Load;
  readonly query: Query<unknown>;
  readonly source: string;
  readonly name: string;
}

/** The values that a transaction reads when it locks the tenant. */
export interface Locked {
  /** Whether the dictionaries have changed since the scripts were started. */
  readonly isOld: boolean;
  readonly next: NextNumbers;
}

/** A script was refused after some of its statements were sent: each script has to run in its own transaction. */
class RunApart extends Error {}

export class WriteGroup {
  readonly #connection: Connection;
  readonly #scripts: readonly RunningScript[];
  readonly #loaded = new Map<string, Loaded>();
  /** The number of scripts that are done. All later scripts run ahead of their turn, so they may have to restart. */
  #done = 0;
  /** The next numbers after the scripts that are done, and those in the database. Before the lock, they are a guess. */
  #next: NextNumbers;
  #saved: NextNumbers | undefined;
  /** The statements that have not been sent yet. */
  #statements: Statement[] = [];

  constructor(connection: Connection, begins: readonly Begin[], expected: NextNumbers = new Map()) {
    this.#connection = connection;
    this.#next = expected;
    this.#scripts = begins.map((begin) => new RunningScript(begin));
  }

  /** Runs all scripts and returns their outcomes. `lock` resolves once the tenant is locked. */
  async runScripts(lock: Promise<Locked>): Promise<unknown[]> {
    // The first loads are sent with the lock, without waiting for it.
    this.#continueAll();
    const loads = this.#sendLoads();
    loads.catch(() => undefined);
    const { isOld, next } = await lock;
    await loads;
    [this.#next, this.#saved] = [new Map(next), next];
    if (isOld) this.#restartAll();
    while (this.#done < this.#scripts.length) {
      this.#continueAll();
      const first = this.#scripts[this.#done];
      if (first?.isAlone) await this.#runAlone(first);
      else if (first) await this.#sendLoads();
    }
    this.#saveCounters();
    this.#sendSaves();
    return this.#scripts.map(({ outcome }) => outcome);
  }

  /** The next numbers of the counters after all scripts. */
  get next(): NextNumbers {
    return this.#next;
  }

  #restartAll(): void {
    this.#loaded.clear();
    for (const script of this.#scripts.slice(this.#done)) script.restart();
  }

  /** Continues each script as far as its loads are known, and finishes the scripts whose turn it is. */
  #continueAll(): void {
    // A script expects the numbers after those of the earlier scripts.
    const next = new Map(this.#next);
    for (const script of this.#scripts.slice(this.#done)) {
      if ([...script.numbers].some(([recordType, { first }]) => first !== next.get(recordType))) script.restart();
      this.#continue(script, next);
      for (const [recordType, { first, count }] of script.numbers) next.set(recordType, first + count);
      if (this.#saved && script.isDone && !script.isAlone && script === this.#scripts[this.#done]) this.#finish(script);
    }
  }

  #continue(script: RunningScript, next: NextNumbers): void {
    if (!script.started && !script.isDone) script.continue();
    while (script.load && !script.isAlone) {
      const { load } = script;
      if (load.name === 'nextNumber' && !script.raised.has(load.args[0])) {
        const first = next.get(load.args[0]);
        if (first === undefined) return;
        script.continueWithNumber(load.args[0], first);
        continue;
      }
      const source = sourceOf(load);
      if (source !== undefined) script.sources.add(source);
      const found = source === undefined ? { value: FORGOTTEN } : script.find(load, source, this.#loaded.get(source));
      if (!found) return;
      if (found.value === FORGOTTEN) script.isAlone = true;
      else script.continue(found.value);
    }
  }

  /** Applies the saves of a script to the loaded values, and restarts later scripts that have read the old ones. */
  #finish(script: RunningScript): void {
    this.#done++;
    this.#statements.push(...script.takeStatements());
    this.#count(script);
    for (const [source, { saves }] of script.changes) {
      const loaded = this.#loaded.get(source);
      if (loaded) for (const save of saves) changeAll(loaded, save, script.started!.sql.dictionaries);
    }
    if (script.changes.size === 0) return;
    for (const other of this.#scripts.slice(this.#done))
      if (!other.sources.isDisjointFrom(script.changes)) other.restart();
  }

  /** Moves the counters past the numbers of a script. */
  #count({ numbers, raised }: RunningScript): void {
    for (const [recordType, { first, count }] of numbers) this.#next.set(recordType, first + count);
    for (const [recordType, number] of raised)
      this.#next.set(recordType, Math.max(this.#next.get(recordType)!, number + 1));
  }

  #saveCounters(): void {
    const { sql } = this.#scripts.find(({ started }) => started)?.started ?? {};
    for (const [recordType, number] of this.#next)
      if (sql && number > this.#saved!.get(recordType)!) {
        this.#statements.push(...sql.saves.raiseCounter(recordType, BigInt(number - 1)));
        this.#saved!.set(recordType, number);
      }
  }

  /** Sends the saves of finished scripts, and the loads that all others wait for. */
  async #sendLoads(): Promise<void> {
    this.#sendSaves();
    const wanted = new Map<string, WantedLoad>();
    for (const { load, started, isAlone } of this.#scripts.slice(this.#done))
      if (load && !isAlone) for (const one of [load, ...(load.ahead ?? [])]) this.#want(wanted, started!.sql, one);
    const loads = [...wanted.values()];
    const queries = loads.map(({ query }) => query);
    const all = await Promise.all(loadTogether(this.#connection, queries));
    for (const [at, { load, query, source, name }] of loads.entries()) {
      let loaded = this.#loaded.get(source);
      if (!loaded) this.#loaded.set(source, (loaded = new Map()));
      loaded.set(name, { load, value: query.parse(all[at]!) });
    }
  }

  #want(wanted: Map<string, WantedLoad>, sql: ScriptSql, load: Load): void {
    const [source, name] = [sourceOf(load), loadName(load)];
    if (source === undefined || this.#loaded.get(source)?.has(name)) return;
    if (!wanted.has(`${source} ${name}`))
      wanted.set(`${source} ${name}`, { load, query: buildQuery(sql, load), source, name });
  }

  #sendSaves(): void {
    saveTogether(this.#connection, this.#statements.splice(0));
  }

  /** Runs the rest of the first script, statement by statement. All others restart. */
  async #runAlone(script: RunningScript): Promise<void> {
    const { sql } = script.started!;
    this.#sendSaves();
    let isSent = false;
    for (;;) {
      this.#count(script);
      script.forgetNumbers();
      this.#saveCounters();
      this.#statements.push(...script.takeStatements());
      isSent ||= this.#statements.length > 0;
      this.#sendSaves();
      const { load } = script;
      if (!load) break;
      const query = buildQuery(sql, load);
      const loaded = query.parse(await this.#connection.query(query.sql, query.values));
      if (load.name === 'nextNumber') this.#next.set(load.args[0], Number(loaded) + 1);
      script.continue(loaded);
    }
    if (script.outcome instanceof Refusal && isSent) throw this.#scripts.length === 1 ? script.outcome : new RunApart();
    this.#done++;
    this.#restartAll();
  }
}

const buildQuery = (sql: ScriptSql, { name, args }: Load): Query<unknown> =>
  (sql.loads[name] as (...of: unknown[]) => Query<unknown>)(...args);
