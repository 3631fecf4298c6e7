/**
 * Reads that wait at the same moment share a statement, which asks for each key once. A read that arrives while a
 * statement is running joins the next one, so no answer is older than its question.
 */

interface Batch<Answer, Question> extends PromiseWithResolvers<ReadonlyMap<Question, Answer>> {
  readonly questions: Set<Question>;
}

/** Maximum number of running statements: the database works on one while the node parses the other. */
const RUNNING_MAX = 2;
const QUESTIONS_MAX = 256;

export class KeyBatch<Answer, Question = string> {
  readonly #load: (questions: Question[]) => Promise<ReadonlyMap<Question, Answer>>;
  readonly #waiting: Batch<Answer, Question>[] = [];
  #running = 0;
  #isPlanned = false;

  /** `load` returns the answers; a question without an answer is left out. */
  constructor(load: (questions: Question[]) => Promise<ReadonlyMap<Question, Answer>>) {
    this.#load = load;
  }

  async ask(question: Question): Promise<Answer | undefined> {
    let batch = this.#waiting.at(-1);
    if (!batch || (batch.questions.size >= QUESTIONS_MAX && !batch.questions.has(question))) {
      batch = { ...Promise.withResolvers<ReadonlyMap<Question, Answer>>(), questions: new Set() };
      this.#waiting.push(batch);
      this.#plan();
    }
    batch.questions.add(question);
    return (await batch.promise).get(question);
  }

  /** Sends the statement at the end of this turn of the event loop, with all questions that have arrived. */
  #plan(): void {
    if (this.#isPlanned || this.#running >= RUNNING_MAX) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#send();
    });
  }

  #send(): void {
    while (this.#running < RUNNING_MAX) {
      const batch = this.#waiting.shift();
      if (!batch) return;
      this.#running++;
      void this.#load([...batch.questions])
        .then(batch.resolve, batch.reject)
        .finally(() => {
          this.#running--;
          this.#send();
        });
    }
  }
}
