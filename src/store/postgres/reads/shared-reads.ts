/**
 * Reads that wait at the same moment share a statement: reads by key, and short queries of the same shape. A read that
 * arrives while a statement is running joins the next one, so no answer is older than its question. A large page is
 * read separately, row by row.
 */
import type { Clock } from '../../../clock.ts';
import { Refusal } from '../../../errors.ts';
import type { Page } from '../../../pims/pims-port.ts';
import type { SharedConnection } from '../connection/shared-connection.ts';
import { LARGE_PAGE, type JoinedPageRow, type PageQuestion } from './page-sql.ts';

interface Batch<Answer, Question> extends PromiseWithResolvers<ReadonlyMap<Question, Answer>> {
  readonly questions: Set<Question>;
}

/** Maximum number of running statements: the database works on one while the node parses the other. */
const RUNNING_MAX = 2;
const KEYS_MAX = 256;

/**
 * Makes the function that asks for the answer to a question. `load` returns the answers; a question without an answer
 * is left out.
 */
export function makeKeyBatch<Answer, Question = string>(
  load: (questions: Question[]) => Promise<ReadonlyMap<Question, Answer>>,
) {
  const waiting: Batch<Answer, Question>[] = [];
  let running = 0;
  let isPlanned = false;
  const sendKeys = () => {
    while (running < RUNNING_MAX) {
      const batch = waiting.shift();
      if (!batch) return;
      running++;
      void load([...batch.questions])
        .then(batch.resolve, batch.reject)
        .finally(() => {
          running--;
          sendKeys();
        });
    }
  };
  /** Sends the statement at the end of this round of the event loop, with all questions that have arrived. */
  const planKeys = () => {
    if (isPlanned || running >= RUNNING_MAX) return;
    isPlanned = true;
    setImmediate(() => {
      isPlanned = false;
      sendKeys();
    });
  };
  return async (question: Question): Promise<Answer | undefined> => {
    let batch = waiting.at(-1);
    if (!batch || (batch.questions.size >= KEYS_MAX && !batch.questions.has(question))) {
      batch = { ...Promise.withResolvers<ReadonlyMap<Question, Answer>>(), questions: new Set() };
      waiting.push(batch);
      planKeys();
    }
    batch.questions.add(question);
    return (await batch.promise).get(question);
  };
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

/**
 * Makes the function that runs short queries. Waiting queries of the same shape share a statement. The tenant has at
 * most one on each connection, so that other tenants wait for few. `isOutdated` returns whether a node has added a
 * field since the question was built.
 */
export function makePageBatch(
  connections: readonly SharedConnection[],
  isOutdated: (question: PageQuestion, fieldsVersion: number) => Promise<boolean>,
  clock: Clock,
) {
  /** Connections without a statement of this tenant. */
  const free = [...connections];
  const shapes = new Map<string, SharedShape>();
  /** Shapes with waiting questions; the first is sent next. */
  const waiting = new Set<SharedShape>();
  let pausedUntil = 0;
  let isPlanned = false;
  const isPaused = (shape: SharedShape) => clock.elapsed() < Math.max(pausedUntil, shape.pausedUntil);
  const shapeOf = ({ shape: name, limit }: PageQuestion): SharedShape => {
    if (shapes.size >= SHAPES_MAX && !shapes.has(name)) shapes.clear();
    return shapes.getOrInsertComputed(name, () => ({ waiting: [], records: limit, pausedUntil: 0, large: new Set() }));
  };
  /** Sends the questions that have arrived by the end of this round of the event loop. */
  const planPages = () => {
    if (isPlanned || free.length === 0 || waiting.size === 0) return;
    isPlanned = true;
    setImmediate(() => {
      isPlanned = false;
      while (free.length > 0 && waiting.size > 0) void sendPages(free.shift()!);
    });
  };
  const sendPages = async (connection: SharedConnection) => {
    const shape = waiting.values().next().value!;
    const most = Math.min(QUESTIONS_MAX, Math.floor(RECORDS_MAX / Math.max(1, shape.records)));
    const sent = shape.waiting.splice(0, Math.max(1, most));
    waiting.delete(shape);
    if (shape.waiting.length > 0) waiting.add(shape);
    try {
      const questions = sent.map(({ question }) => question);
      const pages = isPaused(shape) ? [] : await loadPages(connection, shape, questions);
      for (const [at, { resolve }] of sent.entries()) resolve(pages[at]);
    } catch (fault) {
      for (const { reject } of sent) reject(fault);
    }
    free.push(connection);
    planPages();
  };
  const loadPages = async (
    connection: SharedConnection,
    shape: SharedShape,
    questions: readonly PageQuestion[],
  ): Promise<SharedPage[]> => {
    const { sql, limit, values } = questions[0]!;
    const lists = values.map((_, at) => questions.map((question) => question.values[at]!));
    const after = questions.map((question) => question.after);
    let rows: JoinedPageRow[];
    try {
      rows = await connection.askRows<JoinedPageRow>(sql(), [[...questions.keys()], after, limit, ...lists]);
    } catch (fault) {
      if (!(fault instanceof Refusal && fault.code === 'SERVICE_BUSY')) throw fault;
      pausedUntil = clock.elapsed() + TENANT_PAUSE_MS;
      shape.pausedUntil = clock.elapsed() + SHAPE_PAUSE_MS;
      return [];
    }
    shape.records = Math.max(...rows.map(([, , count]) => count));
    if (await isOutdated(questions[0]!, rows[0]![4])) return questions.map(() => null);
    return pagesOf(rows, shape, questions);
  };
  return async (question: PageQuestion): Promise<SharedPage> => {
    const shape = shapeOf(question);
    if (isPaused(shape) || (shape.large.size > 0 && shape.large.has(valuesOf(question)))) return undefined;
    const asked = { question, ...Promise.withResolvers<SharedPage>() };
    shape.waiting.push(asked);
    waiting.add(shape);
    planPages();
    return asked.promise;
  };
}

/** Returns the pages of the questions, except those that have to be read separately. */
function pagesOf(rows: readonly JoinedPageRow[], { large }: SharedShape, questions: readonly PageQuestion[]) {
  const pages: SharedPage[] = [];
  for (const [at, records, count, last] of rows) {
    const question = questions[at]!;
    if (records === LARGE_PAGE) {
      if (large.size >= LARGE_MAX) large.clear();
      large.add(valuesOf(question));
    } else if (Buffer.byteLength(records) - BRACKETS <= question.bytesMax)
      pages[at] = { records, next: count > question.limit ? last : null };
  }
  return pages;
}

const valuesOf = ({ values }: PageQuestion): string => JSON.stringify(values);
