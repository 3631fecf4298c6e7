/**
 * Runs the scripts of a group side by side in one transaction, with the outcomes they have one after the other: what
 * they ask next goes out together. A script that has read what one before it then changes begins anew. Source:
 * decision 0036.
 */
import { Refusal } from '../../errors.ts';
import type { Load, NumberedType, Save } from '../../pims/script.ts';
import { settle, type StartedScript } from '../pims/script-runner.ts';
import type { Query } from '../pims/script-sql.ts';
import type { Statement } from '../writing.ts';
import type { Connection } from './connection.ts';
import { loadTogether, saveTogether } from './merge-sql.ts';
import { affectedBy, changeLoaded, loadName, sourceOf, type Loaded } from './write-conflicts.ts';

export type Begin = () => StartedScript<unknown>;

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
    const build = this.started!.sql.saves[save.name] as (...args: unknown[]) => readonly Statement[];
    this.statements.push(...build(...save.args));
  }
}

export class WriteGroup {
  readonly #connection: Connection;
  readonly #takeNumbers: () => string;
  readonly #scripts: readonly Running[];
  readonly #loaded = new Map<string, Loaded>();
  #done = 0;
  /** What is saved and not sent yet. */
  #statements: Statement[] = [];

  /** `takeNumbers` is the SQL that takes some numbers of a counter. */
  constructor(connection: Connection, begins: readonly Begin[], takeNumbers: () => string) {
    this.#connection = connection;
    this.#takeNumbers = takeNumbers;
    this.#scripts = begins.map((begin) => new Running(begin));
  }

  /** Gives their outcomes. `lock` resolves once it has the tenant, and says whether the dictionaries have changed. */
  async run(lock: Promise<boolean>): Promise<unknown[]> {
    // What the scripts load first goes out behind the lock.
    for (const script of this.#scripts) this.#goOn(script);
    const loads = this.#sendLoads();
    loads.catch(() => undefined);
    if (await lock) for (const script of this.#scripts) script.restart();
    await loads;
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

  /** Goes on with a script as far as what it asks is known. */
  #goOn(script: Running): void {
    if (!script.started && !script.isDone) script.goOn(undefined);
    while (script.load && !script.isAlone) {
      const { load } = script;
      if (load.name === 'nextNumber') {
        if (script.numbersUsed === script.numbers.length) return;
        script.goOn(script.numbers[script.numbersUsed++]);
        continue;
      }
      const source = sourceOf(load);
      if (source === undefined || script.affected.has(source)) {
        script.isAlone = true;
        return;
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
    refuseLate(script.outcome, script.statements.length > 0);
    this.#done++;
    this.#statements.push(...script.statements);
    for (const save of script.saves)
      for (const source of affectedBy(save) ?? []) {
        const loaded = this.#loaded.get(source);
        if (loaded) changeLoaded(loaded, save);
      }
    if (script.affected.size === 0) return;
    for (const other of this.#scripts.slice(this.#done))
      if (!script.affected.isDisjointFrom(other.sources)) other.restart();
  }

  /** Sends what is saved, and what all scripts ask next. */
  async #sendLoads(): Promise<void> {
    this.#sendSaves();
    const asked = new Map<string, { readonly query: Query<unknown>; readonly source: string; readonly name: string }>();
    const counting: Record<NumberedType, Running[]> = { orders: [], customers: [] };
    for (const script of this.#scripts.slice(this.#done)) {
      const { load, started, isAlone } = script;
      if (!load || isAlone) continue;
      if (load.name === 'nextNumber') {
        counting[load.args[0]].push(script);
        continue;
      }
      const [source, name] = [sourceOf(load)!, loadName(load)];
      const build = started!.sql.loads[load.name] as (...args: unknown[]) => Query<unknown>;
      if (!asked.has(`${source} ${name}`)) asked.set(`${source} ${name}`, { query: build(...load.args), source, name });
    }
    const loads = [...asked.values()];
    const answers = loadTogether(
      this.#connection,
      loads.map(({ query }) => query),
    );
    const numbers = Object.entries(counting).map(([recordType, scripts]) => this.#takeAll(recordType, scripts));
    const all = await Promise.all([...answers, ...numbers]);
    for (const [at, { query, source, name }] of loads.entries()) {
      let loaded = this.#loaded.get(source);
      if (!loaded) this.#loaded.set(source, (loaded = new Map()));
      loaded.set(name, query.parse(all[at]!));
    }
  }

  /** Takes a number for each of these scripts. */
  async #takeAll(recordType: string, scripts: readonly Running[]): Promise<[]> {
    if (scripts.length === 0) return [];
    const [first] = await this.#connection.query<[number]>(this.#takeNumbers(), [scripts.length, recordType]);
    for (const [at, { numbers }] of scripts.entries()) numbers.push(String(first![0] + at));
    return [];
  }

  #sendSaves(): void {
    saveTogether(this.#connection, this.#statements.splice(0));
  }

  /** The rest of the first script, statement by statement. All others begin anew. */
  async #runAlone(script: Running): Promise<void> {
    const { sql } = script.started!;
    let hasWritten = false;
    const send = (): void => {
      hasWritten ||= script.statements.length > 0;
      this.#statements.push(...script.statements.splice(0));
      this.#sendSaves();
    };
    send();
    while (script.load) {
      const { name, args } = script.load;
      const query = (sql.loads[name] as (...of: unknown[]) => Query<unknown>)(...args);
      script.goOn(query.parse(await this.#connection.query(query.sql, query.values)));
      send();
    }
    refuseLate(script.outcome, hasWritten);
    this.#done++;
    this.#loaded.clear();
    for (const other of this.#scripts.slice(this.#done)) other.restart();
  }
}

function refuseLate(outcome: unknown, hasWritten: boolean): void {
  if (outcome instanceof Refusal && hasWritten)
    throw new Error(`A write was refused after it had begun to write: ${outcome.code}`);
}
