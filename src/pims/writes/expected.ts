/**
 * No lost updates: a write whose caller names the states it may begin with happens in one of them or not at all.
 * Source: additions section 6.
 */
import { Refusal } from '../../errors.ts';
import { RECORD_TYPES, type KeyedType } from '../rules/fields.ts';
import { ask, load, type Expected, type Load, type Script } from './script.ts';

interface Expecting {
  readonly expected?: Expected | undefined;
}

/** What checkExpected loads. */
export const askExpected = (recordType: KeyedType, key: string, { expected }: Expecting): Load[] =>
  typeof expected === 'object' ? [ask('tag', recordType, key)] : [];

/** RECORD_CHANGED when a record that is there is in another state. */
export function* checkExpected(recordType: KeyedType, key: string, { expected }: Expecting): Script<void> {
  if (typeof expected !== 'object') return;
  const tag = (yield* load('tag', recordType, key))!;
  if (expected.includes(tag)) return;
  const message = `The ${RECORD_TYPES[recordType].noun} '${key.slice(0, 64)}' is not in the state that If-Match names.`;
  throw new Refusal('RECORD_CHANGED', message, { tag });
}
