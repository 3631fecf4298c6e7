/**
 * Reads that wait at the same moment share a statement: reads by key, and short queries of the same shape. A read that
 * arrives while a statement is running joins the next one, so no answer is older than its question. A large page is
 * read separately, row by row.
 */
import type { Clock } from '../../../clock.ts';
import { Refusal } from '../../../errors.ts';
import type { Page, QueryRequest } from '../../../pims/pims-port.ts';
import { formatPosition } from '../../../pims/reads/query.ts';
import { ORDER_CHARACTERS_MAX } from '../../../pims/rules/record-bounds.ts';
import { PageFiller } from '../../pims/page.ts';
import type { SharedConnection } from '../connection/shared-connection.ts';
import { LARGE_PAGE, type JoinedPageRow, type LoadedRow, type PageQuestion } from './page-sql.ts';

interface Batch<Answer, Question> extends PromiseWithResolvers<ReadonlyMap<Question, Answer>> {
  readonly questions: Set<Question>;
}

/** Maximum number of running statements: the database works on one while the node parses the other. */
const RUNNING_MAX = 2;
const KEYS_MAX = 256;

export class KeyBatch<Answer, Question = string> {
  readonly #load: (questions: Question[]) => Promise<ReadonlyMap<Question, Answer>>;
  readonly #waiting: Batch<Answer, Question>[] = [];
  #running = 0;
  #isPlanned = false;

  /** `load` returns the answers; a question without an answer is left out. */
  constructor(load: (questions: Question[]) => Promise<ReadonlyMap<Question, Answer>>) {
    this.#load = load;
  }

  async askKey(question: Question): Promise<Answer | undefined> {
    let batch = this.#waiting.at(-1);
    if (!batch || (batch.questions.size >= KEYS_MAX && !batch.questions.has(question))) {
      batch = { ...Promise.withResolvers<ReadonlyMap<Question, Answer>>(), questions: new Set() };
      this.#waiting.push(batch);
      this.#plan();
    }
    batch.questions.add(question);
    return (await batch.promise).get(question);
  }

  /** Sends the statement at the end of this round of the event loop, with all questions that have arrived. */
  #plan(): void {
    if (this.#isPlanned || this.#running >= RUNNING_MAX) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#sendKeys();
    });
  }

  #sendKeys(): void {
    while (this.#running < RUNNING_MAX) {
      const batch = this.#waiting.shift();
      if (!batch) return;
      this.#running++;
      void this.#load([...batch.questions])
        .then(batch.resolve, batch.reject)
        .finally(() => {
          this.#running--;
          this.#sendKeys();
        });
    }
  }
}

/** Collects a page row by row. */
export class PageRows {
  readonly #filler: PageFiller;
  readonly #hasLines: boolean;
  last: LoadedRow | undefined;

  constructor({ limit, bytesMax, hasLines = false }: Pick<QueryRequest, 'limit' | 'bytesMax' | 'hasLines'>) {
    this.#filler = new PageFiller(limit, bytesMax);
    this.#hasLines = hasLines;
  }

  /** Whether the first order is larger than a response may be. */
  get isTooLarge(): boolean {
    return this.#hasLines && this.#filler.bytesOfFirst > ORDER_CHARACTERS_MAX;
  }

  /** Adds a row: a record, or further lines of the previous order. Returns false to end the statement early. */
  takeRow(row: LoadedRow): boolean {
    const [key, record, , lines, , value] = row;
    const isSame = key === this.last?.[0];
    this.last = row;
    const position = value === null ? key : formatPosition(value, key);
    const isTaken = isSame
      ? this.#filler.takeLines(lines ?? '')
      : this.#filler.takeRecord(position, record, lines ?? '') || this.#filler.isLong;
    return isTaken && !this.isTooLarge;
  }

  get page(): Page {
    return this.#hasLines ? this.#filler.pageWithLines : this.#filler.page;
  }
}

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

interface SharedShape {
  readonly waiting: WaitingQuestion[];
  /** The most records that a page of the last statement had. */
  records: number;
  pausedUntil: number;
  /** The values of questions that found too many or too large records for a shared statement. */
  readonly large: Set<string>;
}

/** Null if a node has added a field since the question was built, undefined if the query must be read separately. */
type SharedPage = Page | null | undefined;

interface WaitingQuestion extends PromiseWithResolvers<SharedPage> {
  readonly question: PageQuestion;
}

