/**
 * Several writes as one: runs the scripts of the single writes one after the other in one transaction, so all happen or
 * none. A step may refer to what a step before it answered. Source: additions, section 1.
 */
import { Refusal, refuseField } from '../errors.ts';
import type { Dictionaries } from './rules/fields.ts';
import { BATCH_ANSWER_CHARACTERS_MAX, LINES_MAX, REFERRED_CHARACTERS_MAX } from './rules/record-bounds.ts';
import type { Json, LineUnits, Load, Script } from './writes/script.ts';
import { cancelOrder, updateOrder } from './writes/order-writes.ts';
import type { RawValue } from './rules/values.ts';
import { addLineItem, createCustomer, createOrder, updateCustomer, updateLineItem } from './writes/writes.ts';
import type { Body, WriteContext } from './writes/writes.ts';

/** The writes a batch takes. */
const WRITES = { createOrder, addLineItem, updateLineItem, updateOrder, cancelOrder, createCustomer, updateCustomer };
export type BatchOperation = keyof typeof WRITES;
export const BATCH_OPERATIONS = Object.keys(WRITES) as BatchOperation[];

export interface BatchStep {
  readonly operation: BatchOperation;
  readonly body: Body;
  /** What is wrong with the body as it was sent. */
  readonly refusal: Refusal | undefined;
}

/** `$3.data` or `$3.data.FIELD`. */
const REFERENCE = /^\$(0|[1-9]\d?)\.data(?:\.(.+))?$/s;

/**
 * Data is the list of what the steps answer, in their order, each in its envelope. What a step refuses is refused with
 * its `step`. INVALID_REFERENCE for a reference to nothing; BATCH_TOO_LONG when the answers are.
 */
export function* writeBatch(
  dictionaries: Dictionaries,
  steps: readonly BatchStep[],
  context: WriteContext,
): Script<Json> {
  const answers = new Answers();
  const released = { lines: 0 };
  const ahead = new Ahead(
    steps.map(
      ({ operation, body }) =>
        () =>
          listLoads(dictionaries, operation, body, context),
    ),
  );
  for (const [step, { operation, body, refusal }] of steps.entries())
    try {
      if (refusal) throw refusal;
      answers.add(
        yield* ahead.of(step, bound(WRITES[operation](dictionaries, answers.fillIn(body), context), released)),
      );
    } catch (fault) {
      throw fault instanceof Refusal ? fault.atStep(step) : fault;
    }
  return answers.render();
}

/** Runs a step. BATCH_TOO_LONG when orders whose DROP_SHIP changes have more lines together than an order may have. */
function* bound(script: Script<Json>, released: { lines: number }): Script<Json> {
  let step = script.next();
  while (!step.done) {
    const answer = yield step.value;
    if (step.value.name === 'unitsOfLines')
      for (const [, , lines] of answer as readonly LineUnits[]) released.lines += lines;
    if (released.lines > LINES_MAX)
      throw new Refusal('BATCH_TOO_LONG', `DROP_SHIP changes for more than ${LINES_MAX} lines; send fewer steps.`);
    step = script.next(answer);
  }
  return step.value;
}

/** What stands for a reference while it is not known what it refers to. */
const UNKNOWN = '$';
/** The fields that name a record. A step cannot be looked at without them. */
const NAMES = ['ORDER_NUMBER', 'LINE_REF_LOCK_CODE', 'CUSTOMER_CODE'];

/** What a step is likely to load, as far as that is known before the steps in front of it are done. */
function listLoads(
  dictionaries: Dictionaries,
  operation: BatchOperation,
  body: Body,
  context: WriteContext,
): readonly Load[] {
  const fields = Object.entries(body).flatMap(([name, value]) => {
    if (!isMarked(value) || value.startsWith('$$')) return [[name, isMarked(value) ? unescape(value) : value]];
    return NAMES.includes(name) ? [[name, UNKNOWN]] : [];
  });
  try {
    const first = WRITES[operation](dictionaries, Object.fromEntries(fields) as Body, context).next();
    if (first.done || first.value.kind !== 'load') return [];
    const loads = [first.value, ...(first.value.ahead ?? [])];
    return loads.filter(({ args }) => !(args as readonly unknown[]).includes(UNKNOWN));
  } catch (fault) {
    // It will be refused when its turn comes.
    if (fault instanceof Refusal) return [];
    throw fault;
  }
}

