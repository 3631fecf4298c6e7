/**
 * What an answer tells that comes while the file system is being shut down: each write is set beside the fsync of its
 * commit group, as strace sees it from outside, and beside the shutdown. One call of a tenant runs at a time, so that a
 * group is one write. It proves the rule of losePower() in lossy-disk.ts. Part of `npm run test:faults`; needs strace.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpClient, NoAnswer } from '../kit/http-client.ts';
import { times } from '../kit/lists.ts';
import { Service, temporaryFolder, type Keys } from '../kit/service.ts';
import { waitUntil } from '../kit/wait.ts';
import { LossyDisk, runTool } from './lossy-disk.ts';

const LOSSES = Number(process.env['STOREROOM_TEST_ORDERED_LOSSES'] ?? 40);
const TENANTS = 16;
const EXIT_MS = 10_000;

/** Milliseconds since 1970, of clocks of one machine. */
interface Write {
  readonly team: string;
  readonly token: string;
  readonly begunAt: number;
  /** When its success was read; undefined without one. */
  answeredAt: number | undefined;
}
interface Sync {
  readonly file: string;
  readonly begunAt: number;
  readonly endedAt: number;
  readonly isGood: boolean;
}

/** When the fsync of a write's group had returned. */
type Order = 'before the shutdown was asked for' | 'after it, as a success' | 'as a failure, or never';

let disk: LossyDisk;
let service: Service;
let client: HttpClient;
const teams: Keys[] = [];
before(async () => {
  runTool('strace', '-V');
  disk = new LossyDisk();
  service = await Service.start({ dataFolder: disk.folder });
  client = await HttpClient.open(service, TENANTS);
  for (const index of times(TENANTS, (place) => place)) teams.push(await service.makeTenant(`team${index}`));
});
after(async () => {
  await service?.stop('SIGKILL');
  disk?.remove();
});

test(`${LOSSES} losses: no answer is lost whose fsync returned before the shutdown was asked for`, async (context) => {
  const sums = new Map<string, number>();
  for (let loss = 0; loss < LOSSES; loss++) {
    const trace = await traceSyncs(service.pid);
    const writes: Write[] = [];
    const working = Promise.all(teams.map((keys) => write(keys, writes, `${loss}`)));
    await waitUntil(EXIT_MS, 'nothing was written', () => writes.some(({ answeredAt }) => answeredAt !== undefined));
    await sleep(50 + Math.random() * 200);
    const { askedAt } = await disk.losePower();
    await waitUntil(EXIT_MS, 'the service went on over a disk that fails', () => service.hasExited);
    await working;
    const syncs = await trace.end();
    disk.restorePower();
    await service.restart();
    for (const { order, answer, fate } of await judge(writes, syncs, askedAt)) {
      const key = `fsync returned ${order}; ${answer}; ${fate}`;
      sums.set(key, (sums.get(key) ?? 0) + 1);
    }
  }
  for (const key of [...sums.keys()].toSorted()) context.diagnostic(`${sums.get(key)} writes: ${key}`);
  const countOf = (pattern: RegExp): number =>
    sums.entries().reduce((sum, [key, count]) => sum + (pattern.test(key) ? count : 0), 0);
  assert.ok(
    countOf(/^fsync returned before .*; answered; found$/) > LOSSES * TENANTS,
    'too few writes to tell anything',
  );
  assert.equal(countOf(/^fsync returned before .*; answered; lost$/), 0);
  assert.equal(countOf(/^fsync returned as a failure.*; answered/), 0, 'answered without a good fsync');
});

/** Makes orders, one at a time, until one fails. */
async function write(keys: Keys, writes: Write[], mark: string): Promise<void> {
  for (let count = 0; ; count++) {
    const token = `#${keys.teamID}-${mark}-${count}`;
    const one: Write = { team: keys.teamID, token, begunAt: now(), answeredAt: undefined };
    writes.push(one);
    try {
      const { status } = await client.call(keys, 'PUT', '/orders/create', { body: { REFERENCE_NUMBER: token } });
      if (status !== 200) return;
      one.answeredAt = now();
    } catch (fault) {
      if (!(fault instanceof NoAnswer)) throw fault;
      return;
    }
  }
}

const now = (): number => performance.timeOrigin + performance.now();

/** Sets the writes beside their fsync and beside what is there now. */
async function judge(writes: readonly Write[], syncs: readonly Sync[], askedAt: number) {
  const found = new Set<string>();
  for (const { teamID } of teams) {
    const { records } = (await service.command('export', teamID, 'orders', '--json')).json() as {
      records: { REFERENCE_NUMBER: string }[];
    };
    for (const { REFERENCE_NUMBER } of records) found.add(REFERENCE_NUMBER);
  }
  const fileOf = fileNames();
  return writes.map(({ team, token, begunAt, answeredAt }) => {
    // The last of its tenant's log while it ran: a log that starts over is synced twice.
    const sync = syncs.findLast(
      (one) => one.file === fileOf.get(team) && one.begunAt >= begunAt && one.begunAt <= (answeredAt ?? Infinity),
    );
    return {
      order: orderOf(sync, askedAt),
      answer: answeredAt === undefined ? 'not answered' : 'answered',
      fate: found.has(token) ? 'found' : 'lost',
    };
  });
}

/** strace notes the end of a call some time after it: what it saw end before the shutdown ended before it. */
function orderOf(sync: Sync | undefined, askedAt: number): Order {
  if (!sync?.isGood) return 'as a failure, or never';
  return sync.endedAt < askedAt ? 'before the shutdown was asked for' : 'after it, as a success';
}

/** The log of each tenant's file, by team. */
function fileNames(): Map<string, string> {
  const db = new DatabaseSync(join(disk.folder, 'control.db'), { readOnly: true });
  const rows = db.prepare('SELECT TEAM_ID, STORE_ID FROM TENANTS').all() as { TEAM_ID: string; STORE_ID: string }[];
  db.close();
  return new Map(rows.map(({ TEAM_ID, STORE_ID }) => [TEAM_ID, join(disk.folder, 'tenants', `${STORE_ID}.db-wal`)]));
}

/** Watches a process from outside. The function `end` waits until it has ended. */
async function traceSyncs(pid: number): Promise<{ end: () => Promise<Sync[]> }> {
  const file = join(temporaryFolder(), 'trace');
  const words = ['-f', '-y', '-T', '-ttt', '-e', 'trace=fsync,fdatasync', '-o', file, '-p', String(pid)];
  const strace = spawn('strace', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(strace, 'exit');
  await once(strace.stderr, 'data'); // it is attached
  return {
    end: async () => {
      await ended;
      return parseTrace(readFileSync(file, 'utf8'));
    },
  };
}

/** `-f` cuts a call in two where another thread's comes between. */
function parseTrace(trace: string): Sync[] {
  const open = new Map<string, { file: string; begunAt: number }>();
  return trace.split('\n').flatMap((line): Sync[] => {
    const [, thread = '', seconds, rest = ''] = /^(\d+) +(\d+\.\d+) (.*)$/.exec(line) ?? [];
    const file = /^f(?:data)?sync\(\d+<([^>]*)>/.exec(rest)?.[1];
    if (file !== undefined) open.set(thread, { file, begunAt: Number(seconds) * 1000 });
    const [, result, took] = /\) += (-?\d+).* <(\d+\.\d+)>$/.exec(rest) ?? [];
    const begun = open.get(thread);
    if (took === undefined || !begun) return [];
    open.delete(thread);
    return [{ ...begun, endedAt: begun.begunAt + Number(took) * 1000, isGood: result === '0' }];
  });
}