/** Runs short queries. Waiting queries of the same shape share a statement. */
export class PageBatch {
  /** Connections without a statement of this tenant. It has at most one on each, so that other tenants wait for few. */
  readonly #free: SharedConnection[];
  readonly #isOutdated: (question: PageQuestion, fieldsVersion: number) => Promise<boolean>;
  readonly #clock: Clock;
  readonly #shapes = new Map<string, SharedShape>();
  /** Shapes with waiting questions; the first is sent next. */
  readonly #waiting = new Set<SharedShape>();
  #pausedUntil = 0;
  #isPlanned = false;

  /** `isOutdated` returns whether a node has added a field since the question was built. */
  constructor(
    connections: readonly SharedConnection[],
    isOutdated: (question: PageQuestion, fieldsVersion: number) => Promise<boolean>,
    clock: Clock,
  ) {
    this.#free = [...connections];
    this.#isOutdated = isOutdated;
    this.#clock = clock;
  }

  async askPage(question: PageQuestion): Promise<SharedPage> {
    const shape = this.#shapeOf(question);
    if (this.#isPaused(shape) || (shape.large.size > 0 && shape.large.has(valuesOf(question)))) return undefined;
    const waiting = { question, ...Promise.withResolvers<SharedPage>() };
    shape.waiting.push(waiting);
    this.#waiting.add(shape);
    this.#plan();
    return waiting.promise;
  }

  #isPaused(shape: SharedShape): boolean {
    return this.#clock.elapsed() < Math.max(this.#pausedUntil, shape.pausedUntil);
  }

  #shapeOf({ shape: name, limit }: PageQuestion): SharedShape {
    let shape = this.#shapes.get(name);
    if (shape) return shape;
    if (this.#shapes.size >= SHAPES_MAX) this.#shapes.clear();
    shape = { waiting: [], records: limit, pausedUntil: 0, large: new Set() };
    this.#shapes.set(name, shape);
    return shape;
  }

  /** Sends the questions that have arrived by the end of this round of the event loop. */
  #plan(): void {
    if (this.#isPlanned || this.#free.length === 0 || this.#waiting.size === 0) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      while (this.#free.length > 0 && this.#waiting.size > 0) void this.#sendPages(this.#free.shift()!);
    });
  }

  async #sendPages(connection: SharedConnection): Promise<void> {
    const shape = this.#waiting.values().next().value!;
    const most = Math.min(QUESTIONS_MAX, Math.floor(RECORDS_MAX / Math.max(1, shape.records)));
    const sent = shape.waiting.splice(0, Math.max(1, most));
    this.#waiting.delete(shape);
    if (shape.waiting.length > 0) this.#waiting.add(shape);
    try {
      const questions = sent.map(({ question }) => question);
      const pages = this.#isPaused(shape) ? [] : await this.#loadPages(connection, shape, questions);
      for (const [at, { resolve }] of sent.entries()) resolve(pages[at]);
    } catch (fault) {
      for (const { reject } of sent) reject(fault);
    }
    this.#free.push(connection);
    this.#plan();
  }

  async #loadPages(
    connection: SharedConnection,
    shape: SharedShape,
    questions: readonly PageQuestion[],
  ): Promise<SharedPage[]> {
    const { sql, limit, values } = questions[0]!;
    const lists = values.map((_, at) => questions.map((question) => question.values[at]!));
    const after = questions.map((question) => question.after);
    let rows: JoinedPageRow[];
    try {
      rows = await connection.askRows<JoinedPageRow>(sql(), [[...questions.keys()], after, limit, ...lists]);
    } catch (fault) {
      if (!(fault instanceof Refusal && fault.code === 'SERVICE_BUSY')) throw fault;
      this.#pausedUntil = this.#clock.elapsed() + TENANT_PAUSE_MS;
      shape.pausedUntil = this.#clock.elapsed() + SHAPE_PAUSE_MS;
      return [];
    }
    shape.records = Math.max(...rows.map(([, , count]) => count));
    if (await this.#isOutdated(questions[0]!, rows[0]![4])) return questions.map(() => null);
    const pages: SharedPage[] = [];
    for (const [at, records, count, last] of rows) {
      const question = questions[at]!;
      if (records === LARGE_PAGE) {
        if (shape.large.size >= LARGE_MAX) shape.large.clear();
        shape.large.add(valuesOf(question));
      } else if (Buffer.byteLength(records) - BRACKETS <= question.bytesMax)
        pages[at] = { records, next: count > limit ? last : null };
    }
    return pages;
  }
}

const valuesOf = ({ values }: PageQuestion): string => JSON.stringify(values);
