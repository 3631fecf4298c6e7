/**
 * `npm run bench:several-servers` simulates installations with Citus from measured CPU times. The first was also run;
 * README.md compares its figures. The others are larger. A seed (`--seed`, default 1) always gives the same figures.
 */
import { parseArgs } from 'node:util';

/**
 * CPU time in microseconds, of runs in which 64 callers made only calls of one operation: 1,995 tenants on three
 * workers, with a coordinator and one node, on a machine with 2 cores, 28 November 2026.
 */
const TIMES = {
  /**
   * For a call: time of the node, of the tenant's worker, of the coordinator beside keys and counts (request log and
   * notices), and of everything else on the machine.
   */
  calls: {
    getOrder: { node: 510, worker: 2372, coordinator: 85, others: 158 },
    queryCustomers: { node: 725, worker: 1609, coordinator: 85, others: 212 },
    createOrder: { node: 1979, worker: 5596, coordinator: 590, others: 778 },
  },
  /** Time of the coordinator: for a statement that finds keys or adds counts, and for each tenant in it. */
  statement: { whole: 400, tenant: 85 },
};

type Operation = keyof typeof TIMES.calls;
/** The share of each operation in the calls. */
const MIX: Readonly<Record<Operation, number>> = { getOrder: 0.7, queryCustomers: 0.2, createOrder: 0.1 };

interface Installation {
  readonly tenants: number;
  readonly nodes: number;
  readonly workers: number;
  /** Cores of each server. With `together`, all servers and the callers share these cores. */
  readonly cores: { readonly node: number; readonly coordinator: number; readonly worker: number };
  readonly together?: number;
  /** A number of callers who call again after each answer, or the calls a second that arrive. */
  readonly load: { readonly callers: number } | { readonly perSecond: number };
  readonly seconds: number;
}

/** A node keeps a key for this time, for calls that come alone (src/store/postgres/control-database.ts). */
const KEPT_US = 100_000;
/** Time from one server to another. */
const NETWORK_US = 100;
/** A statement has at most this many tenants. */
const TENANTS_MAX = 256;
/** Share of the time before figures are taken. */
const WARM_UP = 0.2;

/** Events in the order of their time, as a binary heap. */
class Events {
  readonly #heap: { at: number; run: () => void }[] = [];
  now = 0;

  after(us: number, run: () => void): void {
    const heap = this.#heap;
    const event = { at: this.now + us, run };
    let place = heap.length;
    while (place > 0 && heap[(place - 1) >> 1]!.at > event.at) {
      heap[place] = heap[(place - 1) >> 1]!;
      place = (place - 1) >> 1;
    }
    heap[place] = event;
  }

  runUntil(end: number): void {
    const heap = this.#heap;
    while (heap.length > 0 && heap[0]!.at <= end) {
      const { at, run } = heap[0]!;
      const last = heap.pop()!;
      let place = 0;
      for (let child = 1; child < heap.length; child = 2 * place + 1) {
        if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child++;
        if (heap[child]!.at >= last.at) break;
        heap[place] = heap[child]!;
        place = child;
      }
      if (heap.length > 0) heap[place] = last;
      this.now = at;
      run();
    }
  }
}

/** Cores that run pieces of work in the order in which they arrive. */
class Cores {
  readonly #events: Events;
  readonly #waiting = new Set<{ readonly us: number; readonly done: () => void }>();
  #free: number;

  constructor(events: Events, cores: number) {
    this.#events = events;
    this.#free = cores;
  }

  run(us: number, done: () => void): void {
    this.#waiting.add({ us, done });
    this.#begin();
  }

  #begin(): void {
    const [next] = this.#waiting;
    if (!next || this.#free === 0) return;
    this.#waiting.delete(next);
    this.#free--;
    this.#events.after(next.us, () => {
      this.#free++;
      next.done();
      this.#begin();
    });
  }
}

/** Questions of different tenants that share a statement; those that arrive while all are running wait for the next. */
class Statements {
  readonly #send: (tenants: number, done: () => void) => void;
  readonly #most: number;
  readonly #waiting = new Map<number, (() => void)[]>();
  #running = 0;

  constructor(most: number, send: (tenants: number, done: () => void) => void) {
    this.#most = most;
    this.#send = send;
  }

  get isIdle(): boolean {
    return this.#running === 0;
  }

  ask(tenant: number, done: () => void): void {
    this.#waiting.getOrInsertComputed(tenant, () => []).push(done);
    this.#sendNext();
  }

  #sendNext(): void {
    if (this.#running >= this.#most || this.#waiting.size === 0) return;
    const asked = [...this.#waiting.entries().take(TENANTS_MAX)];
    for (const [tenant] of asked) this.#waiting.delete(tenant);
    this.#running++;
    this.#send(asked.length, () => {
      this.#running--;
      for (const [, all] of asked) for (const done of all) done();
      this.#sendNext();
    });
  }
}

/** CPU time per call, and the share of the cores that was used. */
interface Use {
  readonly us: number;
  readonly share: number;
}

interface Figures {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly coordinator: Use;
  readonly workers: Use;
  readonly nodes: Use;
}

const randomOf = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0;
  let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
  return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
};

type Role = 'coordinator' | 'workers' | 'nodes';
type Server = (us: number, done: () => void) => void;

interface Node {
  readonly run: Server;
  readonly keys: Statements;
  readonly counts: Statements;
  /** Until when the node keeps the key of each tenant. */
  readonly keptUntil: Map<number, number>;
}

