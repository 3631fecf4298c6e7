/**
 * Short queries of one tenant. Waiting queries of the same shape share a statement. A query that exceeds the
 * connection's time limit or finds large records is read separately.
 */
import type { Clock } from '../../../clock.ts';
import { Refusal } from '../../../errors.ts';
import type { Page } from '../../../pims/pims-port.ts';
import { Pool } from '../connection/pool.ts';
import type { SharedConnection } from '../connection/shared-connection.ts';
import { KeyBatch } from './key-batch.ts';
import { LARGE_PAGE, type JoinedPageRow, type PageQuestion } from './page-sql.ts';

/**
 * Maximum number of questions in a statement, and of records that they are expected to find according to the shape's
 * last statement.
 */
const QUESTIONS_MAX = 32;
const RECORDS_MAX = 1600;
/**
 * Time for which queries of a shape, and all queries of the tenant, are read separately after a statement took too
 * long.
 */
const SHAPE_PAUSE_MS = 60_000;
const TENANT_PAUSE_MS = 1000;
const SHAPES_MAX = 100;
const LARGE_MAX = 100;
const BRACKETS = 2;

interface Shape {
  readonly batch: KeyBatch<Page, PageQuestion>;
  /** Most records of a page of the last statement. */
  records: number;
  pausedUntil: number;
  /** The values of questions that found too many or too large records for a shared statement. */
  readonly large: Set<string>;
}

export class PageBatch {
  /** A tenant has at most one statement on each, so that others wait for few. */
  readonly #connections: Pool;
  readonly #follow: (fieldsVersion: number) => Promise<boolean>;
  readonly #clock: Clock;
  readonly #shapes = new Map<string, Shape>();
  #pausedUntil = 0;

  /** `follow` returns whether the dictionaries have changed since the questions were built. */
  constructor(
    connections: readonly SharedConnection[],
    follow: (fieldsVersion: number) => Promise<boolean>,
    clock: Clock,
  ) {
    this.#connections = new Pool(connections, clock);
    this.#follow = follow;
    this.#clock = clock;
  }

  /** Returns the page, or undefined if the query must be read separately. */
  async ask(question: PageQuestion): Promise<Page | undefined> {
    if (this.#shapes.size >= SHAPES_MAX && !this.#shapes.has(question.shape)) this.#shapes.clear();
    const shape = this.#shapes.getOrInsertComputed(question.shape, () => this.#newShape(question));
    const isLarge = shape.large.size > 0 && shape.large.has(valuesOf(question));
    return isLarge || this.#isPaused(shape) ? undefined : shape.batch.ask(question);
  }

  #newShape({ limit }: PageQuestion): Shape {
    const most = (): number => Math.min(QUESTIONS_MAX, Math.floor(RECORDS_MAX / Math.max(1, shape.records)));
    const batch = new KeyBatch((questions: PageQuestion[]) => this.#load(shape, questions), most);
    const shape: Shape = { batch, records: limit, pausedUntil: 0, large: new Set() };
    return shape;
  }

  #isPaused(shape: Shape): boolean {
    return this.#clock.elapsed() < Math.max(this.#pausedUntil, shape.pausedUntil);
  }

  async #load(shape: Shape, questions: readonly PageQuestion[]): Promise<Map<PageQuestion, Page>> {
    const pages = new Map<PageQuestion, Page>();
    const { sql, limit, values } = questions[0]!;
    const lists = values.map((_, at) => questions.map((question) => question.values[at]!));
    const after = questions.map((question) => question.after);
    let rows: JoinedPageRow[];
    try {
      rows = await this.#connections.use(0, async (connection) =>
        this.#isPaused(shape) ? [] : connection.ask(sql(), [[...questions.keys()], after, limit, ...lists]),
      );
    } catch (fault) {
      if (!(fault instanceof Refusal && fault.code === 'SERVICE_BUSY')) throw fault;
      this.#pausedUntil = this.#clock.elapsed() + TENANT_PAUSE_MS;
      shape.pausedUntil = this.#clock.elapsed() + SHAPE_PAUSE_MS;
      return pages;
    }
    if (!rows[0] || (await this.#follow(rows[0][4]))) return pages;
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
