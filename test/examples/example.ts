/** Runs a program of examples/ where the client is installed, as examples/README.md describes it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { installClient } from '../kit/client-package.ts';
import { temporaryFolder } from '../kit/service.ts';

export const ROOT = join(import.meta.dirname, '../..');
const copy = temporaryFolder();
cpSync(join(ROOT, 'examples'), copy, { recursive: true });
installClient(copy);
export const PROGRAMS = {
  TypeScript: [process.execPath, join(copy, 'typescript/integration.ts')],
  Python: ['python3', join(copy, 'python/integration.py')],
  copy: [process.execPath, join(copy, 'typescript/copy.ts')],
} as const;

const running = new Set<ChildProcess>();
after(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** A program that can be killed and started again. */
export class Example {
  readonly #command: readonly [string, string];
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  output = '';
  /** The processes that have ended and whose output is complete. */
  readonly #over = new Set<ChildProcess>();
  /** Emits `change` when the program prints or ends. A subclass can emit it for other changes too. */
  protected readonly changed = new EventEmitter();

  constructor(command: readonly [string, string], env: Record<string, string>) {
    this.#command = command;
    this.#env = { ...process.env, ...env };
  }

  start(): void {
    const [program, file] = this.#command;
    const child = spawn(program, [file], { env: this.#env });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        this.changed.emit('change');
      });
    child.once('close', () => {
      this.#over.add(child);
      this.changed.emit('change');
    });
    running.add((this.#child = child));
  }

  /** Whether the program has ended. */
  get isOver(): boolean {
    return this.#over.has(this.#child!);
  }

  /** Kills the program. Returns its exit code if it had already ended, otherwise null. */
  async kill(): Promise<number | null> {
    const child = this.#child!;
    running.delete(child);
    if (!this.isOver) {
      const ended = once(child, 'close'); // by then all that it has printed is in `output`
      child.kill('SIGKILL');
      await ended;
    }
    return child.exitCode;
  }

  async ended(): Promise<number | null> {
    if (!this.isOver) await once(this.#child!, 'close');
    return this.#child!.exitCode;
  }

  /** Waits until `isSo` returns true. Throws if the program ends before that. */
  async until(isSo: () => boolean): Promise<void> {
    const child = this.#child!;
    while (!isSo()) {
      if (this.#over.has(child)) throw new Error(`The program has ended without ${String(isSo)}: ${this.output}`);
      await once(this.changed, 'change');
    }
  }
}
