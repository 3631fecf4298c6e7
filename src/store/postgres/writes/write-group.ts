/**
 * Runs the scripts of a group side by side in one transaction, with the outcomes they have one after the other: what
 * they ask next goes out together. A script that has read what one before it then changes begins anew. Source:
 * decision 0036.
 */
import { Refusal } from '../../../errors.ts';
import { ask, type Load, type NumberedType } from '../../../pims/writes/script.ts';
import type { Query } from '../../pims/load-sql.ts';
import type { ScriptSql } from '../../pims/script-sql.ts';
import type { Statement } from '../../writing.ts';
import type { Connection } from '../connection/connection.ts';
import { loadTogether, saveTogether } from './merge-sql.ts';
import { RunningScript, type Begin } from './running-script.ts';
import { changeAll, FORGOTTEN, loadName, sourceOf, type Loaded } from './write-conflicts.ts';

interface Asked {
  readonly load: Load;
  readonly query: Query<unknown>;
  readonly source: string;
  readonly name: string;
}

/** The counters of a tenant. */
export interface Counters {
  /** The SQL that takes some numbers of one. */
  readonly take: () => string;
  /** What each would give next if no other node took any: whether that number is free can be asked before. */
  readonly expected: Map<NumberedType, number>;
}

const NUMBERED = ['orders', 'customers'] as const;

/** A script was refused after it took what only the end of the transaction gives back: each has to run by itself. */
class RunApart extends Error {}

export class WriteGroup {
  readonly #connection: Connection;
  readonly #counters: Counters;
  readonly #scripts: readonly RunningScript[];
  readonly #loaded = new Map<string, Loaded>();
  #done = 0;
  /** What is saved and not sent yet. */
  #statements: Statement[] = [];

  constructor(connection: Connection, begins: readonly Begin[], counters: Counters) {
    this.#connection = connection;
    this.#counters = counters;
    this.#scripts = begins.map((begin) => new RunningScript(begin));
  }

  /** Gives their outcomes. `lock` resolves once it has the tenant, and says whether the dictionaries have changed. */
  async run(lock: Promise<boolean>): Promise<unknown[]> {
    // What the scripts load first goes out behind the lock.
    for (const script of this.#scripts) this.#goOn(script);
    const loads = this.#sendLoads();
    loads.catch(() => undefined);
    const isOld = await lock;
    await loads;
    if (isOld) this.#restartAll();
    while (this.#done < this.#scripts.length) {
      for (const script of this.#scripts.slice(this.#done)) {
        this.#goOn(script);
        if (script.isDone && script === this.#scripts[this.#done]) this.#finish(script);
      }
      const first = this.#scripts[this.#done];
      if (first?.isAlone) await this.#runAlone(first);
      else if (first) await this.#sendLoads();
    }
    this.#sendSaves();
    return this.#scripts.map(({ outcome }) => outcome);
  }

  /** What was loaded with the dictionaries before lacks the fields that are new. */
  #restartAll(): void {
    this.#loaded.clear();
    for (const script of this.#scripts) script.restart();
  }

  /** Goes on with a script as far as what it asks is known. */
  #goOn(script: RunningScript): void {
    if (!script.started && !script.isDone) script.goOn(undefined);
    while (script.load && !script.isAlone) {
      const { load } = script;
      const source = sourceOf(load);
      if (source === undefined || (load.name === 'nextNumber' && script.changes.has(source))) {
        script.isAlone = true;
        return;
      }
      if (load.name === 'nextNumber') {
        const number = script.takeNumber(load.args[0]);
        if (number === undefined) return;
        script.goOn(number);
        continue;
      }
      script.sources.add(source);
      const found = script.find(load, source, this.#loaded.get(source));
      if (!found) return;
      if (found.value === FORGOTTEN) script.isAlone = true;
      else script.goOn(found.value);
    }
  }

  /** Takes what a script has saved for done. Those behind it that have read it begin anew. */
  #finish(script: RunningScript): void {
    if (script.outcome instanceof Refusal) this.#undo(script);
    this.#done++;
    this.#statements.push(...script.takeStatements());
    for (const [source, { saves }] of script.changes) {
      const loaded = this.#loaded.get(source);
      if (loaded) for (const save of saves) changeAll(loaded, save, script.started!.sql.dictionaries);
    }
    if (script.changes.size === 0) return;
    for (const other of this.#scripts.slice(this.#done))
      if (!other.sources.isDisjointFrom(script.changes)) other.restart();
  }

  /** Takes back what a refused script has done. Nothing of it was sent, but the numbers it took are counted. */
  #undo(script: RunningScript): void {
    if (script.hasNumbers) this.#endApart(script.outcome as Refusal);
    script.discard();
  }

  /** Ends the transaction, so that nothing of it stays. */
  #endApart(refusal: Refusal): never {
    throw this.#scripts.length === 1 ? refusal : new RunApart();
  }

