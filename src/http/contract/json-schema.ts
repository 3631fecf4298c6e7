/**
 * Builders of JSON Schemas. The service validates requests with these schemas, and the contract is generated from them.
 * A schema has the type of its valid values, so that validation and types have one source. The type costs nothing at
 * run time.
 */

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

declare const TYPE: unique symbol;
export type TypedSchema<T> = Schema & { readonly [TYPE]?: T };
/** Example: `TypeOf<typeof SIGN_IN>` gives `{ teamID: string; …; code?: string }`. */
export type TypeOf<S> = S extends TypedSchema<infer T> ? T : never;

export const NULL: Schema = { type: 'null' };
export const listOf = <T>(items: TypedSchema<T>, more: Schema = {}): TypedSchema<T[]> => ({
  type: 'array',
  items,
  ...more,
});

export const booleanOf = (description: string): Schema => ({ type: 'boolean', description });

/** Describes a string. `more` has further keywords. */
export const textOf = (description?: string, more: Schema = {}): TypedSchema<string> => ({
  type: 'string',
  ...(description !== undefined && { description }),
  ...more,
});

/** Describes a non-empty string. `more` has further keywords. */
export const required = (description?: string, more: Schema = {}): TypedSchema<string> =>
  textOf(description, { minLength: 1, ...more });

export const oneOf = <T extends string>(values: readonly T[]): TypedSchema<T> => ({ enum: values });

type Members = Readonly<Record<string, TypedSchema<unknown>>>;

/** Describes an object with exactly these members. All are required except the `optional` ones. */
export const objectOf = <M extends Members, Optional extends keyof M = never>(
  members: M,
  optional: readonly Optional[] = [],
): TypedSchema<
  { [Name in Exclude<keyof M, Optional>]: TypeOf<M[Name]> } & { [Name in Optional]?: TypeOf<M[Name]> }
> => ({
  type: 'object',
  properties: members,
  required: Object.keys(members).filter((name) => !optional.includes(name as Optional)),
  additionalProperties: false,
});

/** Returns the members of an object with each value converted. */
export const mapValues = <T>(
  members: Readonly<Record<string, string>>,
  make: (value: string) => T,
): Record<string, T> => Object.fromEntries(Object.entries(members).map(([name, value]) => [name, make(value)]));
