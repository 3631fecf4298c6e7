/** Makes batches whose steps refer to each other, and implements references a second time, for the model. */
import { Refusal } from '../../src/errors.ts';
import type { BatchStep } from '../../src/pims/batch.ts';
import type { RawValue } from '../../src/pims/rules/values.ts';
import type { Body, WriteContext, Written } from '../../src/pims/writes/writes.ts';
import { refuse } from './closed-orders.ts';

/** The operations that the model has. */
type Operation = Extract<
  BatchStep['operation'],
  `${'create' | 'update'}${'Order' | 'Customer'}` | `${'add' | 'update'}LineItem` | 'cancelOrder'
>;
/** A reference of a step. `link` chooses its use; `to` and `field` choose the step and field that it names. */
export interface LinkPlan {
  readonly link: number;
  readonly to: number;
  readonly field: string;
}

const MAKERS: Partial<Record<Operation, Operation>> = {
  addLineItem: 'createOrder',
  updateOrder: 'createOrder',
  cancelOrder: 'createOrder',
  updateCustomer: 'createCustomer',
  updateLineItem: 'addLineItem',
};

/** Adds references to a body: usually to the step that made its record, now and then to any step, or malformed ones. */
export function linkBody(body: Body, operation: Operation, before: readonly Operation[], plan: LinkPlan): Body {
  const makers = [...before.keys()].filter((at) => before[at] === MAKERS[operation]);
  const maker = makers[plan.to % makers.length];
  const note = operation.endsWith('LineItem') ? 'DESCRIPTION' : 'NOTES';
  if (plan.link === 0) return { ...body, [note]: `$${plan.to}.data${plan.field}` };
  if (plan.link === 1) return { ...body, [note]: `$$${plan.field}` };
  if (plan.link === 2 && plan.to > 4) return { ...body, [note]: `$${plan.field}` };
  if (plan.link < 4 || maker === undefined) return body;
  if (operation === 'updateLineItem') {
    const line = `$${maker}.data`;
    return { ...body, ORDER_NUMBER: `${line}.ORDER_NUMBER`, LINE_REF_LOCK_CODE: `${line}.LINE_REF_LOCK_CODE` };
  }
  return { ...body, [operation === 'updateCustomer' ? 'CUSTOMER_CODE' : 'ORDER_NUMBER']: `$${maker}.data` };
}

/** The writes of a system, by operation. */
export type Single = Record<Operation, (body: Body, context: WriteContext) => Written>;

/** Carries out the steps and returns their envelopes. A refusal has the number of its step. */
export function doSteps(single: Single, steps: readonly BatchStep[], context: WriteContext): object[] {
  const answers: unknown[] = [];
  for (const [step, { operation, body }] of steps.entries())
    try {
      answers.push(JSON.parse(single[operation as Operation](fillIn(body, answers), context).data));
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      const { code, message, field, suggestion } = refusal;
      throw new Refusal(code, message, { field, suggestion, step });
    }
  return answers.map((data) => ({ status: 'success', data, subRecords: null }));
}

function fillIn(body: Body, answers: readonly unknown[]): Body {
  const fill = ([name, value]: [string, RawValue]): [string, RawValue] =>
    typeof value === 'string' && value[0] === '$' ? [name, valueOf(name, value, answers)] : [name, value];
  return Object.fromEntries(Object.entries(body).map(fill));
}

function valueOf(name: string, text: string, answers: readonly unknown[]): string {
  if (text[1] === '$') return text.slice(1);
  const wrong = (message: string): never => refuse('INVALID_REFERENCE', name, message);
  const shown = text.slice(0, 64);
  const [head = '', data, ...fields] = text.slice(1).split('.');
  const form = "Write '$N.data' or '$N.data.FIELD', or '$$' for a literal $ at the start.";
  if (!/^[0-9]{1,2}$/.test(head) || String(Number(head)) !== head || data !== 'data')
    wrong(`'${shown}' is not a reference. ${form}`);
  const field = fields.join('.');
  if (fields.length > 0 && field === '') wrong(`'${shown}' is not a reference. ${form}`);
  if (Number(head) >= answers.length) wrong(`'${shown}' does not name an earlier step. Steps are counted from 0.`);
  const answer = answers[Number(head)] as string | Record<string, string>;
  if (typeof answer === 'string') {
    if (fields.length === 0) return answer;
    wrong(`'${shown}' refers to nothing. The result of step ${head} is a string.`);
  }
  const record = new Map(Object.entries(answer));
  const known = [...record.keys()].join(', ');
  return (
    record.get(field) ?? wrong(`'${shown}' refers to nothing. The result of step ${head} is a record with ${known}.`)
  );
}

/** Copies a map and its values. Returns a function that restores them. */
export function rememberMap<T>(map: Map<string, T>): () => void {
  const before = structuredClone(map);
  return () => {
    map.clear();
    for (const [key, value] of before) map.set(key, value);
  };
}