  /** Sends what is saved, and what all scripts ask next. */
  async #sendLoads(): Promise<void> {
    this.#sendSaves();
    const asked = new Map<string, Asked>();
    const counting: Record<NumberedType, RunningScript[]> = { orders: [], customers: [] };
    for (const script of this.#scripts.slice(this.#done)) {
      const { load, started, isAlone } = script;
      if (!load || isAlone) continue;
      const wanted = [load, ...(load.ahead ?? [])];
      for (const one of wanted) if (one.name !== 'nextNumber') this.#want(asked, started!.sql, one);
      for (const recordType of NUMBERED) {
        const counted = wanted.filter((one) => one.name === 'nextNumber' && one.args[0] === recordType).length;
        const given = script.unused(recordType);
        const expected = this.#counters.expected.get(recordType);
        const numbers: (string | number)[] = [...given];
        for (let missing = counted - given.length; missing > 0; missing--) {
          if (expected !== undefined) numbers.push(expected + counting[recordType].length);
          counting[recordType].push(script);
        }
        for (const number of numbers) this.#want(asked, started!.sql, ask('isThere', recordType, String(number)));
      }
    }
    const loads = [...asked.values()];
    const answers = loadTogether(
      this.#connection,
      loads.map(({ query }) => query),
    );
    const numbers = NUMBERED.map((type) => this.#takeAll(type, counting[type]));
    const all = await Promise.all([...answers, ...numbers]);
    for (const [at, { load, query, source, name }] of loads.entries()) {
      let loaded = this.#loaded.get(source);
      if (!loaded) this.#loaded.set(source, (loaded = new Map()));
      loaded.set(name, { load, value: query.parse(all[at]!) });
    }
  }

  #want(asked: Map<string, Asked>, sql: ScriptSql, load: Load): void {
    const [source, name] = [sourceOf(load), loadName(load)];
    if (source === undefined) return;
    if (asked.has(`${source} ${name}`) || this.#loaded.get(source)?.has(name)) return;
    const build = sql.loads[load.name] as (...args: unknown[]) => Query<unknown>;
    asked.set(`${source} ${name}`, { load, query: build(...load.args), source, name });
  }

  /** Takes a number for each of these scripts, as often as it is there. */
  async #takeAll(recordType: NumberedType, scripts: readonly RunningScript[]): Promise<[]> {
    if (scripts.length === 0) return [];
    const { take, expected } = this.#counters;
    const [first] = await this.#connection.query<[number]>(take(), [scripts.length, recordType]);
    expected.set(recordType, first![0] + scripts.length);
    for (const [at, { numbers }] of scripts.entries()) numbers[recordType].push(String(first![0] + at));
    return [];
  }

  #sendSaves(): void {
    saveTogether(this.#connection, this.#statements.splice(0));
  }

  /** The rest of the first script, statement by statement. All others begin anew. */
  async #runAlone(script: RunningScript): Promise<void> {
    const { sql } = script.started!;
    const send = (): void => {
      this.#statements.push(...script.takeStatements());
      this.#sendSaves();
    };
    send();
    while (script.load) {
      const { name, args } = script.load;
      const query = (sql.loads[name] as (...of: unknown[]) => Query<unknown>)(...args);
      script.goOn(query.parse(await this.#connection.query(query.sql, query.values)));
      send();
    }
    if (script.outcome instanceof Refusal && script.saves.length > 0) this.#endApart(script.outcome);
    this.#done++;
    this.#loaded.clear();
    for (const other of this.#scripts.slice(this.#done)) other.restart();
  }
}
