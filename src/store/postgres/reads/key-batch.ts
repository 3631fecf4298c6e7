/**
 * Reads by key that wait at the same moment go out as one statement; the same key is asked once. A read that arrives
 * while one is under way joins the next, so no answer is older than its question.
 */

interface Asked<Answer, Question> extends PromiseWithResolvers<ReadonlyMap<Question, Answer>> {
  readonly questions: Set<Question>;
}

/** Two, so that the database works on one while the node takes the other apart. */
const ON_THE_WAY_MAX = 2;
const QUESTIONS_MAX = 256;

export class KeyBatch<Answer, Question = string> {
  readonly #load: (questions: Question[]) => Promise<ReadonlyMap<Question, Answer>>;
  readonly #questionsMax: number;
  readonly #line: Asked<Answer, Question>[] = [];
  #onTheWay = 0;
  #isPlanned = false;

  /** `load` answers questions by a map; one without an answer is left out. */
  constructor(load: (questions: Question[]) => Promise<ReadonlyMap<Question, Answer>>, questionsMax = QUESTIONS_MAX) {
    this.#load = load;
    this.#questionsMax = questionsMax;
  }

  async ask(question: Question): Promise<Answer | undefined> {
    let asked = this.#line.at(-1);
    if (!asked || (asked.questions.size >= this.#questionsMax && !asked.questions.has(question)))
      this.#line.push((asked = this.#begin()));
    asked.questions.add(question);
    return (await asked.promise).get(question);
  }

  #begin(): Asked<Answer, Question> {
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<Question, Answer>>();
    // The rest of this turn's questions come along.
    if (!this.#isPlanned && this.#onTheWay < ON_THE_WAY_MAX) {
      this.#isPlanned = true;
      setImmediate(() => {
        this.#isPlanned = false;
        this.#send();
      });
    }
    return { promise, resolve, reject, questions: new Set() };
  }

  #send(): void {
    while (this.#onTheWay < ON_THE_WAY_MAX) {
      const asked = this.#line.shift();
      if (!asked) return;
      this.#onTheWay++;
      void this.#load([...asked.questions])
        .then(asked.resolve, asked.reject)
        .finally(() => {
          this.#onTheWay--;
          this.#send();
        });
    }
  }
}
