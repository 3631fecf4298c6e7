/**
 * Begin here. `npm run bench:attacks` runs the costliest calls, one attack after the other and all at once, against a
 * service in a control group of 512 MB. bench/attack-figures.md has the figures and the bars.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { HttpClient } from '../../test/kit/http-client.ts';
import { Service, STORE } from '../../test/kit/service.ts';
import { MixedLoad } from '../../test/system/mixed-load.ts';
import { table } from '../report/report.ts';
import { makeTarget, type Target } from './target.ts';
import { ATTACKS, type Attack } from './attacks.ts';
import { watch } from './parts.ts';
import { measure, waitForMemory, type Figures } from './phases.ts';
import { ControlGroup } from './control-group.ts';

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '8' },
    'seconds-all': { type: 'string', default: '60' },
  },
});
const MEMORY_BYTES = 512 * 2 ** 20;
const IDLE_SECONDS = 4;
const REST_MS = 1000;
const WRITERS = 4;
const SETTLE_SECONDS = 60;
const SETTLED_MIB = 100;
const HEALTH_MS = 100;
/** How many times as long as before the attack other callers may wait. */
const BARS: Readonly<Record<Attack['caller'], readonly ['p50' | 'p99', number]>> = {
  anonymous: ['p50', 2],
  authenticated: ['p99', 3],
};
const ALL = 'all at once';
const OVERLOAD = 'overload';
const CAPACITY_SECONDS = 8;
const OVER = 3;
/** Time in which a load opens its connections. */
const LOAD_MS = 2000;
const GOODPUT_LEAST = 0.8;
const ACCEPTED_P99_MS = 1000;
const NORMAL_SECONDS = 5;

const SECONDS_ALL = Number(flags['seconds-all']);
const chosen = flags.only === '' ? [...Object.keys(ATTACKS), ALL, OVERLOAD] : flags.only.split(',');
const measured: Record<string, Figures> = {};
const group = ControlGroup.make(MEMORY_BYTES);
let service: Service;
let target: Target;
/** Writers beside the attacks, with a list of their acknowledged writes. */
let writers: MixedLoad;
before(async () => {
  console.log(
    group ? `Memory: 512 MB, by ${group.kind}.` : 'No control group can be made here: memory is only measured.',
  );
  service = await Service.start({ under: group?.under ?? [], asShipped: true });
  target = await makeTarget(service);
  writers = await MixedLoad.open(await HttpClient.open(service, WRITERS), service, ['first', 'second']);
});
after(async () => {
  await service?.stop('SIGKILL');
  group?.remove();
  console.log(renderTable());
});

for (const [name, { caller, fault }] of Object.entries(ATTACKS))
  if (chosen.includes(name))
    test(`${name} (${caller}): ${fault}`, async () => {
      await rest();
      const figures = await measure(service, target, [name], {
        idleSeconds: IDLE_SECONDS,
        seconds: Number(flags.seconds),
      });
      measured[name] = figures;
      const [share, most] = BARS[caller];
      const { idle, during } = figures;
      assert.equal(figures.diedAfter, undefined, `the service ended after ${figures.diedAfter} s`);
      assert.equal(during['order']!.failed, 0, JSON.stringify(during['order']!.failures));
      const ratio = during['order']![share] / idle['order']![share];
      assert.ok(ratio <= most, `${share} of another tenant is ${ratio.toFixed(1)} times the idle one`);
    });

if (chosen.includes(ALL))
  test(`all attacks at once for ${SECONDS_ALL} s: the service lives, answers and forgets nothing`, async (context) => {
    await rest();
    const names = Object.keys(ATTACKS);
    const times = { idleSeconds: IDLE_SECONDS, seconds: SECONDS_ALL };
    const figures = await measure(service, target, names, times, (isOver) => writers.run(WRITERS, isOver));
    measured[ALL] = figures;
    assert.equal(figures.diedAfter, undefined, `the service ended after ${figures.diedAfter} s`);
    const settled = await waitForMemory(service, figures.ownIdleMib + SETTLED_MIB, SETTLE_SECONDS);
    context.diagnostic(`memory within ${SETTLED_MIB} MiB of idle ${settled?.toFixed(1)} s after the attack`);
    await writers.check(service);
    assert.ok(writers.acknowledged > 0, 'nothing was written');
    const statuses = JSON.stringify([...writers.statuses]);
    context.diagnostic(`${writers.acknowledged} writes acknowledged and found, counts exact; answers ${statuses}`);
    const { health, order } = figures.during;
    assert.deepEqual(health!.failures, {}, 'health was refused');
    assert.ok(health!.worst <= HEALTH_MS, `health took ${Math.round(health!.worst)} ms`);
    assert.deepEqual(order!.failures, {}, 'another tenant was refused');
    assert.ok(settled !== undefined, `memory is ${SETTLED_MIB} MiB above idle after ${SETTLE_SECONDS} s`);
    assert.equal(group?.kills ?? 0, 0, 'processes killed for their memory');
  });