class Simulation {
  readonly #installation: Installation;
  readonly #events = new Events();
  readonly #random: () => number;
  /** Figures are taken from calls after this time. */
  readonly #begin: number;
  readonly #together: Cores | undefined;
  readonly #coordinator: Server;
  readonly #workers: readonly Server[];
  readonly #nodes: readonly Node[];
  readonly #usedUs: Record<Role, number> = { coordinator: 0, workers: 0, nodes: 0 };
  readonly #waits: number[] = [];

  constructor(installation: Installation, seed: number) {
    const { nodes, workers, cores, together, seconds } = (this.#installation = installation);
    this.#random = randomOf(seed);
    this.#begin = seconds * WARM_UP * 1e6;
    this.#together = together === undefined ? undefined : new Cores(this.#events, together);
    this.#coordinator = this.#serverOf('coordinator', cores.coordinator);
    this.#workers = Array.from({ length: workers }, () => this.#serverOf('workers', cores.worker));
    const { whole, tenant } = TIMES.statement;
    const ask = (count: number, done: () => void) => this.#send(this.#coordinator, whole + count * tenant, done);
    this.#nodes = Array.from({ length: nodes }, () => ({
      run: this.#serverOf('nodes', cores.node),
      keys: new Statements(2, ask),
      counts: new Statements(1, ask),
      keptUntil: new Map(),
    }));
  }

  run(): Figures {
    const { nodes, workers, cores, together, load, seconds } = this.#installation;
    if ('callers' in load) for (let caller = 0; caller < load.callers; caller++) this.#repeat();
    else this.#arrive(load.perSecond);
    this.#events.runUntil(seconds * 1e6);
    const waits = this.#waits.toSorted((a, b) => a - b);
    const measuredUs = seconds * 1e6 - this.#begin;
    const useOf = (role: Role, count: number): Use => ({
      us: this.#usedUs[role] / waits.length,
      share: this.#usedUs[role] / measuredUs / (together ?? count),
    });
    return {
      perSecond: (waits.length / measuredUs) * 1e6,
      p50Ms: waits[Math.floor(waits.length * 0.5)]! / 1000,
      p99Ms: waits[Math.floor(waits.length * 0.99)]! / 1000,
      coordinator: useOf('coordinator', cores.coordinator),
      workers: useOf('workers', workers * cores.worker),
      nodes: useOf('nodes', nodes * cores.node),
    };
  }

  #serverOf(role: Role, count: number): Server {
    const cores = this.#together ?? new Cores(this.#events, count);
    return (us, done) => {
      if (this.#events.now >= this.#begin) this.#usedUs[role] += us;
      cores.run(us, done);
    };
  }

  #send(server: Server, us: number, done: () => void): void {
    this.#events.after(NETWORK_US, () => server(us, () => this.#events.after(NETWORK_US, done)));
  }

  #repeat(): void {
    this.#call(() => this.#repeat());
  }

  #arrive(perSecond: number): void {
    this.#call(() => undefined);
    this.#events.after((-Math.log(1 - this.#random()) / perSecond) * 1e6, () => this.#arrive(perSecond));
  }

  #call(whenDone: () => void): void {
    const begun = this.#events.now;
    const tenant = Math.floor(this.#random() * this.#installation.tenants);
    const node = this.#nodes[Math.floor(this.#random() * this.#nodes.length)]!;
    const times = TIMES.calls[this.#choose()];
    let left = 2;
    const finish = () => {
      if (--left > 0) return;
      if (begun >= this.#begin) this.#waits.push(this.#events.now - begun);
      this.#coordinator(times.coordinator, () => undefined);
      whenDone();
    };
    const work = () => {
      node.counts.ask(tenant, finish);
      this.#send(this.#workers[tenant % this.#workers.length]!, times.worker, finish);
    };
    const arrive = () => node.run(times.node, () => this.#admit(node, tenant, work));
    if (this.#together) this.#together.run(times.others, arrive);
    else arrive();
  }

  #admit({ keys, counts, keptUntil }: Node, tenant: number, work: () => void): void {
    const { now } = this.#events;
    if (counts.isIdle && (keptUntil.get(tenant) ?? 0) > now) return work();
    keys.ask(tenant, () => {
      keptUntil.set(tenant, now + KEPT_US);
      work();
    });
  }

  #choose(): Operation {
    let rest = this.#random();
    const shares = Object.entries(MIX) as [Operation, number][];
    return (shares.find(([, share]) => (rest -= share) < 0) ?? shares[0]!)[0];
  }
}

const { values } = parseArgs({ options: { seed: { type: 'string', default: '1' } } });
const seed = Number(values.seed);
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;

function report(title: string, installation: Installation): void {
  const { perSecond, p50Ms, p99Ms, coordinator, workers, nodes } = new Simulation(installation, seed).run();
  const used = Object.entries({ coordinator, workers, nodes }).map(
    ([name, { us, share }]) => `${name} ${us.toFixed(0)} µs (${percent(share)})`,
  );
  console.log(`${title}: ${perSecond.toFixed(0)} a second, p50 ${p50Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)} ms`);
  console.log(`  CPU time per call and use of the cores: ${used.join(', ')}`);
}

const real = { tenants: 1995, nodes: 1, workers: 3, cores: { node: 1, coordinator: 1, worker: 1 }, together: 2 };
for (const callers of [24, 64, 128])
  report(`${callers} callers, as in the real run`, { ...real, load: { callers }, seconds: 60 });
const large = { tenants: 100_000, nodes: 64, workers: 16, cores: { node: 1, coordinator: 64, worker: 16 } };
report('100,000 tenants on one coordinator', { ...large, load: { perSecond: 50_000 }, seconds: 5 });
const part = { tenants: 2000, nodes: 2, workers: 3, cores: { node: 1, coordinator: 2, worker: 2 } };
report('One of 50 installations', { ...part, load: { perSecond: 1000 }, seconds: 60 });
