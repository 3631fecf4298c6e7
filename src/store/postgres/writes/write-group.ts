/**
 * Runs the scripts of a group concurrently in one transaction, with the same outcomes as one after the other. Sends
 * their next loads together. A script restarts if an earlier one changes a value that it has read.
 */
import { Refusal, settle } from '../../../errors.ts';
import { changeKnown, sourceOf, type Known, type Source } from '../../../pims/writes/kinds-of-loads.ts';
import { kindOfSave } from '../../../pims/writes/kinds-of-saves.ts';
import type { Load, NumberedType, Save } from '../../../pims/writes/script.ts';
import type { Query } from '../../pims/row-sql.ts';
import type { StartedScript } from '../../pims/script-runner.ts';
import { buildLoad, buildSave, mergeFeed, type ScriptSql } from '../../pims/script-sql.ts';
import { statement, type Statement } from '../../sql/writing.ts';
import type { Connection } from '../connection/connection.ts';
import { loadTogether, saveTogether } from './merge-sql.ts';

export type Begin = () => StartedScript<unknown>;
/** The next number of each counter. */
type NextNumbers = Map<NumberedType, number>;
/** Returns a key that identifies a load within its source. */
const loadName = ({ name, args }: Load): string => [name, ...args].join(' ');

/** One script of a group while it runs: its progress, its saves, and the values known after them. */
class RunningScript {
  readonly #begin: Begin;
  started: StartedScript<unknown> | undefined;
  /** The load for which the script waits; undefined before its start and after its end. */
  load: Load | undefined;
  outcome: unknown;
  isDone = false;
  /** Whether the script waits for all earlier ones: only the database knows its load, or what a save changes. */
  isAlone = false;
  /** The sources of its loads. */
  readonly sources = new Set<string>();
  /** Its saves by the sources that they change. */
  readonly changes = new Map<string, Save[]>();
  /** The counters that it has moved: the next number before the script and after it. */
  readonly counters = new Map<NumberedType, { readonly before: number; readonly after: number }>();
  /** Its additions to the change feed. */
  feed: Statement[] = [];
  /** Values of loads, each after a number of saves to its source. */
  readonly #own = new Map<string, { readonly known: Known; readonly saves: number }>();
  /** The statements of its saves that are not taken yet, in order. */
  statements: Statement[] = [];

  constructor(begin: Begin) {
    this.#begin = begin;
  }

  restart(): void {
    this.started = this.load = this.outcome = undefined;
    this.isDone = this.isAlone = false;
    this.sources.clear();
    this.#discard();
  }

  /**
   * Continues with a loaded value as far as the next load, and builds the statements of its saves. `next` has the
   * numbers before this script.
   */
  continue(next: NextNumbers, loaded?: unknown): void {
    this.load = undefined;
    this.outcome = settle(() => {
      let step = this.started ? this.started.script.next(loaded) : (this.started = this.#begin()).first;
      while (!step.done) {
        const request = step.value;
        let answer: unknown;
        if (request.kind === 'save') this.#recordSave(request, next);
        else if (request.name === 'counter') answer = this.#moveCounter(request.args[0], next);
        else if (request.name === 'nextNumber')
          answer = String(this.#moveCounter(request.args[0], next, (number) => number + 1));
        else {
          this.load = request;
          return undefined;
        }
        step = this.started.script.next(answer);
      }
      return step.value;
    });
    this.isDone = this.load === undefined;
    if (this.outcome instanceof Refusal) this.#discard();
  }

  /** Returns the value of a load after the script's own saves, if it is known. */
  findKnown(load: Load, source: string, loaded: Known | undefined): Known | undefined {
    const changes = this.changes.get(source);
    if (!changes) return loaded;
    const name = loadName(load);
    const own = this.#own.get(name);
    const { dictionaries } = this.started!.sql;
    const known = changeKnown(load, own?.known ?? loaded, changes.slice(own?.saves), dictionaries);
    if (known) this.#own.set(name, { known, saves: changes.length });
    return known;
  }

  /** Drops its saves and numbers, none of which were sent. */
  #discard(): void {
    this.changes.clear();
    this.counters.clear();
    this.#own.clear();
    this.feed = [];
    this.statements = [];
  }

  /** Returns the next number of a counter, and moves it. */
  #moveCounter(recordType: NumberedType, next: NextNumbers, move = (number: number) => number): number {
    const now = next.get(recordType)!;
    const { before, after } = this.counters.get(recordType) ?? { before: now, after: now };
    this.counters.set(recordType, { before, after: move(after) });
    return after;
  }