if (chosen.includes(OVERLOAD))
  test(`${OVER} times the capacity for ${SECONDS_ALL} s: most calls succeed, and accepted ones are quick`, async (context) => {
    await rest();
    const idle = await watch('order', target, { seconds: IDLE_SECONDS });
    const capacity = await watch('load', target, { settleMs: LOAD_MS, seconds: CAPACITY_SECONDS });
    const perSecond = capacity.goodPerSecond * OVER;
    const over = await watch('load', target, { settleMs: LOAD_MS, seconds: SECONDS_ALL, perSecond });
    await sleep(NORMAL_SECONDS * 1000);
    const normal = await watch('order', target, { seconds: IDLE_SECONDS });
    for (const [name, { goodPerSecond, sentPerSecond, p50, p99, failures }] of Object.entries({ capacity, over })) {
      const calls = `${Math.round(sentPerSecond)} calls/s, ${Math.round(goodPerSecond)} good`;
      const waits = `p50 ${ms(p50)} ms, p99 ${ms(p99)} ms`;
      context.diagnostic(`${name}: ${calls}, ${waits}, else ${JSON.stringify(failures)}`);
    }
    context.diagnostic(`order p99 before ${ms(idle.p99)} ms, ${NORMAL_SECONDS} s after ${ms(normal.p99)} ms`);
    assert.equal(service.hasExited, false, 'the service ended');
    const share = over.goodPerSecond / capacity.goodPerSecond;
    assert.ok(share >= GOODPUT_LEAST, `goodput is ${share.toFixed(2)} of the peak`);
    assert.ok(over.p99 <= ACCEPTED_P99_MS, `p99 of what was accepted is ${ms(over.p99)} ms`);
    assert.equal(normal.failed, 0, 'refused after the overload');
    assert.ok(normal.p50 <= idle.p50 * 2, `p50 is ${ms(normal.p50)} ms after the overload`);
  });

/** Restarts the service, so that nothing of the last attack is left in it. */
async function rest(): Promise<void> {
  await service.stop('SIGKILL');
  await service.restart();
  target = { ...target, origin: service.origin };
  await sleep(REST_MS);
}

const ms = (value: number): string => (Number.isFinite(value) ? value.toFixed(value < 10 ? 1 : 0) : '–');

const HEADINGS =
  'attack, order p50 ms, order p99 ms, refused, search worst ms, health worst ms, own memory MiB, resident MiB, files MiB';

/** Renders the figures as a table in Markdown. */
const renderTable = (): string =>
  ['', `Store: ${STORE}.`, '', ...table(HEADINGS.split(', '), Object.entries(measured).map(cellsOf)), ''].join('\n');

function cellsOf([name, figures]: [string, Figures]): string[] {
  const { idle, during, idleMib, peakMib, ownIdleMib, ownPeakMib, grownMib, diedAfter, counts } = figures;
  const pair = (share: 'p50' | 'p99'): string => `${ms(idle['order']![share])} → ${ms(during['order']![share])}`;
  const fate = diedAfter === undefined ? '' : `; killed after ${diedAfter.toFixed(1)} s`;
  const { order, search, health } = during;
  if (process.env['STOREROOM_TEST_SHOW_COUNTS']) console.log(name, JSON.stringify(counts));
  return [
    name,
    pair('p50'),
    pair('p99'),
    `${order!.failed} of ${order!.failed + order!.count}`,
    ms(search!.worst),
    health!.failed > 0 ? `${ms(health!.worst)}, ${health!.failed} refused` : ms(health!.worst),
    `${Math.round(ownIdleMib)} → ${Math.round(ownPeakMib)}${fate}`,
    `${Math.round(idleMib)} → ${Math.round(peakMib)}`,
    grownMib.toFixed(1),
  ];
}
