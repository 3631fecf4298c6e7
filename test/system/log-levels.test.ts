/** Tests the service's own log: JSON lines on standard error, with the levels that docs/metrics.md describes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownService, type Service } from '../kit/service.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly requestId?: string;
  readonly operation?: string;
  readonly teamId?: string;
  readonly httpStatus?: number;
}

/** Returns every line of the log. Other output is for people and does not begin with a brace. */
const linesOf = ({ output }: Service): Line[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

for (const [level, levels] of [
  ['debug', [20, 30]],
  ['info', [30]],
  ['warn', []],
  ['error', []],
] as const)
  test(`${level} writes ${levels.length === 0 ? 'nothing' : `level ${levels.join(' and ')}`} without faults`, async () => {
    const service = await ownService({ env: { STOREROOM_LOG_LEVEL: level } });
    const keys = await service.makeTenant('shop');
    const answers = [
      await service.call(keys, 'PUT', '/orders/create', { body: {} }),
      await service.call(keys, 'GET', '/orders/single', { query: { orderNum: 'none' } }),
    ];
    assert.equal(await service.stop(), 0);
    const lines = linesOf(service);
    assert.deepEqual(new Set(lines.map((line) => line.level)), new Set(levels));
    const stops = lines.flatMap((line) => (line.level === 30 ? [line.msg] : []));
    assert.deepEqual(
      stops,
      level === 'debug' || level === 'info' ? ['Stopping', 'Stopped: counts and logs are on disk'] : [],
    );
    if (level !== 'debug') return;
    for (const { status, headers } of answers) {
      const about = lines.filter(({ requestId }) => requestId === headers.get('x-request-id'));
      assert.equal(about.length, 1, 'one line a request');
      assert.deepEqual([about[0]!.httpStatus, about[0]!.teamId, about[0]!.msg], [status, 'shop', 'answered']);
    }
  });
