/** The reporter of worker.ts: sends the name of each test that begins, and the output and counts of each file. */
import { text } from 'node:stream/consumers';
import { spec, type TestEvent } from 'node:test/reporters';

export type Counts = Record<'tests' | 'pass' | 'fail' | 'cancelled' | 'skipped' | 'todo', number>;
export interface TestBegun {
  readonly begun: string;
}

/** Message that run.ts sends in place of a file when there are no more. */
export const END = 'end';

/** The answer to END: '' if all that the files opened is closed, otherwise the fault. Then the process is killed. */
export interface Ended {
  readonly ended: string;
}

export interface FileReport {
  readonly isGood: boolean;
  readonly counts: Counts;
  readonly text: string;
}

type Result = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;
const isResult = (event: TestEvent): event is Result => event.type === 'test:pass' || event.type === 'test:fail';

export const noTests = (): Counts => ({ tests: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 });

export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let ofFile: TestEvent[] = [];
  for await (const event of events) {
    ofFile.push(event);
    if (event.type === 'test:dequeue') process.send!({ begun: event.data.name } satisfies TestBegun);
    if (!isResult(event) || event.data.nesting > 0) continue;
    const counts = count(ofFile.filter(isResult));
    const isGood = event.type === 'test:pass' && counts.tests > 0 && counts.pass === counts.tests;
    process.send!({ isGood, counts, text: await print(ofFile) } satisfies FileReport);
    ofFile = [];
  }
  yield '';
}

function count(results: readonly Result[]): Counts {
  const counts = noTests();
  for (const result of results.filter(({ data }) => data.details.type !== 'suite')) {
    counts.tests++;
    counts[outcomeOf(result)]++;
  }
  return counts;
}

function outcomeOf({ type, data }: Result): Exclude<keyof Counts, 'tests'> {
  if (data.skip !== undefined) return 'skipped';
  if (data.todo !== undefined) return 'todo';
  if (type === 'test:pass') return 'pass';
  const { failureType } = data.details.error as { failureType?: string };
  return failureType === 'cancelledByParent' ? 'cancelled' : 'fail';
}

/** Formats tests as Node's own reporter does: all tests, then what is wrong with those that failed. */
function print(events: readonly TestEvent[]): Promise<string> {
  const printer = new spec();
  for (const event of events) printer.write(event);
  printer.end();
  return text(printer);
}
