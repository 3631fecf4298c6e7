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

  /** Continues as far as its loads are known. */
  runAhead(next: NextNumbers, findLoaded: (source: Source, load: Load) => Known | undefined): void {
    if (!this.started && !this.isDone) this.continue(next);
    while (this.load && !this.isAlone) {
      const { load } = this;
      const source = sourceOf(load);
      const loaded = source && findLoaded(source, load);
      const known = source && this.#findKnown(load, source, loaded);
      if (source) this.sources.add(source);
      if (known) this.continue(next, known.value);
      else if (source && !loaded) return;
      else this.isAlone = true;
    }
  }

  /** Returns the value of a load after the script's own saves, if it is known. */
  #findKnown(load: Load, source: string, loaded: Known | undefined): Known | undefined {
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

/** Keeps the values of loads, by their source, then by the name and arguments of the load. */
function makeKnownLoads(connection: Connection) {
  const loaded = new Map<string, Map<string, Known>>();
  return {
    forgetAll: () => loaded.clear(),
    findLoaded: (source: Source, load: Load) => loaded.get(source)?.get(loadName(load)),
    /** Applies the saves of a script. */
    applySaves({ changes, started }: RunningScript) {
      for (const [source, saves] of changes) {
        const values = loaded.get(source);
        for (const [name, before] of values ?? []) {
          const known = changeKnown(before.load, before, saves, started!.sql.dictionaries);
          if (known) values!.set(name, known);
          else values!.delete(name);
        }
      }
    },
    /** Sends the loads for which these scripts wait, and those that probably follow. */
    async sendLoads(scripts: readonly RunningScript[]) {
      const wanted = new Map<string, readonly [Source, Load, Query<unknown>]>();
      for (const { load: waiting, started, isAlone } of scripts)
        for (const load of waiting && !isAlone ? [waiting, ...(waiting.ahead ?? [])] : []) {
          const [source, name] = [sourceOf(load), loadName(load)];
          if (source && !loaded.get(source)?.has(name))
            wanted.getOrInsertComputed(name, () => [source, load, buildLoad(started!.sql, load)]);
        }
      const queries = Array.from(wanted.values(), ([, , query]) => query);
      const all = await Promise.all(loadTogether(connection, queries));
      for (const [name, [source, load, query]] of wanted)
        loaded.getOrInsertComputed(source, () => new Map()).set(name, { load, value: query.parse(all.shift()!) });
    },
  };
}

/**
 * Runs all scripts and returns their outcomes, with the next numbers after them. `lock` resolves once the tenant is
 * locked; `expected` are the numbers to try before.
 */
export async function runGroup(
  connection: Connection,
  begins: readonly Begin[],
  lock: Promise<Locked>,
  expected = NUMBERS_GUESSED,
) {
  const scripts = begins.map((begin) => new RunningScript(begin));
  const known = makeKnownLoads(connection);
  /** The statements that are not sent yet. */
  const statements: Statement[] = [];
  /** The number of scripts that are done. All later scripts run ahead, so they may have to restart. */
  let done = 0;
  let isLocked = false;
  /** The next numbers of the counters after the scripts that are done. */
  let next = expected;
  const listUnfinished = () => scripts.slice(done);
  const sendSaves = () => saveTogether(connection, statements.splice(0));
  const sendAll = () => {
    sendSaves();
    return known.sendLoads(listUnfinished());
  };
  const restartAll = () => {
    known.forgetAll();
    for (const script of listUnfinished()) script.restart();
  };
  const complete = (script: RunningScript) => {
    done++;
    statements.push(...script.statements.splice(0));
    for (const [recordType, { after }] of script.counters) next.set(recordType, after);
  };
  /** Continues each script as far as its loads are known, and finishes the scripts that are next. */
  const continueAll = () => {
    // A script expects the numbers after those of the earlier scripts.
    const numbers = new Map(next);
    for (const script of listUnfinished()) {
      if ([...script.counters].some(([recordType, { before }]) => before !== numbers.get(recordType))) script.restart();
      script.runAhead(numbers, known.findLoaded);
      for (const [recordType, { after }] of script.counters) numbers.set(recordType, after);
      if (!isLocked || !script.isDone || script.isAlone || script !== scripts[done]) continue;
      complete(script);
      known.applySaves(script);
      // Later scripts may have read old values.
      for (const other of listUnfinished()) if (!other.sources.isDisjointFrom(script.changes)) other.restart();
    }
  };
  // The first loads are sent with the lock, without waiting for it.
  continueAll();
  const loads = sendAll();
  loads.catch(() => undefined);
  const locked = await lock;
  await loads;
  next = new Map(locked.next);
  isLocked = true;
  if (scripts.some(({ started }) => started?.sql !== locked.sql)) restartAll();
  while (done < scripts.length) {
    continueAll();
    const first = scripts[done];
    if (first?.isAlone) {
      sendSaves();
      await runAlone(first, connection, next, scripts.length === 1);
      complete(first);
      restartAll();
    } else if (first) await sendAll();
  }
  statements.push(...mergeSaves(scripts, locked.next, next));
  sendSaves();
  return { outcomes: scripts.map(({ outcome }): unknown => outcome), next };
}

/** Runs the rest of a script, statement by statement. */
async function runAlone(script: RunningScript, connection: Connection, next: NextNumbers, isOnly: boolean) {
  let isSent = false;
  for (;;) {
    isSent ||= script.statements.length > 0;
    saveTogether(connection, script.statements.splice(0));
    if (!script.load) break;
    const query = buildLoad(script.started!.sql, script.load);
    script.continue(next, query.parse(await connection.query(query.sql, query.values)));
  }
  if (script.outcome instanceof Refusal && isSent) throw isOnly ? script.outcome : new RunApart();
}

/** Saves the numbers of all scripts, and their changes as one row of the feed, in one statement. */
function mergeSaves(scripts: readonly RunningScript[], saved: NextNumbers, next: NextNumbers): Statement[] {
  const saves = scripts.find(({ started }) => started)?.started?.sql.saves;
  if (!saves) return [];
  // The statement of the feed reads the feed's last row. Citus cannot plan it as the last of joined statements.
  const statements = [
    ...mergeFeed(scripts.flatMap(({ feed }) => feed)),
    ...[...next].flatMap(([recordType, number]) =>
      number > saved.get(recordType)! ? [...saves.raiseCounter(recordType, BigInt(number - 1))] : [],
    ),
  ];
  const texts = statements.map(({ sql }) => sql);
  const last = texts.pop();
  if (last === undefined) return [];
  const first = texts.map((sql, at) => `s${at} AS (${sql})`).join(', ');
  const values = statements.flatMap((one) => one.values);
  return [statement(first === '' ? last : `WITH ${first} ${last}`, ...values)];
}