  #recordSave(save: Save, next: NextNumbers): void {
    if (save.name === 'raiseCounter') {
      const [recordType, number] = save.args;
      this.#moveCounter(recordType, next, (at) => Math.max(at, Number(number) + 1));
      return;
    }
    // Building a statement gives a new line its lock code, which later loads need.
    for (const one of buildSave(this.started!.sql, save)) (one.isFeed ? this.feed : this.statements).push(one);
    const sources = kindOfSave(save).outdates(...save.args);
    this.isAlone ||= !sources;
    for (const source of sources ?? []) this.changes.getOrInsertComputed(source, () => []).push(save);
  }
}

/** The values that a transaction reads when it locks the tenant. */
export interface Locked {
  /** The SQL for the current dictionaries. No node can add a field while the tenant is locked. */
  readonly sql: ScriptSql;
  readonly next: NextNumbers;
}

/** Numbers to try before those of the database are known. */
export const NUMBERS_GUESSED: NextNumbers = new Map([
  ['orders', 1],
  ['customers', 1],
]);

/** A script was refused after some of its statements were sent: each script has to run in its own transaction. */
class RunApart extends Error {}

export class WriteGroup {
  readonly #connection: Connection;
  readonly #scripts: readonly RunningScript[];
  /** Known values of loads, by their source, then by the name and arguments of the load. */
  readonly #loaded = new Map<string, Map<string, Known>>();
  /** The number of scripts that are done. All later scripts run ahead, so they may have to restart. */
  #done = 0;
  /** The next numbers of the counters after the scripts that are done; a guess until the tenant is locked. */
  next: NextNumbers;
  #isLocked = false;
  /** The statements that are not sent yet. */
  #statements: Statement[] = [];

  constructor(connection: Connection, begins: readonly Begin[], expected = NUMBERS_GUESSED) {
    this.#connection = connection;
    this.next = expected;
    this.#scripts = begins.map((begin) => new RunningScript(begin));
  }

