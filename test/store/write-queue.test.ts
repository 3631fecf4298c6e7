/** Tests the group commit: writes of one turn share a transaction, and a fault of one write undoes only that write. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { pbkdf2Sync } from 'node:crypto';
import { close, closeSync, mkdirSync, open as openFile, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setImmediate as nextRound } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Refusal } from '../../src/errors.ts';
import { Database } from '../../src/store/sqlite/files/database.ts';
import { makeWriteQueue, type LateWork, type SqliteWriteQueue } from '../../src/store/sqlite/write-queue.ts';
import { makeTenantFile, tenantFileOf } from '../../src/store/sqlite/files/tenant-files.ts';
import { times } from '../kit/lists.ts';
import { folderOf, newFolder, openForAll } from './sqlite-folder.ts';
import { Pims } from './store-under-test.ts';
import { passing } from '../kit/clock.ts';

interface Opened {
  readonly db: Database;
  readonly queue: SqliteWriteQueue;
  readonly fatal: unknown[];
  /** Returns the committed numbers, as another connection sees them. */
  readonly committed: () => number[];
  readonly insert: (number: number) => number;
}

function open(gather: 'round' | 'none' = 'round'): Opened {
  const folder = newFolder();
  mkdirSync(folder);
  const file = join(folder, 'x.db');
  const db = new Database(file, { mode: 'make', busyTimeoutMs: 0 });
  db.exec('CREATE TABLE T (N INTEGER UNIQUE) STRICT');
  const reader = new Database(file, { mode: 'read', busyTimeoutMs: 0 });
  const fatal: unknown[] = [];
  const queue = makeWriteQueue(db, {
    clock: passing,
    gather,
    sync: gather === 'none' ? 'after commit' : 'in commit',
    checkpoint: async () => undefined,
    onFatal: (fault) => {
      fatal.push(fault);
      return new Refusal('STORE_UNAVAILABLE');
    },
  });
  return {
    db,
    queue,
    fatal,
    committed: () => reader.rows<[number]>('SELECT N FROM T ORDER BY N').map(([number]) => number),
    insert: (number) => db.runSql('INSERT INTO T VALUES (?)', number),
  };
}

