/**
 * Starts servers and runs commands of Storeroom, from this checkout or from a commit.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { placeVariables, temporaryFolder } from '../../test/kit/service.ts';

export const THIS_CHECKOUT = resolve(import.meta.dirname, '../..');

export interface Server {
  readonly origin: string;
  readonly pid: number;
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
}

export interface ServerOptions {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** The Node that runs the script. */
  readonly node?: string;
  /** For a server that does not print its address: resolves to the address when the server answers there. */
  readonly waitFor?: (hasEnded: () => boolean) => Promise<string>;
}

/** Starts a script as a server, and resolves when it has printed its address or `waitFor` has resolved. */
export async function startServer(words: readonly string[], options: ServerOptions = {}): Promise<Server> {
  const { env = {}, cwd = THIS_CHECKOUT, node = process.execPath, waitFor } = options;
  const child = spawn(node, words, {
    cwd,
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', waitFor ? 'ignore' : 'pipe', 'inherit'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = once(child, 'exit').finally(() => process.off('exit', kill));
  const fails = exited.then(([code]) => Promise.reject(new Error(`${words[0]} ended with ${code}.`)));
  const address = waitFor
    ? waitFor(() => child.exitCode !== null)
    : once(child.stdout!.setEncoding('utf8'), 'data').then(([text]) => /https?:\/\/[^"\s]+/.exec(text as string)![0]);
  const origin = new URL(await Promise.race([address, fails])).origin;
  fails.catch(() => undefined);
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return { origin, pid: child.pid!, stop };
}

/** Runs `storeroom serve` of a checkout on a data folder or the URL of a database. */
export function startService(place: string, checkout = THIS_CHECKOUT): Promise<Server> {
  const words = [join(checkout, 'src/main.ts'), 'serve', '--port', '0', '--json'];
  return startServer(words, { env: { ...placeVariables(place), STOREROOM_DEMO: 'off' } });
}

/** Runs `storeroom …words` of a checkout and returns its output. Throws if the command fails. */
export function runStoreroom(
  place: string,
  words: readonly string[],
  { checkout = THIS_CHECKOUT, nodeOptions = [] as readonly string[] } = {},
): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, ...placeVariables(place) };
  return promisify(execFile)(process.execPath, [...nodeOptions, join(checkout, 'src/main.ts'), ...words], { env });
}

/** Returns the short name of the current commit, with a + if files in src differ from it. */
export function nameCheckout(): string {
  const git = (...words: string[]): string =>
    execFileSync('git', words, { cwd: THIS_CHECKOUT, encoding: 'utf8' }).trim();
  return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', '--', 'src') === '' ? '' : '+');
}

/** Unpacks a commit into a new folder, with the packages and the built dashboard of this checkout. */
export function checkOut(revision: string): string {
  const folder = temporaryFolder();
  const archive = execFileSync('git', ['archive', revision], { cwd: THIS_CHECKOUT, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--silent'], { cwd: folder, stdio: 'inherit' });
  cpSync(join(THIS_CHECKOUT, 'dashboard/dist'), join(folder, 'dashboard/dist'), { recursive: true });
  return folder;
}
