/**
 * `npm run bench:beside -- FOLDER`: this checkout beside another one of Storeroom, such as the commit before a change, in one run: `GET /orders/single` at 64
 * connections, the two loaded in turns, each on its own copy of one seeded folder. Ends with 1 when this one is more than 5 % slower.
 * Flags: --rounds N, --seconds S.
 */
import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryFolder, type Keys } from '../test/kit/service.ts';
import { load, loader, type Figures } from './load.ts';
import { makeWorkloads } from './seed.ts';

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '4' } },
});
const CONNECTIONS = 64;
const RATIO_LEAST = 0.95;
const HERE = resolve(import.meta.dirname, '..');

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** The checkout's own service on a folder of its own; resolves when it is ready. */
async function start(checkout: string, folder: string): Promise<{ origin: string; stop: () => void }> {
  const env = { ...process.env, STOREROOM_DATA: folder, STOREROOM_DATABASE_URL: '', STOREROOM_DEMO: 'off' };
  const child = spawn(process.execPath, [join(checkout, 'src/main.ts'), 'serve', '--port', '0', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { promise, resolve: found, reject } = Promise.withResolvers<string>();
  child.stdout
    .setEncoding('utf8')
    .once('data', (line: string) => found(new URL((JSON.parse(line) as { baseURL: string }).baseURL).origin));
  child.once('exit', (code) => reject(new Error(`The service of ${checkout} ended with ${code}.`)));
  return { origin: await promise, stop: () => child.kill() };
}

const other = resolve(positionals[0] ?? '');
if (positionals.length !== 1) throw new Error('Give the folder of the other checkout, with its node_modules.');
const seeded = temporaryFolder();
// The older of the two seeds: it could not read what the newer one has brought to a newer schema.
const { seed } = (await import(join(other, 'bench/seed.ts'))) as { seed: (folder: string) => Promise<Keys> };
const workloads = makeWorkloads(await seed(seeded)).filter(({ name }) => name.startsWith('W1'));
const copies = [temporaryFolder(), temporaryFolder()] as const;
for (const copy of copies) cpSync(seeded, copy, { recursive: true });

console.log(
  `Node ${process.version}, load by ${loader}, ${CONNECTIONS} connections, medians of ${flags.rounds} rounds of ${flags.seconds} s`,
);
const [ours, theirs] = [await start(HERE, copies[0]), await start(other, copies[1])];
try {
  for (const { name, requests } of workloads) {
    const figures: { ours: Figures; theirs: Figures }[] = [];
    const measure = (origin: string, seconds: number): Promise<Figures> =>
      load(origin, requests, { connections: CONNECTIONS, seconds });
    for (const { origin } of [ours, theirs]) await measure(origin, 2);
    for (let round = 0; round < Number(flags.rounds); round++) {
      const seconds = Number(flags.seconds);
      // Who comes first changes from round to round.
      const first = round % 2 === 0 ? await measure(ours.origin, seconds) : undefined;
      const that = await measure(theirs.origin, seconds);
      figures.push({ ours: first ?? (await measure(ours.origin, seconds)), theirs: that });
    }
    const ratio = median(figures.map((one) => one.ours.perSecond / one.theirs.perSecond));
    const [here, there] = [
      median(figures.map((one) => one.ours.perSecond)),
      median(figures.map((one) => one.theirs.perSecond)),
    ];
    const p99 = [median(figures.map((one) => one.ours.p99Ms)), median(figures.map((one) => one.theirs.p99Ms))];
    console.log(
      `${name}: ${here.toFixed(0)}/s here, ${there.toFixed(0)}/s there, ratio ${ratio.toFixed(3)}; p99 ${p99[0]!.toFixed(1)} and ${p99[1]!.toFixed(1)} ms`,
    );
    if (ratio < RATIO_LEAST) process.exitCode = 1;
  }
} finally {
  ours.stop();
  theirs.stop();
}