for (const gather of ['round', 'none'] as const)
  suite(`gathered by ${gather}`, () => {
    test('a write that refuses after it has written, or throws, is undone alone in its group', async () => {
      const { queue, insert, committed, fatal } = open(gather);
      const outcomes = await Promise.allSettled([
        queue.enqueueWork(() => insert(1)),
        queue.enqueueWork(() => {
          insert(2);
          return new Refusal('CODE_TAKEN');
        }),
        queue.enqueueWork(() => {
          insert(3);
          throw new Error('a fault');
        }),
        queue.enqueueWork(() => insert(1)),
        queue.enqueueWork(() => {
          insert(5);
          throw new Refusal('INVALID_VALUE', 'thrown by a rule');
        }),
        queue.enqueueWork(() => insert(6)),
      ]);
      const shown = outcomes.map((outcome) =>
        outcome.status === 'rejected'
          ? `rejected: ${(outcome.reason as Error).message}`
          : outcome.value instanceof Refusal
            ? outcome.value.code
            : outcome.value,
      );
      assert.deepEqual(shown, [
        1,
        'CODE_TAKEN',
        'rejected: a fault',
        'rejected: UNIQUE constraint failed: T.N',
        'INVALID_VALUE',
        1,
      ]);
      assert.deepEqual(committed(), [1, 6]);
      assert.deepEqual(fatal, []);
    });

    test('a refused write that returned rows of its change is undone, as one without rows is', async () => {
      const { db, queue, insert, committed } = open(gather);
      const sql = 'INSERT INTO T VALUES (?) RETURNING N';
      for (const write of [() => db.row(sql, 1), () => db.rows(sql, 1)]) {
        const [, outcome] = await Promise.all([
          queue.enqueueWork(() => insert(2)),
          queue.enqueueWork(() => {
            write();
            return new Refusal('CODE_TAKEN');
          }),
        ]);
        assert.ok(outcome instanceof Refusal);
        assert.deepEqual(committed(), [2]);
        await queue.enqueueWork(() => db.runSql('DELETE FROM T'));
      }
    });

    test('late work runs by ascending IDs in the transaction of its group, except work of an undone write', async () => {
      const { queue, insert, committed } = open(gather);
      const done: number[] = [];
      const write =
        (number: number, result?: Refusal) =>
        (late: LateWork[]): Refusal | undefined => {
          late.push({ id: -number, run: () => done.push(number) && insert(-number) });
          if (result) insert(number);
          return result;
        };
      await Promise.all([
        queue.enqueueWork(write(1)),
        queue.enqueueWork(write(2)),
        queue.enqueueWork(write(3, new Refusal('CODE_TAKEN'))),
        queue.enqueueWork(write(4)).then(() => assert.deepEqual(committed(), [-4, -2, -1])),
      ]);
      assert.deepEqual(done, [4, 2, 1]);
    });

    test('no caller gets a response before the commit', async () => {
      const { queue, insert, committed } = open(gather);
      const seen = await Promise.all(
        [1, 2, 3].map((number) => queue.enqueueWork(() => insert(number)).then(() => committed())),
      );
      assert.ok(seen.every((numbers, index) => numbers.includes(index + 1)));
    });

    test('writes that arrive while a group is written are in the next, and closing waits for all', async () => {
      const { queue, insert, committed } = open(gather);
      const answers = [queue.enqueueWork(() => insert(1))];
      for (let number = 2; number <= 30; number++) {
        if (number % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
        answers.push(queue.enqueueWork(() => insert(number)));
      }
      await queue.close();
      assert.equal(committed().length, 30);
      await Promise.all(answers);
    });
  });

test('the writes of one turn are one transaction', async () => {
  const { db, queue, insert } = open();
  const before = db.row<[number]>('PRAGMA data_version')![0];
  const seen = new Set<number>();
  const watcher = new Database(db.file, { mode: 'read', busyTimeoutMs: 0 });
  await Promise.all(
    times(50, (index) =>
      queue.enqueueWork(() => {
        seen.add(watcher.row<[number]>('SELECT count(*) FROM T')![0]);
        return insert(index);
      }),
    ),
  );
  assert.deepEqual([...seen], [0], 'none is seen from outside before all are done');
  assert.equal(watcher.row<[number]>('SELECT count(*) FROM T')![0], 50);
  assert.equal(db.row<[number]>('PRAGMA data_version')![0], before);
});

/** Keeps any processor busy so long that a few calls exceed the maximum time of a group. */
const workHard = (): unknown => pbkdf2Sync('a', 'b', 60_000, 64, 'sha512');

test('writes that together take long are several transactions in order, with turns for others in between', async () => {
  const { queue, insert, committed } = open();
  const seen: number[][] = [];
  const turnsBefore: number[] = [];
  let turns = 0;
  const slowly = (number: number) => () => {
    workHard();
    seen.push(committed());
    turnsBefore.push(turns);
    return insert(number);
  };
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  count();
  const answers = await Promise.all(times(6, (index) => queue.enqueueWork(slowly(index))));
  isOver = true;
  assert.equal(answers.length, 6);
  assert.deepEqual(committed(), [0, 1, 2, 3, 4, 5]);
  assert.ok(seen.at(-1)!.length > 0, 'the first are on disk before the last begin');
  assert.deepEqual(
    seen.map((numbers) => numbers.length),
    seen.map((numbers) => numbers.length).toSorted((a, b) => a - b),
  );
  assert.ok(turnsBefore.at(-1)! > turnsBefore[0]!);
});

/**
 * Keeps every thread that syncs files busy, so that no sync of this process can end: each thread opens a pipe without a
 * writer. The returned function lets the threads continue.
 */
function holdSyncs(): () => Promise<void> {
  const pipe = folderOf('pipe');
  execFileSync('mkfifo', [pipe]);
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  const held = Array.from({ length: threads }, () => promisify(openFile)(pipe, 'r'));
  return async () => {
    const writer = openSync(pipe, 'r+');
    for (const reader of await Promise.all(held)) await promisify(close)(reader);
    closeSync(writer);
    rmSync(pipe);
  };
}

suite('no caller gets a response while the sync runs', () => {
  const { queue, insert, committed } = open('none');
  const folder = newFolder();
  const { usage, identity } = openForAll(folder);
  makeTenantFile(tenantFileOf(folder, 'team.1'), { identity, teamId: 'team' });
  const openPims = (): Pims => new Pims(openForAll(folder).pims({ storeId: 'team.1' }));
  const [pims, elsewhere] = [openPims(), openPims()];
  const day = '2026-11-20';
  /** Neither the write nor the read may be answered before the sync has ended. */
  interface Held {
    readonly write: () => Promise<unknown>;
    readonly isCommitted: () => Promise<boolean>;
    readonly read?: () => Promise<unknown>;
  }
  const createThenRead = (code: string, read: (code: string) => Promise<unknown>): Held => ({
    write: () => pims.createCustomer({ CUSTOMER_CODE: code }),
    isCommitted: async () => (await elsewhere.readRecord('customers', code)) !== undefined,
    read: () => read(code),
  });
  const held: Record<string, Held> = {
    'a write of a queue that syncs after its commit': {
      write: () => queue.enqueueWork(() => insert(1)),
      isCommitted: async () => committed().length === 1,
    },
    'the counts': {
      write: () => usage.addUsage([{ teamId: 'acme', day, operation: 'getOrder', calls: 1 }]),
      isCommitted: async () => (await usage.listMonths('acme')).length === 1,
    },
    'a write of a record, nor who reads it': createThenRead('A', (code) => pims.readRecord('customers', code)),
    'a write that is refused for what is not synced': createThenRead('B', (code) =>
      pims.createRecord('customers', { CUSTOMER_CODE: code }),
    ),
    'a page that a worker reads': createThenRead('C', () => pims.ask('customers', [], { limit: 1000 })),
    'pages that workers begin to read before the commit and show what it has written': {
      ...createThenRead('E', () => pims.ask('customers', [])),
      write() {
        const pages = times(10, () => pims.ask('customers', []));
        const created = pims.createCustomer({ CUSTOMER_CODE: 'E' });
        const showing = pages.map(async (page) => {
          if (!(await page).records.some((record) => record['CUSTOMER_CODE'] === 'E')) await created;
        });
        return Promise.race([created, ...showing]);
      },
    },
    'an export by another process': createThenRead('D', () => elsewhere.readAll('customers')),
  };
  for (const [what, { write, isCommitted, read }] of Object.entries(held))
    test(what, async () => {
      // Workers have to start before this, because they cannot while the threads are busy.
      for (const one of [pims, elsewhere]) await one.ask('customers', [], { limit: 1000 });
      const letGo = holdSyncs();
      let answers = 0;
      const answered = [write().then(() => answers++)];
      try {
        while (!(await isCommitted())) await nextRound();
        if (read) answered.push(read().then(() => answers++));
        // Reads that do not depend on the sync are answered meanwhile.
        for (let page = 0; page < 20; page++) await elsewhere.ask('customers', [], { limit: 1000 });
        assert.equal(answers, 0);
      } finally {
        await letGo();
      }
      await Promise.all(answered);
    });
});
