/** Writes an order with its lines: in one batch if they fit, otherwise in several. */
import { renderSteps, step, type BatchStep } from './batch.ts';
import { hasCode, write } from './calls.ts';
import type { Caller } from './caller.ts';
import { StoreroomError } from './error.ts';
import type { NewLine, NewOrder, WriteOptions } from './records.ts';
import { checkBody } from './values.ts';

const STEPS_MAX = 100;
const BYTES_MAX = 1024 * 1024;
/** The service accepts 255 characters, and an order of 10,000 lines adds at most `.10001`. */
const KEY_CHARACTERS_MAX = 249;

/** Results of the steps so far: the order number first, then the lines. */
type Written = readonly unknown[];

/**
 * Writes the order and its lines, and returns the result of each step. The first batch has the given key, each later
 * one the key with its number, and each begins where the last one ended. So a repeated call gets the same answers up to
 * the first missing line. If it divides the order differently, the service refuses the key and writes nothing twice.
 */
export async function writeInPieces(
  caller: Caller,
  order: NewOrder,
  lines: readonly NewLine[],
  { idempotencyKey = crypto.randomUUID(), ...options }: WriteOptions = {},
): Promise<Written> {
  if (idempotencyKey.length > KEY_CHARACTERS_MAX)
    throw new TypeError(`The idempotencyKey of createWithLines must have at most ${KEY_CHARACTERS_MAX} characters.`);
  // Checks all values first, so that a value that cannot be sent does not fail a later piece.
  checkBody('batch', renderNext(order, lines, [], Infinity));
  const written: unknown[] = [];
  let sizeMax = STEPS_MAX;
  for (let number = 1; written.length <= lines.length;) {
    const piece = cut(renderNext(order, lines, written, sizeMax));
    const keyed = { ...options, idempotencyKey: number === 1 ? idempotencyKey : `${idempotencyKey}.${number}` };
    try {
      const answers = await write<readonly { data: unknown }[]>(caller, 'batch', piece, keyed);
      written.push(...answers.map(({ data }) => data));
      number++;
    } catch (error) {
      const size = hasCode(error, 'BATCH_TOO_LONG') ? error.stepsMax : undefined;
      if (size === undefined || size < 1 || size >= piece.length) throw tellWritten(error, written);
      sizeMax = size;
    }
  }
  return written;
}

/** Renders the next steps. Only the first batch can refer to the order by its step. */
function renderNext(order: NewOrder, lines: readonly NewLine[], written: Written, most: number): object[] {
  const from = Math.max(written.length - 1, 0);
  const ORDER_NUMBER = written.length === 0 ? step(0).data : (written[0] as string);
  const adding = lines
    .slice(from, from + most)
    .map((line): BatchStep => ({ operation: 'addLineItem', body: { ...line, ORDER_NUMBER } }));
  if (written.length > 0) return renderSteps(adding);
  return renderSteps([{ operation: 'createOrder', body: order }, ...adding]).slice(0, most);
}

/** Cuts off the steps that would make the body too large. One step always stays. */
function cut(steps: readonly object[]): readonly object[] {
  let bytes = 1;
  const end = steps.findIndex((one, at) => {
    bytes += new TextEncoder().encode(JSON.stringify(one)).length + 1;
    return at > 0 && bytes > BYTES_MAX;
  });
  return end === -1 ? steps : steps.slice(0, end);
}

/** Adds the order number to an error. Its `step` then counts from the order, not from the first step of the batch. */
function tellWritten(error: unknown, written: Written): unknown {
  if (!(error instanceof StoreroomError)) return error;
  const counted = error.step === undefined ? undefined : written.length + error.step;
  return Object.assign(error, { step: counted, orderNumber: written[0] as string | undefined });
}
