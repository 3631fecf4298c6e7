/**
 * Short queries of one tenant. Those of one shape that wait at the same moment are one statement. A query that takes
 * longer than the connection allows, or finds large records, is left to be read by itself.
 */
import type { Clock } from '../../../clock.ts';
import { Refusal } from '../../../errors.ts';
import type { Page } from '../../../pims/pims-port.ts';
import type { SharedConnection } from '../connection/shared-connection.ts';
import { KeyBatch } from './key-batch.ts';
import { LARGE_PAGE, type PageQuestion, type JoinedPageRow } from './page-sql.ts';

/** Most questions of a statement, and most records that they may find, judged by the shape's last statement. */
const QUESTIONS_MAX = 32;
const RECORDS_MAX = 1600;
/** How long queries of a shape, and all of the tenant, are read alone after a statement took too long. */
const SHAPE_PAUSE_MS = 60_000;
const TENANT_PAUSE_MS = 1000;
const SHAPES_MAX = 100;
const LARGE_MAX = 100;
const BRACKETS = 2;

interface SharedShape {
  readonly batch: KeyBatch<Page, PageQuestion>;
  /** Most records of a page of the last statement. */
  records: number;
  pausedUntil: number;
  /** The values of questions that found more, or larger, records than a statement for several may. */
  readonly large: Set<string>;
}

export class PageBatch {
  readonly #connections: readonly SharedConnection[];
  readonly #follow: (fieldsVersion: number) => Promise<boolean>;
  readonly #clock: Clock;
  readonly #shapes = new Map<string, SharedShape>();
  #statements = 0;
  #pausedUntil = 0;

  /** `follow` tells whether the dictionaries have changed since the questions were built. */
  constructor(
    connections: readonly SharedConnection[],
    follow: (fieldsVersion: number) => Promise<boolean>,
    clock: Clock,
  ) {
    this.#connections = connections;
    this.#follow = follow;
    this.#clock = clock;
  }

  /** Returns the page, or undefined when the query must be read by itself. */
  async ask(question: PageQuestion): Promise<Page | undefined> {
    const shape = this.#shapeOf(question);
    if (this.#isPaused(shape) || (shape.large.size > 0 && shape.large.has(valuesOf(question)))) return undefined;
    return shape.batch.ask(question);
  }

  #isPaused(shape: SharedShape): boolean {
    return this.#clock.elapsed() < Math.max(this.#pausedUntil, shape.pausedUntil);
  }

  #shapeOf({ shape: name, limit }: PageQuestion): SharedShape {
    const known = this.#shapes.get(name);
    if (known) return known;
    if (this.#shapes.size >= SHAPES_MAX) this.#shapes.clear();
    const questionsMax = (): number => Math.min(QUESTIONS_MAX, Math.floor(RECORDS_MAX / Math.max(1, shape.records)));
    const batch = new KeyBatch((questions: PageQuestion[]) => this.#load(shape, questions), questionsMax);
    const shape: SharedShape = { batch, records: limit, pausedUntil: 0, large: new Set() };
    this.#shapes.set(name, shape);
    return shape;
  }

  async #load(shape: SharedShape, questions: readonly PageQuestion[]): Promise<Map<PageQuestion, Page>> {
    const pages = new Map<PageQuestion, Page>();
    if (this.#isPaused(shape)) return pages;
    const { sql, limit, values } = questions[0]!;
    const lists = values.map((_, at) => questions.map((question) => question.values[at]!));
    const after = questions.map((question) => question.after);
    const connection = this.#connections[this.#statements++ % this.#connections.length]!;
    let rows: JoinedPageRow[];
    try {
      rows = await connection.ask<JoinedPageRow>(sql(), [[...questions.keys()], after, limit, ...lists]);
    } catch (fault) {
      if (!(fault instanceof Refusal && fault.code === 'SERVICE_BUSY')) throw fault;
      this.#pausedUntil = this.#clock.elapsed() + TENANT_PAUSE_MS;
      shape.pausedUntil = this.#clock.elapsed() + SHAPE_PAUSE_MS;
      return pages;
    }
    if (await this.#follow(rows[0]![4])) return pages;
    shape.records = Math.max(...rows.map(([, , count]) => count));
    for (const [at, records, count, last] of rows) {
      const question = questions[at]!;
      if (records === LARGE_PAGE) {
        if (shape.large.size >= LARGE_MAX) shape.large.clear();
        shape.large.add(valuesOf(question));
      } else if (Buffer.byteLength(records) - BRACKETS <= question.bytesMax)
        pages.set(question, { records, next: count > limit ? last : null });
    }
    return pages;
  }
}

const valuesOf = ({ values }: PageQuestion): string => JSON.stringify(values);
