/** An event loop that is late takes fewer calls at a time, and as many as before once it is punctual again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { times } from '../kit/lists.ts';
import { basicOf } from '../kit/operations.ts';
import { openSocket, readAnswers, writeRequest } from '../kit/raw-http.ts';
import { BASE_PATH, ownService } from '../kit/service.ts';

/** At once: fewer than the service takes by default, more than it takes when it is late. */
const CALLS = 600;
const STOPS = 5;
/** Far above the lateness that counts. It need not be exact, and a punctual look between two stops undoes little. */
const STOP_MS = 400;
const PATIENCE_MS = 10_000;

test('a process kept from running refuses some of 600 calls at once, and none once it is let go on', async () => {
  const service = await ownService();
  const headers = [`Authorization: ${basicOf(await service.makeTenant('shop'))}`, 'Content-Type: application/json'];
  const create = writeRequest('PUT', `${BASE_PATH}/orders/create?teamID=shop`, headers, '{}');
  const sockets = times(CALLS, () => openSocket(service.origin));
  const callAll = async (): Promise<Set<number>> => {
    const answering = sockets.map((socket) => readAnswers(socket));
    for (const socket of sockets) socket.write(create);
    return new Set((await Promise.all(answering)).map(([answer]) => answer?.status ?? 0));
  };
  const allTaken = async (): Promise<void> => {
    const giveUpAt = performance.now() + PATIENCE_MS;
    for (let told = [0]; told.join() !== '200'; told = [...(await callAll())])
      assert.ok(performance.now() < giveUpAt, `answers ${told.join()}`);
  };
  await allTaken();

  for (let stop = 0; stop < STOPS; stop++) {
    if (stop > 0) {
      process.kill(service.pid, 'SIGCONT');
      await sleep(10);
    }
    process.kill(service.pid, 'SIGSTOP');
    await sleep(STOP_MS);
  }
  const late = callAll();
  process.kill(service.pid, 'SIGCONT');
  const told = await late;
  assert.ok(told.size > 1 && told.isSubsetOf(new Set([200, 429, 503])), `answers ${[...told].join()}`);

  await allTaken();
  for (const socket of sockets) socket.destroy();
});
