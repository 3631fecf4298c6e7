/** One running script of a group: its position, its saves, and the values of its loads after them. */
import { Refusal } from '../../../errors.ts';
import type { Load, NumberedType, Save } from '../../../pims/writes/script.ts';
import { settle, type StartedScript } from '../../pims/script-runner.ts';
import type { Statement } from '../../writing.ts';
import {
  affectedBy,
  changeAll,
  changeLoaded,
  FORGOTTEN,
  loadName,
  loadNothing,
  sourceOfNew,
} from './write-conflicts.ts';
import type { Loaded } from './write-conflicts.ts';

export type Begin = () => StartedScript<unknown>;
/** The next number of each counter. */
export type NextNumbers = Map<NumberedType, number>;

/** The changes that a script has made to a source. */
interface Changes {
  readonly saves: Save[];
  /** Whether the source was empty before. */
  readonly isNew: boolean;
  /** The values of the script's loads after its saves. */
  readonly loaded: Loaded;
}

export class RunningScript {
  readonly #begin: Begin;
  started: StartedScript<unknown> | undefined;
  /** The load for which it waits. Undefined before its start and after its end. */
  load: Load | undefined;
  outcome: unknown;
  isDone = false;
  /** Only the database can answer its load, so it waits until all earlier scripts are done. */
  isAlone = false;
  /** The sources of its loads. */
  readonly sources = new Set<string>();
  readonly changes = new Map<string, Changes>();
  /** The numbers that it was assigned: the first of each counter, and their count. */
  readonly numbers = new Map<NumberedType, { readonly first: number; readonly count: number }>();
  /** The highest number chosen by a caller that the counter must skip. */
  readonly raised = new Map<NumberedType, number>();
  #statements: Statement[] = [];

  constructor(begin: Begin) {
    this.#begin = begin;
  }

  restart(): void {
    this.started = this.load = this.outcome = undefined;
    this.isDone = this.isAlone = false;
    this.sources.clear();
    this.#discard();
  }

  /** Removes and returns the statements of its saves, in order. */
  takeStatements(): Statement[] {
    return this.#statements.splice(0);
  }

  /** Continues with a loaded value up to the next load, and builds the statements of its saves. */
  continue(loaded?: unknown): void {
    this.load = undefined;
    this.outcome = settle(() => {
      let step = this.started ? this.started.script.next(loaded) : (this.started = this.#begin()).first;
      while (!step.done && step.value.kind === 'save') {
        this.#save(step.value);
        step = this.started.script.next();
      }
      if (step.done) return step.value;
      this.load = step.value as Load;
      return undefined;
    });
    this.isDone = this.load === undefined;
    if (this.outcome instanceof Refusal) this.#discard();
  }

  /** Continues with the next number of a counter whose next number for this script was `first`. */
  continueWithNumber(recordType: NumberedType, first: number): void {
    const count = this.countOf(recordType);
    this.numbers.set(recordType, { first, count: count + 1 });
    this.continue(String(first + count));
  }

  countOf(recordType: NumberedType): number {
    return this.numbers.get(recordType)?.count ?? 0;
  }

  /** Finds the value of a load after the script's own saves. Returns undefined if it is not loaded yet. */
  find(load: Load, source: string, loaded: Loaded | undefined): { value: unknown } | undefined {
    const name = loadName(load);
    const changes = this.changes.get(source);
    if (!changes) return loaded?.get(name);
    const known = changes.loaded.get(name);
    if (known) return known;
    const before = changes.isNew ? loadNothing(load) : loaded?.get(name);
    if (!before) return changes.isNew ? { value: FORGOTTEN } : undefined;
    let { value } = before;
    for (const save of changes.saves)
      if (value !== FORGOTTEN) value = changeLoaded({ load, value }, save, this.#dictionaries);
    if (value !== FORGOTTEN) changes.loaded.set(name, { load, value });
    return { value };
  }

  get #dictionaries() {
    return this.started!.sql.dictionaries;
  }

  forgetNumbers(): void {
    this.numbers.clear();
    this.raised.clear();
  }

  /** Drops its saves and numbers, none of which were sent. */
  #discard(): void {
    this.changes.clear();
    this.forgetNumbers();
    this.#statements = [];
  }

  #save(save: Save): void {
    if (save.name === 'raiseCounter') {
      const [recordType, number] = save.args;
      this.raised.set(recordType, Math.max(Number(number), this.raised.get(recordType) ?? 0));
      return;
    }
    const build = this.started!.sql.saves[save.name] as (...args: unknown[]) => Iterable<Statement>;
    // This assigns the lock code of a new line, which affectedBy needs.
    for (const statement of build(...save.args)) this.#statements.push(statement);
    const affected = affectedBy(save);
    if (affected) for (const source of affected) this.#change(source, save);
    else this.isAlone = true;
    const sourceThere = sourceOfNew(save);
    if (sourceThere !== undefined) this.changes.set(sourceThere, { saves: [], isNew: true, loaded: new Map() });
  }

  #change(source: string, save: Save): void {
    let changes = this.changes.get(source);
    if (!changes) this.changes.set(source, (changes = { saves: [], isNew: save.name === 'insert', loaded: new Map() }));
    changes.saves.push(save);
    changeAll(changes.loaded, save, this.#dictionaries);
  }
}
