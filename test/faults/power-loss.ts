/**
 * Power loss under mixed load, again and again over one disk: what was acknowledged and what was counted is there
 * afterwards. This is what allows the service to sync its logs by itself, off the event loop (0008, 0037).
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
/** From one moment of the load to the loss. */
const ANSWERS_MOST = 1000;
/** Of all connections, between the loss and the end of the service. */
const LATE_ANSWERS_MOST = 100 * CONNECTIONS;

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

/** SQLite counts them in the header of the log. Reads no more than that: it is asked at every answer. */
function countLogRestarts(): number {
  const log = openSync(join(disk.folder, 'usage.db-wal'), 'r');
  const header = Buffer.alloc(16);
  readSync(log, header);
  closeSync(log);
  return header.readUInt32BE(12);
}

/** Two tenants of its own: every check looks at all that a load has written. */
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
    // Now and then late enough for the log to have been checkpointed and to have started over.
    const restarts = loss % 4 === 3 ? countLogRestarts() : -1;
    const hasBegun = (): boolean => load.acknowledged > acknowledged && countLogRestarts() > restarts;
    await untilAnswered(client, working, hasBegun);
    await untilSomeAnswers(client, working, ANSWERS_MOST);
    assert.equal(service.hasExited, false, 'the service ended by itself');
    // What is answered from here on a power cut would have kept from us: see lossy-disk.ts.
    load.ignoresAnswers = true;
    await disk.losePower();
    // Nobody knows any more what is on the disk, so the service has to stop; under load it finds out at once.
    let late = 0;
    await untilAnswered(client, working, () => {
      assert.ok(++late < LATE_ANSWERS_MOST, 'the service went on over a disk that fails');
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
