/**
 * Batches: several writes whose scripts run one after the other in one transaction, so that all take effect or none. A
 * step may refer to the result of an earlier step. Source: decision 0027.
 */
import { Refusal, refuseField, settle, startOf } from '../errors.ts';
import type { Dictionaries } from './rules/fields.ts';
import { BATCH_ANSWER_CHARACTERS_MAX, LINES_MAX, REFERRED_CHARACTERS_MAX } from './rules/record-bounds.ts';
import type { LineUnits } from './rules/stock.ts';
import { recordChanges, type ChangedRecords } from './writes/changed-records.ts';
import { isObject, type Json } from './rules/json.ts';
import type { Load, Script } from './writes/script.ts';
import { ORDER_WRITES } from './writes/order-writes.ts';
import { STOCK_WRITES } from './writes/stock-writes.ts';
import type { RawValue, Values } from './rules/values.ts';
import { RECORD_WRITES, type Body, type WriteContext } from './writes/writes.ts';

/** Every write of a record, by the name of its operation. */
export const WRITES = { ...RECORD_WRITES, ...ORDER_WRITES, ...STOCK_WRITES } satisfies Record<
  string,
  (dictionaries: Dictionaries, body: Body, context: WriteContext) => Script<Json>
>;
export type BatchOperation = keyof typeof WRITES;
export const BATCH_OPERATIONS = Object.keys(WRITES) as BatchOperation[];

export interface BatchStep {
  readonly operation: BatchOperation;
  readonly body: Body;
  /** Refusal of the step before it runs, if its body is invalid. */
  readonly refusal: Refusal | undefined;
}

/** A reference to the result of a step: `$3.data` or `$3.data.FIELD`. */
const REFERENCE = /^\$(0|[1-9]\d?)\.data(?:\.(.+))?$/s;

/**
 * Runs the steps and returns the list of their results in order, each in its envelope. The refusal of a step has its
 * index as `step`. Throws INVALID_REFERENCE for an invalid reference, or BATCH_TOO_LONG if the results are too long or
 * the steps change the stock of too many lines.
 */
export function* writeBatch(
  dictionaries: Dictionaries,
  steps: readonly BatchStep[],
  context: WriteContext,
): Script<Json> {
  const results = makeResults();
  const note = makeLineCount();
  const changed: ChangedRecords = new Map();
  let loads: (readonly Load[])[] | undefined;
  const loadsAfter = (step: number) =>
    (loads ??= steps.map((each) => listLoads(dictionaries, each, context))).slice(step + 1).flat();
  for (const [step, { operation, body, refusal }] of steps.entries())
    try {
      if (refusal) throw refusal;
      const write = WRITES[operation](dictionaries, results.fillIn(body), context);
      const recording = recordChanges(write, operation, context, changed, step === steps.length - 1);
      results.addResult(yield* runStep(recording, () => loadsAfter(step), note));
    } catch (fault) {
      throw fault instanceof Refusal ? fault.atStep(step) : fault;
    }
  return results.render();
}

/** Runs a step, notes what it loads, and names the loads of the later steps with each of its loads. */
function* runStep(write: Script<Json>, loadsAfter: () => readonly Load[], note: LineCount): Script<Json> {
  let step = write.next();
  while (!step.done) {
    const request = step.value;
    if (request.kind === 'save') step = write.next(yield request);
    else {
      const loaded = yield {
        ...request,
        // Only a store that looks ahead needs the list.
        get ahead() {
          return [...(request.ahead ?? []), ...loadsAfter()];
        },
      };
      step = write.next(note(request, loaded));
    }
  }
  return step.value;
}

type LineCount = (request: Load, loaded: unknown) => unknown;

/**
 * Counts the lines of the orders that a batch handles whole, from what it loads. Throws BATCH_TOO_LONG if they are more
 * than one order may have.
 */
function makeLineCount(): LineCount {
  let lines = 0;
  return ({ name }, loaded) => {
    if (name === 'lines' || name === 'returnedLines') lines += (loaded as readonly Values[]).length;
    if (name === 'unitsOfLines') for (const [, , count] of loaded as readonly LineUnits[]) lines += count;
    if (lines <= LINES_MAX) return loaded;
    throw new Refusal(
      'BATCH_TOO_LONG',
      `The orders of the steps, with their returns, have more than ${LINES_MAX} lines. Send fewer steps.`,
    );
  };
}

