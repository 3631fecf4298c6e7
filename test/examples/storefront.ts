/** The storefront of the examples: its folder, and the integration that runs on it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { installClient } from '../kit/client-package.ts';
import { times } from '../kit/lists.ts';
import type { Shop } from '../kit/records.ts';
import { BASE_PATH, temporaryFolder } from '../kit/service.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Copied to where the client is installed, as the README of the examples tells. */
const copy = temporaryFolder();
cpSync(join(ROOT, 'examples'), copy, { recursive: true });
installClient(copy);
export const LANGUAGES = {
  TypeScript: [process.execPath, join(copy, 'typescript/integration.ts')],
  Python: ['python3', join(copy, 'python/integration.py')],
} as const;

const running = new Set<ChildProcess>();
after(() => {
  for (const child of running) child.kill('SIGKILL');
});

export interface Sold {
  readonly number: string;
  readonly soldAt: string;
  readonly name: string;
  readonly shipping: string;
  readonly lines: readonly { readonly part: string; readonly quantity: string; readonly price: string }[];
}

/** The tenant, and where its calls go. */
type Place = Pick<Shop, 'keys'> & { readonly service: { readonly origin: string } };

/** The storefront's folder, and the integration that runs on it. */
export class Storefront {
  readonly folder = join(temporaryFolder(), 'storefront');
  readonly #command: readonly [string, string];
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  output = '';
  /** Those of whom nothing follows. */
  readonly #over = new Set<ChildProcess>();
  /** Told of every file that changes, of what the integration prints, and of its end. */
  readonly #changed = new EventEmitter();

  constructor(command: readonly [string, string], { keys, service }: Place) {
    this.#command = command;
    for (const name of ['orders', 'taken', 'aside']) mkdirSync(join(this.folder, name), { recursive: true });
    for (const name of ['.', 'taken', 'aside'])
      watch(join(this.folder, name), { persistent: false }, () => this.#changed.emit('change'));
    const file = join(this.folder, 'keys.json');
    writeFileSync(file, JSON.stringify(keys));
    const own = { KEYS_FILE: file, STOREFRONT: this.folder, ROUND_SECONDS: '0.05', PYTHONDONTWRITEBYTECODE: '1' };
    const modules = { PYTHONPATH: join(ROOT, 'client-python') };
    this.#env = { ...process.env, ...own, ...modules, BASE: service.origin + BASE_PATH };
  }

  start(): void {
    const [program, file] = this.#command;
    const child = spawn(program, [file], { env: this.#env });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        this.#changed.emit('change');
      });
    child.once('close', () => {
      this.#over.add(child);
      this.#changed.emit('change');
    });
    running.add((this.#child = child));
  }

  /** Resolves to the exit code: null when it was killed. */
  async kill(): Promise<number | null> {
    const child = this.#child!;
    running.delete(child);
    if (child.exitCode !== null) return child.exitCode;
    const ended = once(child, 'exit') as Promise<[number | null]>;
    child.kill('SIGKILL');
    return (await ended)[0];
  }

  ended = async (): Promise<number | null> =>
    this.#child!.exitCode ?? ((await once(this.#child!, 'exit')) as [number])[0];

  /** Waits for something that the integration does. */
  async until(isSo: () => boolean): Promise<void> {
    const child = this.#child!;
    while (!isSo()) {
      if (this.#over.has(child)) throw new Error(`The integration has ended without ${String(isSo)}: ${this.output}`);
      await once(this.#changed, 'change');
    }
  }

  sell(order: Sold): void {
    writeFileSync(join(this.folder, 'orders', `${encodeURIComponent(order.number)}.json`), JSON.stringify(order));
  }

  list<T>(kind: 'taken' | 'aside'): T[] {
    const folder = join(this.folder, kind);
    if (!existsSync(folder)) return [];
    const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
    return names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as T);
  }

  stock(): Record<string, string> {
    const file = join(this.folder, 'stock.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>) : {};
  }
}

export interface Taken {
  readonly number: string;
  readonly orderNumber: string;
  readonly status?: { readonly state: string; readonly shipped: number; readonly ordered: number };
}

/** Not sold long ago, as the programs look at their own time. */
export const sold = (number: string, lines: number, more: Partial<Sold> = {}): Sold => ({
  number,
  soldAt: '9999-12-31T00:00:00Z',
  name: '$mith & Co',
  shipping: '5',
  lines: times(lines, (at) => ({ part: `P${at % 3}`, quantity: '1', price: '0.25' })),
  ...more,
});
