/** One script of a group while it runs: where it stands, its saves, and what it knows after them. */
import { Refusal, settle } from '../../../errors.ts';
import type { Load, NumberedType, Save, Saves } from '../../../pims/writes/script.ts';
import type { StartedScript } from '../../pims/script-runner.ts';
import type { Statement } from '../../writing.ts';
import { changedBy, changeKnown, loadName, type Known } from './write-conflicts.ts';

export type Begin = () => StartedScript<unknown>;
/** The next number of each counter. */
export type NextNumbers = Map<NumberedType, number>;

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
  /** Its saves by the sources that they change. */
  readonly changes = new Map<string, Save[]>();
  /** The counters that it has moved: the next number before the script and after it. */
  readonly counters = new Map<NumberedType, { readonly before: number; readonly after: number }>();
  /** Its additions to the change feed. */
  recorded: Parameters<Saves['recordChanges']>[] = [];
  /** Values of loads after that many saves to their source. */
  readonly #own = new Map<string, { readonly known: Known; readonly saves: number }>();
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
        if (request.kind === 'save') this.#save(request, next);
        else if (request.name === 'counter') answer = this.#count(request.args[0], next, (number) => number);
        else if (request.name === 'nextNumber')
          answer = String(this.#count(request.args[0], next, (number) => number + 1));
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

  /** Returns what is known of a load after the script's own saves, if anything is. */
  find(load: Load, source: string, loaded: Known | undefined): Known | undefined {
    const changes = this.changes.get(source);
    if (!changes) return loaded;
    const name = loadName(load);
    const own = this.#own.get(name);
    let known = own?.known ?? loaded;
    for (const save of changes.slice(own?.saves ?? 0))
      known = changeKnown(load, known, save, this.started!.sql.dictionaries);
    if (known) this.#own.set(name, { known, saves: changes.length });
    return known;
  }

  /** Drops its saves and numbers, none of which were sent. */
  #discard(): void {
    this.changes.clear();
    this.counters.clear();
    this.#own.clear();
    this.recorded = [];
    this.#statements = [];
  }

  /** Returns the next number of a counter, and moves it. */
  #count(recordType: NumberedType, next: NextNumbers, move: (number: number) => number): number {
    const now = next.get(recordType)!;
    const { before, after } = this.counters.get(recordType) ?? { before: now, after: now };
    this.counters.set(recordType, { before, after: move(after) });
    return after;
  }

  #save(save: Save, next: NextNumbers): void {
    if (save.name === 'raiseCounter') {
      const [recordType, number] = save.args;
      this.#count(recordType, next, (at) => Math.max(at, Number(number) + 1));
      return;
    }
    if (save.name === 'recordChanges') {
      this.recorded.push(save.args);
      return;
    }
    const build = this.started!.sql.saves[save.name] as (...args: unknown[]) => Iterable<Statement>;
    // This gives a new line its lock code, which its loads need.
    for (const statement of build(...save.args)) this.#statements.push(statement);
    const sources = changedBy(save);
    this.isAlone ||= !sources;
    for (const source of sources ?? []) this.changes.getOrInsertComputed(source, () => []).push(save);
  }
}
