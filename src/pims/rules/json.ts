/** JSON that is ready to send, as text or as bytes. */

/** JSON text of a record or of a list of records, ready to send. */
export type Json = string;
/** JSON as text, or as UTF-8 bytes where it may be large: bytes need no encoding on the event loop. */
export type Rendered = Json | Uint8Array;

/** Returns whether a value of a body is an object, and no list. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const textOf = (json: Rendered): Json => (typeof json === 'string' ? json : Buffer.from(json).toString());

/** Joins items into a JSON list. The list is bytes if any item is. */
export const joinList = (items: readonly Rendered[]): Rendered =>
  items.every((item) => typeof item === 'string')
    ? `[${items.join(',')}]`
    : Buffer.concat(['[', ...items.flatMap((item, at) => (at > 0 ? [',', item] : [item])), ']'].map(bytesOf));
const bytesOf = (json: Rendered): Uint8Array => (typeof json === 'string' ? Buffer.from(json) : json);
