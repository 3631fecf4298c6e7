/**
 * Refuses values that JSON would change: NaN and infinite numbers would become null, and a Date would become a time.
 */

/** Throws a TypeError for the first value of a body that cannot be sent. */
export function checkBody(operation: string, body: unknown): void {
  if (!Array.isArray(body)) return checkRecord(operation, body);
  for (const [at, entry] of (body as unknown[]).entries()) {
    const { operation: name, body: record, field, value } = Object(entry) as Record<string, unknown>;
    if (operation === 'batch') checkRecord(`${String(name)} (step ${at} of the batch)`, record);
    else for (const one of [value].flat()) checkValue(`The value of filter ${at} on ${String(field)}`, one);
  }
}

function checkRecord(where: string, record: unknown): void {
  for (const [name, value] of Object.entries(Object(record) as object)) checkValue(`${name} of ${where}`, value);
}

function checkValue(what: string, value: unknown): void {
  if (Array.isArray(value)) for (const [at, item] of value.entries()) checkRecord(what.replace(' ', `[${at}] `), item);
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError(`${what} is ${value}. Send a finite number, or a decimal text such as '12.5'.`);
  if (typeof value === 'bigint') throw new TypeError(`${what} is a bigint. Send it as text: '${value}'.`);
  // A Date of another realm is not an instance of this Date.
  if (Object.prototype.toString.call(value) === '[object Date]')
    throw new TypeError(
      `${what} is a Date (${String(value)}). Send a date as text such as '2026-11-30', or a time as its toISOString().`,
    );
}