  /** The scripts that are not done. */
  get #unfinished(): readonly RunningScript[] {
    return this.#scripts.slice(this.#done);
  }

  /** Runs all scripts and returns their outcomes. `lock` resolves once the tenant is locked. */
  async runScripts(lock: Promise<Locked>): Promise<unknown[]> {
    // The first loads are sent with the lock, without waiting for it.
    this.#continueAll();
    const loads = this.#sendLoads();
    loads.catch(() => undefined);
    const { sql, next } = await lock;
    await loads;
    this.next = new Map(next);
    this.#isLocked = true;
    if (this.#scripts.some(({ started }) => started?.sql !== sql)) this.#restartAll();
    while (this.#done < this.#scripts.length) {
      this.#continueAll();
      const first = this.#scripts[this.#done];
      if (first?.isAlone) await this.#runAlone(first);
      else if (first) await this.#sendLoads();
    }
    this.#mergeSaves(next);
    this.#sendSaves();
    return this.#scripts.map(({ outcome }) => outcome);
  }

  #restartAll(): void {
    this.#loaded.clear();
    for (const script of this.#unfinished) script.restart();
  }

  /** Continues each script as far as its loads are known, and finishes the scripts that are next. */
  #continueAll(): void {
    // A script expects the numbers after those of the earlier scripts.
    const next = new Map(this.next);
    for (const script of this.#unfinished) {
      if ([...script.counters].some(([recordType, { before }]) => before !== next.get(recordType))) script.restart();
      this.#continue(script, next);
      for (const [recordType, { after }] of script.counters) next.set(recordType, after);
      if (this.#isLocked && script.isDone && !script.isAlone && script === this.#scripts[this.#done])
        this.#finish(script);
    }
  }

  #continue(script: RunningScript, next: NextNumbers): void {
    if (!script.started && !script.isDone) script.continue(next);
    while (script.load && !script.isAlone) {
      const { load } = script;
      const source = sourceOf(load);
      const loaded = source && this.#loaded.get(source)?.get(loadName(load));
      const known = source && script.findKnown(load, source, loaded);
      if (source) script.sources.add(source);
      if (known) script.continue(next, known.value);
      else if (source && !loaded) return;
      else script.isAlone = true;
    }
  }

  /** Applies the saves of a script to the loaded values, and restarts later scripts that have read old values. */
  #finish(script: RunningScript): void {
    this.#complete(script);
    for (const [source, saves] of script.changes) {
      const loaded = this.#loaded.get(source);
      for (const [name, before] of loaded ?? []) {
        const known = changeKnown(before.load, before, saves, script.started!.sql.dictionaries);
        if (known) loaded!.set(name, known);
        else loaded!.delete(name);
      }
    }
    for (const other of this.#unfinished) if (!other.sources.isDisjointFrom(script.changes)) other.restart();
  }

  #complete(script: RunningScript): void {
    this.#done++;
    this.#statements.push(...script.statements.splice(0));
    for (const [recordType, { after }] of script.counters) this.next.set(recordType, after);
  }

  /** Saves the numbers of all scripts, and their changes as one row of the feed, in one statement. */
  #mergeSaves(saved: NextNumbers): void {
    const saves = this.#scripts.find(({ started }) => started)?.started?.sql.saves;
    if (!saves) return;
    // The statement of the feed reads the feed's last row. Citus cannot plan it as the last of joined statements.
    const statements = [
      ...mergeFeed(this.#scripts.flatMap(({ feed }) => feed)),
      ...[...this.next].flatMap(([recordType, number]) =>
        number > saved.get(recordType)! ? [...saves.raiseCounter(recordType, BigInt(number - 1))] : [],
      ),
    ];
    const texts = statements.map(({ sql }) => sql);
    const last = texts.pop();
    if (last === undefined) return;
    const first = texts.map((sql, at) => `s${at} AS (${sql})`).join(', ');
    const values = statements.flatMap((one) => one.values);
    this.#statements.push(statement(first === '' ? last : `WITH ${first} ${last}`, ...values));
  }

  /** Sends the saves of finished scripts, and the loads for which the others wait. */
  async #sendLoads(): Promise<void> {
    this.#sendSaves();
    const wanted = new Map<string, readonly [Source, Load, Query<unknown>]>();
    for (const { load: waiting, started, isAlone } of this.#unfinished)
      for (const load of waiting && !isAlone ? [waiting, ...(waiting.ahead ?? [])] : []) {
        const [source, name] = [sourceOf(load), loadName(load)];
        if (source && !this.#loaded.get(source)?.has(name))
          wanted.getOrInsertComputed(name, () => [source, load, buildLoad(started!.sql, load)]);
      }
    const queries = Array.from(wanted.values(), ([, , query]) => query);
    const all = await Promise.all(loadTogether(this.#connection, queries));
    for (const [name, [source, load, query]] of wanted)
      this.#loaded.getOrInsertComputed(source, () => new Map()).set(name, { load, value: query.parse(all.shift()!) });
  }

  #sendSaves(): void {
    saveTogether(this.#connection, this.#statements.splice(0));
  }

  /** Runs the rest of the first script, statement by statement. All others restart. */
  async #runAlone(script: RunningScript): Promise<void> {
    this.#sendSaves();
    let isSent = false;
    for (;;) {
      this.#statements.push(...script.statements.splice(0));
      isSent ||= this.#statements.length > 0;
      this.#sendSaves();
      if (!script.load) break;
      const query = buildLoad(script.started!.sql, script.load);
      script.continue(this.next, query.parse(await this.#connection.query(query.sql, query.values)));
    }
    if (script.outcome instanceof Refusal && isSent) throw this.#scripts.length === 1 ? script.outcome : new RunApart();
    this.#complete(script);
    this.#restartAll();
  }
}
