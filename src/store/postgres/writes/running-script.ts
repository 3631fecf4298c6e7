/**
 * A script of a group while it runs: where it stands, what it has saved, and what its loads give after its own saves,
 * so that it needs no answer of the database for what it knows. Source: decision 0036.
 */
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

/** What a script has done to a source. */
interface Changes {
  readonly saves: Save[];
  /** Whether there was nothing of it before. */
  readonly isNew: boolean;
  /** What its loads give now. */
  readonly loaded: Loaded;
}

export class RunningScript {
  readonly begin: Begin;
  /** Given to it, again when it begins anew. */
  readonly numbers: Readonly<Record<NumberedType, string[]>> = { orders: [], customers: [] };
  started: StartedScript<unknown> | undefined;
  /** Where it stands: at a load, or, with an outcome, at its end. */
  load: Load | undefined;
  outcome: unknown;
  isDone = false;
  /** It asks for what its own saves have made unknown, or for too much: it goes on when it is the first. */
  isAlone = false;
  readonly sources = new Set<string>();
  readonly changes = new Map<string, Changes>();
  saves: Save[] = [];
  statements: Statement[] = [];
  readonly #used: Record<NumberedType, number> = { orders: 0, customers: 0 };
  /** The highest number of a caller's own. */
  readonly #raised = new Map<NumberedType, bigint>();

  constructor(begin: Begin) {
    this.begin = begin;
  }

  restart(): void {
    this.started = this.load = this.outcome = undefined;
    this.isDone = this.isAlone = false;
    this.#used.orders = this.#used.customers = 0;
    this.sources.clear();
    this.discard();
  }

  /** Forgets what it has saved, when it is refused. */
  discard(): void {
    this.changes.clear();
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

  /** What a load gives: `loaded` as its own saves have changed it. FORGOTTEN when only the database can tell. */
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

  get hasNumbers(): boolean {
    return this.numbers.orders.length + this.numbers.customers.length > 0;
  }

  /** The numbers it was given and has not used. */
  unused(recordType: NumberedType): string[] {
    return this.numbers[recordType].slice(this.#used[recordType]);
  }

  takeNumber(recordType: NumberedType): string | undefined {
    const number = this.numbers[recordType][this.#used[recordType]];
    if (number !== undefined) this.#used[recordType]++;
    return number;
  }

  get #dictionaries() {
    return this.started!.sql.dictionaries;
  }

  #save(save: Save): void {
    this.saves.push(save);
    if (save.name === 'raiseCounter') {
      const [recordType, number] = save.args;
      if (number > (this.#raised.get(recordType) ?? 0n)) this.#raised.set(recordType, number);
    } else {
      const build = this.started!.sql.saves[save.name] as (...args: unknown[]) => Iterable<Statement>;
      for (const statement of build(...save.args)) this.statements.push(statement);
    }
    // A new line has its lock code by now.
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
