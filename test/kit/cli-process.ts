/**
 * Runs `storeroom` on a data folder of its own that goes away with the test process: in the process that the commands of
 * a file share, or in one of its own.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clockVariable } from './clock.ts';
import { runInRunner, runProcess, type Outcome } from './commands.ts';
import { temporaryFolder } from './service.ts';

const EMPTY = { PATH: process.env['PATH'], ...clockVariable(0) };

interface Fault {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
}

export interface CommandLine {
  /** The data folder; not made before a command makes it. */
  readonly data: string;
  /** Runs a command line and takes whatever it ends with. */
  readonly run: (line: string, ...more: string[]) => Promise<Outcome>;
  /**
   * Runs one with --json that has to succeed, and gives its answer: one object on standard output, nothing on standard
   * error.
   */
  readonly ask: <T = Record<string, unknown>>(line: string, ...more: string[]) => Promise<T>;
  /**
   * Runs one with --json that has to be refused, and gives the error: nothing on standard output, one object on
   * standard error.
   */
  readonly refused: (line: string, ...more: string[]) => Promise<Fault>;
  /** Runs one in a process of its own. */
  readonly runAlone: (line: string) => Promise<Outcome>;
  /** The same, with a reader that goes away after the first of its output. */
  readonly runUnread: (line: string) => Promise<Outcome>;
  /** Writes a file beside the data and gives its path. */
  readonly file: (name: string, content: string | Buffer) => string;
}

/** The words of a line, which spaces separate, and more, which may contain spaces. */
const wordsOf = (line: string, more: readonly string[] = []): string[] => [...line.split(' ').filter(Boolean), ...more];

/** A command line with nothing but this in its environment. */
export function openCommandLine(environment: Record<string, string> = {}): CommandLine {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  const env = { ...EMPTY, STOREROOM_DATA: data, ...environment };
  const run = (line: string, ...more: string[]): Promise<Outcome> => runInRunner({ words: wordsOf(line, more), env });
  return {
    data,
    run,
    runAlone: (line) => runProcess({ words: wordsOf(line), env }),
    runUnread: (line) => runProcess({ words: wordsOf(line), env }, { stopsReading: true }),
    async ask<T>(line: string, ...more: string[]) {
      const { exitCode, out, err } = await run(line, ...more, '--json');
      assert.equal(`${exitCode} ${err}`, '0 ', line);
      return readOneObject<T>(out);
    },
    async refused(line, ...more) {
      const { exitCode, out, err } = await run(line, ...more, '--json');
      assert.equal(`${exitCode} ${out}`, '1 ', line);
      return readOneObject<{ error: Fault }>(err).error;
    },
    file(name, content) {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    },
  };
}

/** One line, one object. */
export function readOneObject<T>(text: string): T {
  assert.match(text, /^\{.*\}\n$/);
  return JSON.parse(text) as T;
}
