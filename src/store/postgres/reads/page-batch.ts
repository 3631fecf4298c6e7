/**
 * Short queries of one tenant that wait at the same moment: those of one shape go out as one statement. What takes
 * longer than the connection allows, or has large records, is left to be read by itself.
 */
import type { Clock } from '../../../clock.ts';
import { Refusal } from '../../../errors.ts';
import type { Page } from '../../../pims/pims-port.ts';
import { LARGE_PAGE, type PageQuestion, type PageRow } from './page-sql.ts';
import type { SharedConnection } from '../connection/shared-connection.ts';

/** Questions of a statement, and the records they may come to, by what the shape has come to before. */
const QUESTIONS_MAX = 32;
const RECORDS_MAX = 1600;
/** After a statement took too long, its shape is read alone for this long, and all queries of the tenant for that. */
const SHAPE_PAUSE_MS = 60_000;
const TENANT_PAUSE_MS = 1000;
const SHAPES_MAX = 100;
/** Questions that are known to have more records, or larger ones, than a statement for several may come to. */
const LARGE_MAX = 100;
const BRACKETS = 2;

interface Known {
  /** Most records of a page of the last statement. */
  records: number;
  pausedUntil: number;
}

interface Asked extends PromiseWithResolvers<Page | undefined> {
  readonly question: PageQuestion;
}

export class PageBatch {
  /** Those that no statement is under way on. */
  readonly #free: SharedConnection[];
  readonly #follow: (fieldsVersion: number) => Promise<boolean>;
  readonly #clock: Clock;
  /** By shape. The shape that is asked next comes first. */
  readonly #waiting = new Map<string, Asked[]>();
  readonly #shapes = new Map<string, Known>();
  readonly #large = new Set<string>();
  #pausedUntil = 0;
  #isPlanned = false;

  /** `follow` answers whether the dictionaries of the questions no longer hold. */
  constructor(
    connections: readonly SharedConnection[],
    follow: (fieldsVersion: number) => Promise<boolean>,
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#free = [...connections];
    this.#follow = follow;
  }

  /** Undefined when it must be asked by itself. */
  async ask(question: PageQuestion): Promise<Page | undefined> {
    const { shape } = question;
    if (this.#isPaused(shape)) return undefined;
    if (this.#large.size > 0 && this.#large.has(keyOf(question))) return undefined;
    const asked = { question, ...Promise.withResolvers<Page | undefined>() };
    const alike = this.#waiting.get(shape);
    if (alike) alike.push(asked);
    else this.#waiting.set(shape, [asked]);
    this.#plan();
    return asked.promise;
  }

  /** The rest of this turn's questions come along. */
  #plan(): void {
    if (this.#isPlanned || this.#free.length === 0 || this.#waiting.size === 0) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      while (this.#free.length > 0 && this.#waiting.size > 0) void this.#send(this.#free.shift()!);
    });
  }

  async #send(connection: SharedConnection): Promise<void> {
    const alike = this.#takeAlike();
    try {
      const pages = this.#isPaused(alike[0]!.question.shape) ? [] : await this.#load(connection, alike);
      for (const [at, { resolve }] of alike.entries()) resolve(pages[at]);
    } catch (fault) {
      for (const { reject } of alike) reject(fault);
    }
    this.#free.push(connection);
    this.#plan();
  }

  #takeAlike(): Asked[] {
    const [shape, waiting] = this.#waiting.entries().next().value!;
    const { records } = this.#knownOf(waiting[0]!.question);
    const most = Math.max(1, Math.min(QUESTIONS_MAX, Math.floor(RECORDS_MAX / Math.max(1, records))));
    this.#waiting.delete(shape);
    const alike = waiting.splice(0, most);
    if (waiting.length > 0) this.#waiting.set(shape, waiting);
    return alike;
  }

  #isPaused(shape: string): boolean {
    return this.#clock.elapsed() < Math.max(this.#pausedUntil, this.#shapes.get(shape)?.pausedUntil ?? 0);
  }

  async #load(connection: SharedConnection, alike: readonly Asked[]): Promise<(Page | undefined)[]> {
    const questions = alike.map(({ question }) => question);
    const { sql, limit, values } = questions[0]!;
    const known = this.#knownOf(questions[0]!);
    const lists = values.map((_, at) => questions.map((question) => question.values[at]!));
    const after = questions.map((question) => question.after);
    let rows: PageRow[];
    try {
      rows = await connection.ask<PageRow>(sql(), [[...questions.keys()], after, limit, ...lists]);
    } catch (fault) {
      if (!(fault instanceof Refusal && fault.code === 'SERVICE_BUSY')) throw fault;
      this.#pausedUntil = this.#clock.elapsed() + TENANT_PAUSE_MS;
      known.pausedUntil = this.#clock.elapsed() + SHAPE_PAUSE_MS;
      return [];
    }
    if (await this.#follow(rows[0]![4])) return [];
    known.records = Math.max(...rows.map(([, , count]) => count));
    const pages: (Page | undefined)[] = [];
    for (const [at, records, count, last] of rows) {
      const question = questions[at]!;
      if (records === LARGE_PAGE) this.#noteLarge(question);
      else if (Buffer.byteLength(records) - BRACKETS <= question.bytesMax)
        pages[at] = { records, next: count > limit ? last : null };
    }
    return pages;
  }

  #noteLarge(question: PageQuestion): void {
    if (this.#large.size >= LARGE_MAX) this.#large.clear();
    this.#large.add(keyOf(question));
  }

  #knownOf({ shape, limit }: PageQuestion): Known {
    let known = this.#shapes.get(shape);
    if (known) return known;
    if (this.#shapes.size >= SHAPES_MAX) this.#shapes.clear();
    known = { records: limit, pausedUntil: 0 };
    this.#shapes.set(shape, known);
    return known;
  }
}

const keyOf = ({ shape, values }: PageQuestion): string => JSON.stringify([shape, values]);
