/** Builders of JSON Schemas. The service validates requests with them, and the contract is made from them. */

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

export const NULL: Schema = { type: 'null' };
export const listOf = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', items, ...more });

export const booleanOf = (description: string): Schema => ({ type: 'boolean', description });

/** A string; `more` holds further keywords. */
export const textOf = (description?: string, more: Schema = {}): Schema => ({
  type: 'string',
  ...(description !== undefined && { description }),
  ...more,
});

/** A string that is not empty; `more` holds further keywords. */
export const required = (description: string, more: Schema = {}): Schema =>
  textOf(description, { minLength: 1, ...more });

/** An object with these members and no others, all required but the optional ones. */
export const objectOf = (members: Record<string, Schema>, optional: readonly string[] = []): Schema => ({
  type: 'object',
  properties: members,
  required: Object.keys(members).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});

/** The members of an object, each made into something else. */
export const mapValues = <T>(
  members: Readonly<Record<string, string>>,
  make: (value: string) => T,
): Record<string, T> => Object.fromEntries(Object.entries(members).map(([name, value]) => [name, make(value)]));
