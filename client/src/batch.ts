/**
 * A batch, which is several writes in one call: its steps, the references between them, and the types that check both.
 */
import type { AdvancedOrder, BatchOperations, InventoryItem, Order, OrderLine } from './contract.ts';
import type * as records from './records.ts';

type Operation = keyof BatchOperations;
/** The record type whose fields an operation takes; never for an operation that only names a record. */
type RecordTypeOf<Name> = Name extends `${string}LineItem`
  ? 'lines'
  : Name extends 'createOrder' | 'updateOrder'
    ? 'orders'
    : Name extends `${string}Customer`
      ? 'customers'
      : Name extends `${string}Part`
        ? 'inventory'
        : never;
type BodyOf<Custom, Name extends Operation> = BatchOperations[Name]['body'] &
  records.Written<Custom, RecordTypeOf<Name>>;
type DataOf<Custom, Name extends Operation> = Name extends Operation
  ? BatchOperations[Name]['data'] extends string
    ? string
    : BatchOperations[Name]['data'] extends OrderLine
      ? records.OrderLine<Custom>
      : BatchOperations[Name]['data'] extends Order
        ? records.OrderFields<Custom>
        : BatchOperations[Name]['data'] extends InventoryItem
          ? records.StockedPart<Custom>
          : AdvancedOrder
  : never;

const REFERENCE = Symbol('reference');

/** Refers to a text that an earlier step returns: its data, or a field of it. */
export interface Reference<At extends number = number, Name extends string = string> {
  readonly [REFERENCE]: readonly [at: At, name: Name];
}

/** The data of a step if it is a number or a code, and its fields if it is a record. */
export type StepData<At extends number> = Reference<At, ''> & {
  readonly [Name in keyof Order | keyof OrderLine | keyof InventoryItem | keyof AdvancedOrder]: Reference<At, Name>;
};

/** Refers to the result of an earlier step, counted from 0: `step(0).data`, `step(1).data.LINE_REF_LOCK_CODE`. */
export function step<const At extends number>(at: At): { readonly data: StepData<At> } {
  const data = new Proxy<Reference>(
    { [REFERENCE]: [at, ''] },
    {
      get: (whole, name) =>
        typeof name === 'string' ? { [REFERENCE]: [at, name] } : (whole as unknown as Record<symbol, unknown>)[name],
    },
  );
  return { data: data as unknown as StepData<At> };
}

/** A step of any operation, or of the named ones: a list of `BatchStep<Custom, 'addLineItem'>` returns lines. */
export type BatchStep<Custom = unknown, Named extends Operation = Operation> = {
  readonly [Name in Named]: {
    readonly operation: Name;
    readonly body: { readonly [Field in keyof BodyOf<Custom, Name>]: Referring<BodyOf<Custom, Name>[Field]> };
  };
}[Named];

/** A value or a reference. In a list, such as the lines of an invoice, each field of an item can be a reference. */
type Referring<Value> = Value extends readonly (infer Item)[]
  ? readonly { readonly [Field in keyof Item]: Item[Field] | Reference }[]
  : Value | Reference;

/** The data of each step, in order. */
export type BatchAnswers<Custom, Steps extends readonly BatchStep<Custom>[]> = {
  -readonly [At in keyof Steps]: DataOf<Custom, Steps[At]['operation']>;
};

/** The steps if each field is known and each reference names a text of an earlier step, otherwise the mistake. */
export type CheckedSteps<
  Custom,
  Left,
  Before extends readonly unknown[] = [],
  Checked extends readonly unknown[] = [],
> = Left extends readonly [infer First, ...infer Rest]
  ? CheckedSteps<Custom, Rest, [...Before, First], [...Checked, CheckedStep<Custom, First, Before>]>
  : Left extends readonly unknown[]
    ? Checked extends readonly []
      ? Left
      : readonly [...Checked, ...Left]
    : never;

type CheckedStep<Custom, Step, Before> = Step extends {
  readonly operation: infer Name extends Operation;
  readonly body: infer Body;
}
  ? {
      readonly operation: Name;
      readonly body: CheckedBody<Body, BodyOf<Custom, Name>, Name, Before>;
    }
  : Step;

type CheckedBody<Body, Known, Name extends string, Before> = {
  readonly [Field in keyof Body]: Field extends keyof Known
    ? Body[Field] extends readonly unknown[]
      ? CheckedItems<Body[Field], ItemOf<Known[Field]>, Name, Before>
      : CheckedValue<Body[Field], Before>
    : `${Name} has no such field.`;
};
type CheckedItems<Items extends readonly unknown[], Known, Name extends string, Before> = {
  readonly [At in keyof Items]: CheckedBody<Items[At], Known, Name, Before>;
};
type ItemOf<List> = Extract<List, readonly unknown[]>[number];

type CheckedValue<Value, Before> =
  Value extends Reference<infer At, infer Name>
    ? number extends At
      ? Value
      : Before extends { readonly [Index in `${At}`]: { readonly operation: infer Step extends Operation } }
        ? BatchOperations[Step]['data'] extends string
          ? Name extends ''
            ? Value
            : `The data of ${Step} has no fields: it is a text.`
          : Name extends keyof BatchOperations[Step]['data']
            ? Value
            : `The data of ${Step} is a record: name a field of it.`
        : `There is no step ${At} before this one.`
    : Value;

/** Returns the steps to send: references in the API's notation, and texts that only look like one escaped. */
export function renderSteps(steps: readonly BatchStep[]): object[] {
  return steps.map(({ operation, body }) => ({
    operation,
    body: renderBody(body),
  }));
}

const renderBody = (body: object): object =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, renderValue(value)]));

function renderValue(value: unknown): unknown {
  if (typeof value === 'string') return value.startsWith('$') ? `$${value}` : value;
  if (Array.isArray(value)) return value.map((item: unknown) => (isObject(item) ? renderBody(item) : item));
  if (!isObject(value) || !(REFERENCE in value)) return value;
  const [at, name] = (value as Reference)[REFERENCE];
  return name === '' ? `$${at}.data` : `$${at}.data.${name}`;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