/** Placeholder for a reference whose result is not known yet. */
const UNKNOWN = '$';
/** Fields that identify a record. Nothing can be loaded for a step without them. */
const NAMES = ['ORDER_NUMBER', 'LINE_REF_LOCK_CODE', 'CUSTOMER_CODE', 'PART_CODE'];

/** Lists the likely loads of a step that are known before the earlier steps have run. */
function listLoads(dictionaries: Dictionaries, { operation, body }: BatchStep, context: WriteContext): readonly Load[] {
  const fields = Object.entries(body).flatMap(([name, value]) => {
    if (!isMarked(value) || value.startsWith('$$')) return [[name, isMarked(value) ? unescape(value) : value]];
    return NAMES.includes(name) ? [[name, UNKNOWN]] : [];
  });
  const first = settle(() => WRITES[operation](dictionaries, Object.fromEntries(fields) as Body, context).next());
  // A step that is refused here is refused again when it runs.
  if (first instanceof Refusal || first.done || first.value.kind !== 'load') return [];
  const loads = [first.value, ...(first.value.ahead ?? [])];
  return loads.filter(({ args }) => !(args as readonly unknown[]).includes(UNKNOWN));
}

/** Removes a `$` that escapes the next one. */
export const unescape = (value: string): string => (value.startsWith('$$') ? value.slice(1) : value);

/** Keeps the results of the steps that have run. */
function makeResults() {
  const results: Json[] = [];
  const parsed: (string | Record<string, string>)[] = [];
  let [characters, referred] = [0, 0];
  const resolveReference = (name: string, text: string) => {
    if (text.startsWith('$$')) return unescape(text);
    const refuseReference = (reason: string) => refuseField('INVALID_REFERENCE', name, reason);
    const shown = startOf(text);
    const [, step, field] = REFERENCE.exec(text) ?? [];
    if (step === undefined)
      throw refuseReference(
        `'${shown}' is not a reference. Write '$N.data' or '$N.data.FIELD', or '$$' for a literal $ at the start.`,
      );
    const result = results[Number(step)];
    if (result === undefined)
      throw refuseReference(`'${shown}' does not name an earlier step. Steps are counted from 0.`);
    const data = (parsed[Number(step)] ??= JSON.parse(result) as string | Record<string, string>);
    const isText = typeof data === 'string';
    const value = field === undefined ? data : isText || !Object.hasOwn(data, field) ? undefined : data[field];
    if (typeof value !== 'string') {
      const known = isText ? 'a string' : `a record with ${Object.keys(data).join(', ')}`;
      throw refuseReference(`'${shown}' refers to nothing. The result of step ${step} is ${known}.`);
    }
    referred += value.length;
    if (referred <= REFERRED_CHARACTERS_MAX) return value;
    const most = `more than ${REFERRED_CHARACTERS_MAX} characters`;
    throw refuseReference(`The references in this batch expand to ${most}. Send fewer steps.`);
  };
  return {
    addResult(result: Json) {
      results.push(result);
      characters += result.length;
      if (characters <= BATCH_ANSWER_CHARACTERS_MAX) return;
      const most = `${BATCH_ANSWER_CHARACTERS_MAX} characters`;
      throw new Refusal('BATCH_TOO_LONG', `The response would be longer than ${most}. Send fewer steps.`);
    },
    render: (): Json => `[${results.map((data) => `{"status":"success","data":${data},"subRecords":null}`).join(',')}]`,
    /** Replaces the references in a body with the values that they refer to. */
    fillIn: (body: Body): Body =>
      mapTexts(body, (text, name) => (isMarked(text) ? resolveReference(name, text) : text)),
  };
}

/** Replaces the texts of a body, also those of objects in a list, such as the lines of an invoice. */
export const mapTexts = (body: Body, change: (text: string, name: string) => string): Body =>
  Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      if (typeof value === 'string') return [name, change(value, name)];
      return [
        name,
        Array.isArray(value) ? value.map((one) => (isObject(one) ? mapTexts(one as Body, change) : one)) : value,
      ];
    }),
  );

const isMarked = (value: RawValue): value is string => typeof value === 'string' && value.startsWith('$');
