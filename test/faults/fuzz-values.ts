/**
 * Makes values from the schemas of the contract. fast-check makes a few hundred leaves of a schema at a time, because
 * one at a time would cost more than the calls. Every call gets new objects and lists, made of these leaves.
 */
import * as fc from 'fast-check';
import { NAUGHTY } from '../kit/naughty-strings.ts';

/** The part of JSON Schema that the contract uses in requests, with references replaced. */
export interface RequestSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, RequestSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: RequestSchema | boolean;
  readonly items?: RequestSchema;
  readonly allOf?: readonly RequestSchema[];
  readonly anyOf?: readonly RequestSchema[];
  readonly oneOf?: readonly RequestSchema[];
}

const POOL = 400;
/** Values that are often valid by the rules too, not only by the schema. */
const PLAIN = [
  '1',
  '2',
  '0',
  '12.50',
  '-3',
  '1e3',
  '3/4/2026',
  '2026-11-22',
  '02/30/2026',
  'Y',
  'n',
  'quote',
  'sales_order',
  'OPEN',
  '',
];

/** Random numbers, which are the same for the same seed. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  is(share: number): boolean {
    return this.next() < share;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...PLAIN) },
  { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 24 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  { weight: 2, arbitrary: fc.constantFrom(...NAUGHTY) },
);
const number = fc.oneof(
  fc.integer({ min: -9, max: 999 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -0, 1e21, 1e-7),
);
const BY_TYPE: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: text,
  number,
  integer: fc.integer(),
  boolean: fc.boolean(),
  null: fc.constant(null),
};

function leafOf({
  const: only,
  enum: values,
  pattern,
  minimum,
  type = 'string',
}: RequestSchema): fc.Arbitrary<unknown> {
  if (only !== undefined) return fc.constant(only);
  if (values) return fc.constantFrom(...values);
  if (minimum !== undefined) return fc.integer({ min: minimum });
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  return fc.oneof(...[type].flat().map((name) => BY_TYPE[name]!));
}

/** Makes values, and uses values from answers again under the same name. */
export class Values {
  readonly #chance: Chance;
  #pools = new Map<RequestSchema, unknown[]>();
  readonly #known = new Map<string, unknown[]>();

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** Makes new leaves from now on. */
  renew(): void {
    this.#pools = new Map();
  }

  /** Keeps a value from an answer, so that it is sent again. */
  learn(name: string, value: unknown): void {
    const known = this.#known.get(name) ?? [];
    this.#known.set(name, known);
    if (known.length < POOL) known.push(value);
    else known[this.#chance.below(POOL)] = value;
  }

  /** Returns one of the values that are kept under a name. */
  recall(name: string): unknown {
    return this.#chance.pick(this.#known.get(name) ?? [undefined]);
  }

  /** Makes a value that the schema allows. With a name, it is often a value from an answer. */
  make(schema: RequestSchema, name = ''): unknown {
    const known = this.#known.get(name);
    if (known && this.#chance.is(0.6)) return this.#chance.pick(known);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return this.make(this.#chance.pick(choices), name);
    if (schema.items) return this.#makeList(schema);
    if (schema.properties || schema.allOf) return this.#makeObject(schema);
    return this.#leaf(schema);
  }

  #leaf(schema: RequestSchema): unknown {
    let pool = this.#pools.get(schema);
    if (!pool) {
      const most = schema.maxLength ?? Infinity;
      const seed = this.#chance.below(2 ** 31);
      pool = fc.sample(leafOf(schema), { numRuns: POOL, seed }).filter((value) => String(value).length <= most);
      this.#pools.set(schema, pool);
    }
    return this.#chance.pick(pool);
  }

  #makeList({ items, maxItems = 9 }: RequestSchema): unknown[] {
    const count = this.#chance.is(0.02) ? maxItems : this.#chance.below(4);
    return Array.from({ length: count }, () => this.make(items!));
  }

  #makeObject(schema: RequestSchema): Record<string, unknown> {
    const parts = partsOf(schema);
    const needed = new Set(parts.flatMap(({ required = [] }) => required));
    const names = parts.flatMap(({ properties = {} }) => Object.entries(properties));
    const share = this.#chance.is(0.05) ? 1 : Math.min(1, 4 / names.length);
    const made: Record<string, unknown> = {};
    for (const [name, property] of names)
      if (needed.has(name) || this.#chance.is(share)) made[name] = this.make(property, name);
    return made;
  }
}

const partsOf = (schema: RequestSchema): RequestSchema[] => [schema, ...(schema.allOf ?? []).flatMap(partsOf)];
