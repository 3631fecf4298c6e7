/** Processes that each open a store and then run a script of a test. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const CLOCK = new URL('../../src/clock.ts', import.meta.url).href;
const KIT = new URL('store-under-test.ts', import.meta.url).href;

/**
 * Starts a process that waits for `begin`, opens a store with an expression, and runs a script with `store`, and `pims`
 * of the tenant with a teamID, which it creates if it does not exist.
 */
export async function startProcess(open: string, script: string): Promise<ChildProcess> {
  const source = `
    const { systemClock: clock } = await import(${JSON.stringify(CLOCK)});
    const { Pims } = await import(${JSON.stringify(KIT)});
    process.stdout.write('ready\\n');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    const store = await ${open};
    const pims = async (teamId = 'team') => {
      await store.tenants.createTenant(teamId, 'A tenant', '2026-11-20T00:00:00.000Z');
      return new Pims(store.pims(await store.tenants.findTenant(teamId)));
    };
    ${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

/** Lets a process run its script. */
export const begin = (child: ChildProcess): boolean => child.stdin!.end('begin\n') && true;

/** Waits until the process ends. Returns its exit code and everything that it printed. */
export async function ending(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
