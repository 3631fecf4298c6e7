/**
 * JSON Schemas that carry the type of what passes them, so that validation and types come from one source. The type
 * costs nothing at run time.
 */
import { listOf, objectOf, textOf, type Schema } from '../contract/json-schema.ts';

declare const TYPE: unique symbol;
export type TypedSchema<T> = Schema & { readonly [TYPE]?: T };
/** Example: `TypeOf<typeof SIGN_IN>` gives `{ teamID: string; …; code?: string }`. */
export type TypeOf<S> = S extends TypedSchema<infer T> ? T : never;

type Members = Readonly<Record<string, TypedSchema<unknown>>>;
type Passing<M extends Members> = { [Name in keyof M]: TypeOf<M[Name]> };

export const text = (more: Schema = {}): TypedSchema<string> => textOf(undefined, more);
export const flag: TypedSchema<boolean> = { type: 'boolean' };
export const wholeNumber = (minimum: number, maximum: number): TypedSchema<number> => ({
  type: 'integer',
  minimum,
  maximum,
});
export const oneOf = <T extends string>(values: readonly T[]): TypedSchema<T> => ({ enum: values });
export const list = <T>(items: TypedSchema<T>): TypedSchema<T[]> => listOf(items);
/** An object with any names, each with a value of this schema. */
export const mapOf = <T>(values: TypedSchema<T>, countMax: number): TypedSchema<Record<string, T>> => ({
  type: 'object',
  additionalProperties: values,
  maxProperties: countMax,
});

/** An object with these members and no others. */
export const object = <Needed extends Members, Optional extends Members = {}>(
  needed: Needed,
  optional?: Optional,
): TypedSchema<Passing<Needed> & Partial<Passing<Optional>>> =>
  objectOf({ ...needed, ...optional }, Object.keys(optional ?? {}));
