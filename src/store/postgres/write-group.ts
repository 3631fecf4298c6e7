/**
 * Runs the scripts of a group side by side in one transaction, with the outcomes they have one after the other: what
 * they ask next goes out together. A script that has read what one before it then changes begins anew. Source:
 * decision 0036.
 */
import { Refusal } from '../../errors.ts';
import { ask, type Load, type NumberedType, type Save } from '../../pims/script.ts';
import { settle, type StartedScript } from '../pims/script-runner.ts';
import type { Query, ScriptSql } from '../pims/script-sql.ts';
import type { Statement } from '../writing.ts';
import type { Connection } from './connection.ts';
import { loadTogether, saveTogether } from './merge-sql.ts';
import { affectedBy, changeLoaded, loadName, sourceOf, type Loaded } from './write-conflicts.ts';

export type Begin = () => StartedScript<unknown>;

interface Asked {
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

class Running {
  readonly begin: Begin;
  /** Given to it, again when it begins anew. */
  readonly numbers: string[] = [];
  started: StartedScript<unknown> | undefined;
  /** Where it stands: at a load, or, with an outcome, at its end. */
  load: Load | undefined;
  outcome: unknown;
  isDone = false;
  /** It asks for what it has changed itself, or for too much: it goes on when it is the first. */
  isAlone = false;
  numbersUsed = 0;
  readonly sources = new Set<string>();
  readonly affected = new Set<string>();
  saves: Save[] = [];
  statements: Statement[] = [];
  /** The highest number of a caller's own. */
  readonly #raised = new Map<NumberedType, bigint>();

  constructor(begin: Begin) {
    this.begin = begin;
  }

  restart(): void {
    this.started = this.load = this.outcome = undefined;
    this.isDone = this.isAlone = false;
    this.numbersUsed = 0;
    this.sources.clear();
    this.affected.clear();
    this.saves = [];
    this.statements = [];
    this.#raised.clear();
  }

  /** Forgets what it has saved, when it is refused. */
  discard(): void {
    this.affected.clear();
    this.saves = [];
    this.statements = [];
    this.#raised.clear();
  }

