/** The batch: several writes in one call. */
import { Refusal, startOf } from '../../errors.ts';
import { BATCH_OPERATIONS, mapTexts, unescape, type BatchOperation, type BatchStep } from '../../pims/batch.ts';
import { BATCH_STEPS_MAX } from '../../pims/rules/record-bounds.ts';
import { writeBatch } from '../../pims/operations.ts';
import { isObject } from '../../pims/rules/json.ts';
import type { Body } from '../../pims/writes/writes.ts';
import { renderEnvelope } from '../server/answer.ts';
import { listOf } from '../../json-schema.ts';
import { refuseBody } from './schema-refusals.ts';
import { NEW_LINE_EXAMPLE } from './examples.ts';
import { querySchema, ref } from './operation-schemas.ts';
import type { Call, Operation } from './operation.ts';

interface Step {
  readonly operation: BatchOperation;
  readonly body: Readonly<Record<string, unknown>>;
}

const MEMBERS = ['operation', 'body'];

/** Builds the batch from the single operations, which define the bodies and the results of its steps. */
export function batchOperation(operations: readonly Operation[]): Operation {
  const single = new Map(operations.map((operation) => [operation.name as string, operation]));
  return {
    name: 'batch',
    method: 'POST',
    path: '/batch',
    summary: 'Run several writes in one call',
    description: DESCRIPTION,
    kind: 'batch',
    query: querySchema(),
    body: { name: 'Batch', validated: {}, documented: listOf(ref('BatchStep'), STEPS) },
    listSteps: parseSteps,
    run: async ({ store, body, context, reply }: Call<readonly Step[]>) => {
      const steps = body.map((step): BatchStep => {
        const validate = reply.request.compileValidationSchema(single.get(step.operation)!.body!.validated);
        const isGood = validate(mapTexts(step.body as Body, unescape));
        const refusal = isGood ? undefined : refuseBody(validate.errors![0]!, step.body);
        return { operation: step.operation, body: step.body as Body, refusal };
      });
      return renderEnvelope((await writeBatch(store, steps, context)).data);
    },
    example: {
      body: [
        { operation: 'createOrder', body: { REFERENCE_NUMBER: '#1014', CUSTOMER_CODE: 'VINET' } },
        { operation: 'addLineItem', body: { ORDER_NUMBER: '$0.data', PART_CODE: '11', QUANTITY: '12' } },
      ],
      answer: ['20018', { ...NEW_LINE_EXAMPLE, ORDER_NUMBER: '20018', LINE_NUMBER: '1' }],
    },
  };
}

const STEPS = { minItems: 1, maxItems: BATCH_STEPS_MAX, description: 'The steps, in order.' };
const DESCRIPTION = `Runs the steps in order in one transaction: either all of them happen, or none. A string
\`$N.data\` or \`$N.data.FIELD\` in a body is replaced with the result of step N, counted from 0. Write a literal $ at
the start of a value as $$. data contains one result per step. If a step is rejected, the error is that step's, with its
index in \`step\`. Each step counts as one call.`.replaceAll('\n', ' ');

/** Returns the operations of the steps. Throws INVALID_BODY, BATCH_TOO_LONG, or UNKNOWN_OPERATION. */
function parseSteps(body: unknown): readonly BatchOperation[] {
  if (!Array.isArray(body)) throw new Refusal('INVALID_BODY', 'The body must be a JSON array of steps.');
  if (body.length > BATCH_STEPS_MAX)
    throw new Refusal('BATCH_TOO_LONG', `A batch has at most ${BATCH_STEPS_MAX} steps, not ${body.length}.`);
  if (body.length === 0) throw new Refusal('INVALID_BODY', 'The batch has no steps. Send at least one.');
  return body.map((step: unknown, index) => parseStep(step, index));
}

function parseStep(step: unknown, index: number): BatchOperation {
  const refuseStep = (message: string, field?: string) =>
    new Refusal('INVALID_BODY', `Step ${index} ${message}.`, { field, step: index });
  if (!isObject(step)) throw refuseStep('must be an object with operation and body');
  for (const name of MEMBERS) if (!Object.hasOwn(step, name)) throw refuseStep(`has no '${name}'`, name);
  const other = Object.keys(step)
    .find((name) => !MEMBERS.includes(name))
    ?.slice(0, 64);
  if (other !== undefined) throw refuseStep(`has a member '${other}'; its members are operation and body`, other);
  const { operation, body } = step;
  if (typeof operation !== 'string') throw refuseStep('must name its operation as a string', 'operation');
  if (!isObject(body)) throw refuseStep('must have a JSON object of fields as its body; {} for none', 'body');
  const known = BATCH_OPERATIONS.find((name) => name === operation);
  if (known !== undefined) return known;
  const message = `Step ${index}: a batch can contain only ${BATCH_OPERATIONS.join(', ')}, not '${startOf(operation)}'.`;
  throw new Refusal('UNKNOWN_OPERATION', message, { field: 'operation', step: index });
}
