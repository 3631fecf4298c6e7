/**
 * Runs `storeroom` with a separate data folder, which is removed when the test process ends. A command runs in the
 * process that all commands share, or in a separate one.
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
  /** The data folder. It does not exist until a command makes it. */
  readonly data: string;
  /** Runs a command line and returns its outcome, even if it fails. */
  readonly run: (line: string, ...more: string[]) => Promise<Outcome>;
  /**
   * Runs a command line with --json that must succeed, and returns its answer: one object on standard output, nothing
   * on standard error.
   */
  readonly ask: <T = Record<string, unknown>>(line: string, ...more: string[]) => Promise<T>;
  /**
   * Runs a command line with --json that must be refused, and returns the error: nothing on standard output, one object
   * on standard error.
   */
  readonly refused: (line: string, ...more: string[]) => Promise<Fault>;
  /** Runs a command line in a separate process. */
  readonly runAlone: (line: string) => Promise<Outcome>;
  /** Runs a command line in a separate process and closes the pipe of its output after the first bytes. */
  readonly runUnread: (line: string) => Promise<Outcome>;
  /** Writes a file beside the data folder and returns its path. */
  readonly file: (name: string, content: string | Buffer) => string;
}

/** Splits a line at its spaces and appends `more`, whose words may contain spaces. */
const wordsOf = (line: string, more: readonly string[] = []): string[] => [...line.split(' ').filter(Boolean), ...more];

/** Returns a command line. Its environment has only PATH, the clock, STOREROOM_DATA and these variables. */
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

/** Parses a text that must be one object in one line. */
export function readOneObject<T>(text: string): T {
  assert.match(text, /^\{.*\}\n$/);
  return JSON.parse(text) as T;
}
