/**
 * Builders of JSON Schemas. The service validates requests with these schemas, and the contract is generated from them.
 * A schema has the type of its valid values, so that validation and types have one source. The type costs nothing at
 * run time.
 */

export type Schema = Readonly<Record<string, unknown>>;

declare const TYPE: unique symbol;
export type TypedSchema<T> = Schema & { readonly [TYPE]?: T };
/** The type of the values that a schema allows, such as `{ teamID: string; …; code?: string }`. */
type TypeOf<S> = S extends TypedSchema<infer T> ? T : never;

export const NULL: Schema = { type: 'null' };
export const listOf = <T>(items: TypedSchema<T>, more: Schema = {}): TypedSchema<T[]> => ({
  type: 'array',
  items,
  ...more,
});

export const booleanOf = (description?: string): TypedSchema<boolean> => ({
  type: 'boolean',
  ...(description !== undefined && { description }),
});

/** Describes a string. `more` has further keywords. */
export const textOf = (description?: string, more: Schema = {}): TypedSchema<string> => ({
  type: 'string',
  ...(description !== undefined && { description }),
  ...more,
});

export const matching = (pattern: string): TypedSchema<string> => textOf(undefined, { pattern });

/** Describes a non-empty string. `more` has further keywords. */
export const required = (description?: string, more: Schema = {}): TypedSchema<string> =>
  textOf(description, { minLength: 1, ...more });

export const oneOf = <T extends string>(values: readonly T[]): TypedSchema<T> => ({ enum: values });

export type Members = Readonly<Record<string, TypedSchema<unknown>>>;
type ValuesOf<M> = { [Name in keyof M]: TypeOf<M[Name]> };

/**
 * Describes an object with exactly these members, of which the optional ones come last. Without `optional`, the type
 * `Optional` repeats the needed members, which changes nothing.
 */
export const objectOf = <Needed extends Members, Optional extends Members = Needed>(
  needed: Needed,
  optional?: Optional,
): TypedSchema<ValuesOf<Needed> & Partial<ValuesOf<Optional>>> => ({
  type: 'object',
  properties: { ...needed, ...optional },
  required: Object.keys(needed),
  additionalProperties: false,
});

/** Returns the members of an object with each value converted. */
export const mapValues = <Value, T>(
  members: Readonly<Record<string, Value>>,
  make: (value: Value) => T,
): Record<string, T> => Object.fromEntries(Object.entries(members).map(([name, value]) => [name, make(value)]));