/** Has the loads of a step bring along those of the steps behind it. A store that does not look ahead never asks. */
class Ahead {
  readonly #steps: readonly (() => readonly Load[])[];
  #loads: (readonly Load[])[] | undefined;

  constructor(steps: readonly (() => readonly Load[])[]) {
    this.#steps = steps;
  }

  *of(step: number, write: Script<Json>): Script<Json> {
    const behind = (): readonly Load[] => (this.#loads ??= this.#steps.map((list) => list())).slice(step + 1).flat();
    let asked = write.next();
    while (!asked.done) {
      const request = asked.value;
      asked = write.next(yield request.kind === 'load' ? lookAhead(request, behind) : request);
    }
    return asked.value;
  }
}

function lookAhead(load: Load, behind: () => readonly Load[]): Load {
  return {
    ...load,
    get ahead() {
      return [...(load.ahead ?? []), ...behind()];
    },
  };
}

/** A value without the `$` that makes the one behind it an ordinary character. */
export const unescape = (value: string): string => (value.startsWith('$$') ? value.slice(1) : value);

/** What the steps so far have answered. */
class Answers {
  readonly #answers: Json[] = [];
  readonly #parsed: unknown[] = [];
  #characters = 0;
  #referred = 0;

  add(answer: Json): void {
    this.#answers.push(answer);
    this.#characters += answer.length;
    if (this.#characters <= BATCH_ANSWER_CHARACTERS_MAX) return;
    const most = `${BATCH_ANSWER_CHARACTERS_MAX} characters`;
    throw new Refusal('BATCH_TOO_LONG', `The answer would be longer than ${most}; send fewer steps.`);
  }

  render(): Json {
    const envelopes = this.#answers.map((data) => `{"status":"success","data":${data},"subRecords":null}`);
    return `[${envelopes.join(',')}]`;
  }

  /** The body with what its references stand for. */
  fillIn(body: Body): Body {
    const fields = Object.entries(body);
    if (!fields.some(([, value]) => isMarked(value))) return body;
    return Object.fromEntries(fields.map(([name, value]) => [name, isMarked(value) ? this.#find(name, value) : value]));
  }

  #find(name: string, text: string): string {
    if (text.startsWith('$$')) return unescape(text);
    const [, step, field] = REFERENCE.exec(text) ?? [];
    const shown = text.slice(0, 64);
    if (step === undefined) {
      const form = "A reference is written '$N.data' or '$N.data.FIELD', a literal $ at the start '$$'";
      throw refuseField('INVALID_REFERENCE', name, `${form}; '${shown}' is neither.`);
    }
    const answer = this.#answers[Number(step)];
    if (answer === undefined)
      throw refuseField('INVALID_REFERENCE', name, `'${shown}' does not name a step before this one.`);
    const data = (this.#parsed[Number(step)] ??= JSON.parse(answer)) as string | Record<string, string>;
    const value = typeof data === 'string' || field === undefined ? data : ownMember(data, field);
    if (typeof value !== 'string' || (typeof data === 'string' && field !== undefined)) {
      const known = typeof data === 'string' ? 'a text' : `a record with ${Object.keys(data).join(', ')}`;
      throw refuseField('INVALID_REFERENCE', name, `'${shown}' names nothing: step ${step} answered ${known}.`);
    }
    this.#referred += value.length;
    if (this.#referred <= REFERRED_CHARACTERS_MAX) return value;
    const most = `more than ${REFERRED_CHARACTERS_MAX} characters. Send fewer steps.`;
    throw refuseField('INVALID_REFERENCE', name, `The references in this batch expand to ${most}`);
  }
}

const isMarked = (value: RawValue): value is string => typeof value === 'string' && value.startsWith('$');
const ownMember = (record: Record<string, string>, name: string): string | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;
