/**
 * Cuts the power of one disk again and again under mixed load: every acknowledged write and every counted call is there
 * afterwards. This proves that the service may sync its logs itself, off the event loop (0008, 0037).
 * STOREROOM_TEST_POWER_LOSSES sets how often. Part of `npm run test:faults`.
 */
import assert from 'node:assert/strict';
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Service } from '../kit/service.ts';
import { HttpClient } from '../kit/http-client.ts';
import { MixedLoad } from '../system/mixed-load.ts';
import { untilAnswered, untilSomeAnswers } from './load-moments.ts';
import { LossyDisk } from './lossy-disk.ts';

const LOSSES = Number(process.env['STOREROOM_TEST_POWER_LOSSES'] ?? 100);
const LOSSES_OF_A_LOAD = 20;
const CONNECTIONS = 64;
/** Maximum answers from the chosen moment of the load to the loss. */
const ANSWERS_MAX = 1000;
/** Limit of the answers between the loss and the end of the service, on all connections. */
const LATE_ANSWERS_MAX = 100 * CONNECTIONS;

let disk: LossyDisk;
let service: Service;
let client: HttpClient;
before(async () => {
  disk = new LossyDisk();
  service = await Service.start({ dataFolder: disk.folder });
  client = await HttpClient.open(service, CONNECTIONS);
});
after(async () => {
  await service?.stop('SIGKILL');
  disk?.remove();
});

/** Reads from the header of the log how often it has started over. Reads nothing else: it is called at every answer. */
function countLogRestarts(): number {
  const log = openSync(join(disk.folder, 'usage.db-wal'), 'r');
  const header = Buffer.alloc(16);
  readSync(log, header);
  closeSync(log);
  return header.readUInt32BE(12);
}

/** Opens a load with two new tenants, because every check reads everything that the load has written. */
const newLoad = (loss: number): Promise<MixedLoad> => MixedLoad.open(client, service, [`one${loss}`, `two${loss}`]);

test(`${LOSSES} power losses lose nothing that was acknowledged or counted`, async (context) => {
  let load = await newLoad(0);
  let acknowledgedBefore = 0;
  for (let loss = 0; loss < LOSSES; loss++) {
    if (loss > 0 && loss % LOSSES_OF_A_LOAD === 0) {
      acknowledgedBefore += load.acknowledged;
      load = await newLoad(loss);
    }
    const acknowledged = load.acknowledged;
    const working = load.run(CONNECTIONS, () => service.hasExited);
    // Every fourth loss comes after the log has been checkpointed and has started over.
    const restarts = loss % 4 === 3 ? countLogRestarts() : -1;
    const hasBegun = (): boolean => load.acknowledged > acknowledged && countLogRestarts() > restarts;
    await untilAnswered(client, working, hasBegun);
    await untilSomeAnswers(client, working, ANSWERS_MAX);
    assert.equal(service.hasExited, false, 'the service ended by itself');
    // After a real power cut, no one would receive the answers from here on: see lossy-disk.ts.
    load.ignoresAnswers = true;
    await disk.losePower();
    // No one knows now what is on the disk, so the service must stop. Under load it notices at once.
    let late = 0;
    await untilAnswered(client, working, () => {
      assert.ok(++late < LATE_ANSWERS_MAX, 'the service continued on a disk that fails');
      return false;
    });
    load.ignoresAnswers = false;
    disk.restorePower();
    await service.restart();
    await load.check(service);
    await load.repeatUnanswered();
  }
  await load.check(service);
  context.diagnostic(`${acknowledgedBefore + load.acknowledged} acknowledged writes`);
});