  /** What it saves, in its order; counters are raised once. */
  takeStatements(): Statement[] {
    for (const [recordType, number] of this.#raised)
      this.statements.push(...this.started!.sql.saves.raiseCounter(recordType, number));
    this.#raised.clear();
    return this.statements.splice(0);
  }

  /** Goes on with what was loaded, as far as its next load. Builds what it saves. */
  goOn(loaded: unknown): void {
    this.load = undefined;
    this.outcome = settle(() => {
      let step = this.started ? this.started.script.next(loaded) : (this.started = this.begin()).first;
      while (!step.done && step.value.kind === 'save') {
        this.#save(step.value);
        step = this.started.script.next();
      }
      if (step.done) return step.value;
      this.load = step.value as Load;
      return undefined;
    });
    this.isDone = this.load === undefined;
  }

  #save(save: Save): void {
    const affected = affectedBy(save);
    if (affected) for (const source of affected) this.affected.add(source);
    else this.isAlone = true;
    this.saves.push(save);
    if (save.name === 'raiseCounter') {
      const [recordType, number] = save.args;
      if (number > (this.#raised.get(recordType) ?? 0n)) this.#raised.set(recordType, number);
      return;
    }
    const build = this.started!.sql.saves[save.name] as (...args: unknown[]) => Iterable<Statement>;
    for (const statement of build(...save.args)) this.statements.push(statement);
  }
}

/** A script was refused after it took what only the end of the transaction gives back: each has to run by itself. */
class RunApart extends Error {}

export class WriteGroup {
  readonly #connection: Connection;
  readonly #counters: Counters;
  readonly #scripts: readonly Running[];
  readonly #loaded = new Map<string, Loaded>();
  #done = 0;
  /** What is saved and not sent yet. */
  #statements: Statement[] = [];

  constructor(connection: Connection, begins: readonly Begin[], counters: Counters) {
    this.#connection = connection;
    this.#counters = counters;
    this.#scripts = begins.map((begin) => new Running(begin));
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
  #goOn(script: Running): void {
    if (!script.started && !script.isDone) script.goOn(undefined);
    while (script.load && !script.isAlone) {
      const { load } = script;
      const source = sourceOf(load);
      if (source === undefined || script.affected.has(source)) {
        script.isAlone = true;
        return;
      }
      if (load.name === 'nextNumber') {
        if (script.numbersUsed === script.numbers.length) return;
        script.goOn(script.numbers[script.numbersUsed++]);
        continue;
      }
      script.sources.add(source);
      const loaded = this.#loaded.get(source);
      const name = loadName(load);
      if (!loaded?.has(name)) return;
      script.goOn(loaded.get(name));
    }
  }

  /** Takes what a script has saved for done. Those behind it that have read it begin anew. */
  #finish(script: Running): void {
    if (script.outcome instanceof Refusal) this.#undo(script);
    this.#done++;
    this.#statements.push(...script.takeStatements());
    for (const save of script.saves)
      for (const source of affectedBy(save) ?? []) {
        const loaded = this.#loaded.get(source);
        if (loaded) changeLoaded(loaded, save);
      }
    if (script.affected.size === 0) return;
    for (const other of this.#scripts.slice(this.#done))
      if (!script.affected.isDisjointFrom(other.sources)) other.restart();
  }

  /** Takes back what a refused script has done. Nothing of it was sent, but the numbers it took are counted. */
  #undo(script: Running): void {
    if (script.numbers.length > 0) this.#endApart(script.outcome as Refusal);
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
    const counting: Record<NumberedType, Running[]> = { orders: [], customers: [] };
    for (const script of this.#scripts.slice(this.#done)) {
      const { load, started, isAlone } = script;
      if (!load || isAlone) continue;
      const wanted = [load, ...(load.ahead ?? [])];
      if (load.name === 'nextNumber') {
        const [recordType] = load.args;
        const expected = this.#counters.expected.get(recordType);
        if (expected !== undefined)
          wanted[0] = ask('isThere', recordType, String(expected + counting[recordType].length));
        else wanted.length = 0;
        counting[recordType].push(script);
      }
      for (const one of wanted) this.#want(asked, started!.sql, one);
    }
    const loads = [...asked.values()];
    const answers = loadTogether(
      this.#connection,
      loads.map(({ query }) => query),
    );
    const numbers = (['orders', 'customers'] as const).map((type) => this.#takeAll(type, counting[type]));
    const all = await Promise.all([...answers, ...numbers]);
    for (const [at, { query, source, name }] of loads.entries()) {
      let loaded = this.#loaded.get(source);
      if (!loaded) this.#loaded.set(source, (loaded = new Map()));
      loaded.set(name, query.parse(all[at]!));
    }
  }

  #want(asked: Map<string, Asked>, sql: ScriptSql, load: Load): void {
    const [source, name] = [sourceOf(load), loadName(load)];
    if (source === undefined) return;
    if (asked.has(`${source} ${name}`) || this.#loaded.get(source)?.has(name)) return;
    const build = sql.loads[load.name] as (...args: unknown[]) => Query<unknown>;
    asked.set(`${source} ${name}`, { query: build(...load.args), source, name });
  }

  /** Takes a number for each of these scripts. */
  async #takeAll(recordType: NumberedType, scripts: readonly Running[]): Promise<[]> {
    if (scripts.length === 0) return [];
    const { take, expected } = this.#counters;
    const [first] = await this.#connection.query<[number]>(take(), [scripts.length, recordType]);
    expected.set(recordType, first![0] + scripts.length);
    for (const [at, { numbers }] of scripts.entries()) numbers.push(String(first![0] + at));
    return [];
  }

  #sendSaves(): void {
    saveTogether(this.#connection, this.#statements.splice(0));
  }

  /** The rest of the first script, statement by statement. All others begin anew. */
  async #runAlone(script: Running): Promise<void> {
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
