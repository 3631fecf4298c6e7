/**
 * Servers in processes of their own, and commands of Storeroom, of this checkout or of another one.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { placeVariables } from '../test/kit/service.ts';

export const THIS_CHECKOUT = resolve(import.meta.dirname, '..');

export interface Server {
  readonly origin: string;
  readonly pid: number;
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
}

/** Runs a script that prints its address first, and resolves when it has. */
export async function startServer(words: readonly string[], env: Record<string, string> = {}): Promise<Server> {
  const child = spawn(process.execPath, words, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = once(child, 'exit').finally(() => process.off('exit', kill));
  const printed = once(child.stdout.setEncoding('utf8'), 'data') as Promise<[string]>;
  const [text] = await Promise.race([
    printed,
    exited.then(([code]) => Promise.reject(new Error(`${words[0]} ended with ${code}.`))),
  ]);
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return { origin: new URL(/https?:\/\/[^"\s]+/.exec(text)![0]).origin, pid: child.pid!, stop };
}

/** `storeroom serve` of a checkout on a data folder or the URL of a database. */
export function startService(place: string, checkout = THIS_CHECKOUT): Promise<Server> {
  const words = [join(checkout, 'src/main.ts'), 'serve', '--port', '0', '--json'];
  return startServer(words, { ...placeVariables(place), STOREROOM_DEMO: 'off' });
}

/** Runs `storeroom …words` of a checkout. Resolves to what it printed, throws when it failed. */
export function runStoreroom(
  place: string,
  words: readonly string[],
  { checkout = THIS_CHECKOUT, nodeOptions = [] as readonly string[] } = {},
): Promise<{ stdout: string; stderr: string }> {
  const env = { ...process.env, ...placeVariables(place) };
  return promisify(execFile)(process.execPath, [...nodeOptions, join(checkout, 'src/main.ts'), ...words], { env });
}
