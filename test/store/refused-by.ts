/** Asserts that calls of a store are refused with the right code. */
import assert from 'node:assert/strict';
import { Refusal, type ErrorCode } from '../../src/errors.ts';

/** Asserts that work throws a refusal with this code and these parts. */
export async function assertRefusedBy(
  work: Promise<unknown>,
  code: ErrorCode,
  parts: Partial<Refusal> = {},
): Promise<void> {
  const fault: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(fault instanceof Refusal, `${code} was expected, not ${String(fault)}`);
  assert.equal(fault.code, code, fault.message);
  for (const [name, value] of Object.entries(parts)) assert.equal(fault[name as keyof Refusal], value);
}
