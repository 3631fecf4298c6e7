/**
 * `npm test`: Node's own runner over test/**\/*.test.ts, or over the files named as arguments.
 * Beyond `node --test` it fails when a test was skipped or marked todo, or when none ran; and the summary is the end of the output
 * also after failures, whose details Node prints below it.
 */
import { resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const named = process.argv.slice(2).map((file) => resolve(file));
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

const results = run({
  ...(named.length > 0 ? { files: named } : { globPatterns: ['test/**/*.test.ts'] }),
  concurrency: 4, // much of a test is waiting for disks, timeouts and processes
  isolation: 'process',
  timeout: 600_000, // for a file, in ms: one that hangs fails
  signal: stop.signal,
});

let isGood = false; // unless the summary of the whole run says so
let closing = 'No summary: the run was cut short.\n';
results.on('test:summary', ({ file, success, counts }) => {
  if (file !== undefined) return;
  const { tests, passed, cancelled, skipped, todo } = counts;
  isGood = success && tests > 0 && skipped === 0 && todo === 0;
  const summary = { tests, pass: passed, fail: tests - passed - cancelled - skipped - todo, cancelled, skipped, todo };
  const lines = Object.entries(summary).map(([name, count]) => `ℹ ${name} ${count}\n`);
  closing = `\nNot good: a test failed, was skipped or is todo, or there is none.\n${lines.join('')}`;
});

for await (const text of results.compose(spec())) process.stdout.write(text);
if (!isGood) process.stdout.write(closing);
process.exitCode = isGood ? 0 : 1;
