/**
 * Followers of a tenant's change feed: one reads pages, one waits for changes, and one is restarted at random. Each
 * keeps what it has seen and a copy of the records, and checks that no change arrives with a number that it has passed.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextRound } from 'node:timers/promises';
import { NoAnswer, type HttpClient } from '../kit/http-client.ts';
import type { Answer, Keys, Service } from '../kit/service.ts';

type Values = Record<string, string>;
interface Change {
  readonly seq: string;
  readonly type: string;
  readonly key: string;
  readonly change: string;
  readonly operation: string;
  readonly record: Values | null;
}

const RESTARTED = 0.1;
const PAGE = '50';
/** Maximum time until the waiting follower notices that the test is over. */
const WAIT_SECONDS = '1';
const KEYS = { orders: 'ORDER_NUMBER', customers: 'CUSTOMER_CODE', inventory: 'PART_CODE' } as const;
export type FollowBy = 'pages' | 'wait' | 'restarts';

export class Follower {
  readonly #client: HttpClient;
  readonly #keys: Keys;
  readonly #by: FollowBy;
  readonly seen: string[] = [];
  readonly copy = new Map<string, Values | null>();
  #after = '0';
  /** The position that it saved last, to which a restart returns. */
  #kept = { after: '0', seen: 0 };

  constructor(client: HttpClient, keys: Keys, by: FollowBy) {
    this.#client = client;
    this.#keys = keys;
    this.#by = by;
  }

  /** Follows until `isOver` returns true and everything is read. */
  async run(isOver: () => boolean): Promise<void> {
    for (;;) {
      const isLast = isOver();
      const answer = await this.#read(isLast ? '0' : WAIT_SECONDS);
      if (!answer) {
        await nextRound();
        continue;
      }
      assert.equal(answer.status, 200, answer.text);
      const changes = answer.body.data as Change[];
      for (const change of changes) this.#take(change);
      this.#after = answer.headers.get('x-next-after')!;
      if (isLast && changes.length === 0 && answer.headers.get('x-has-more') === 'false') return;
      if (this.#by !== 'restarts') continue;
      const chance = Math.random();
      if (chance < RESTARTED) this.#kept = { after: this.#after, seen: this.seen.length };
      else if (!isLast && chance > 1 - RESTARTED) {
        this.#after = this.#kept.after;
        this.seen.length = this.#kept.seen;
      }
    }
  }

  #take({ seq, type, key, change, operation, record }: Change): void {
    assert.ok(Number(seq) > Number(this.#after), `${seq} came after ${this.#after} by ${this.#by}`);
    this.#after = seq;
    this.seen.push(`${seq} ${operation}: ${type} ${key} ${change}`);
    this.copy.set(`${type} ${key}`, record);
  }

  /** Reads changes. Returns undefined if there is no answer, or a 503. */
  async #read(wait: string): Promise<Answer | undefined> {
    const query = { after: this.#after, maxReturn: PAGE, include: 'records', ...(this.#by === 'wait' && { wait }) };
    try {
      const answer = await this.#client.call(this.#keys, 'GET', '/changes', { query });
      return answer.status === 503 ? undefined : answer;
    } catch (fault) {
      if (fault instanceof NoAnswer) return undefined;
      throw fault;
    }
  }
}

/** Checks that all followers have seen the same changes, and that their copies are the tenant's records. */
export async function compareFollowers(service: Service, { teamID }: Keys, all: readonly Follower[]): Promise<void> {
  const [first, ...others] = all;
  for (const { seen } of others) assert.deepEqual(seen, first!.seen);
  for (const [type, key] of Object.entries(KEYS)) {
    const { records } = (await service.command('export', teamID, type, '--json')).json() as { records: Values[] };
    const exported = new Map(records.map((record) => [record[key]!, record]));
    for (const { copy } of all) {
      const copied = [...copy].filter(([name]) => name.startsWith(`${type} `));
      const found = new Map(copied.map(([name, record]) => [name.slice(type.length + 1), record]));
      assert.deepEqual([...found.keys()].toSorted(), [...exported.keys()].toSorted(), type);
      for (const [code, record] of exported) assert.deepEqual(found.get(code), record, `${type} ${code}`);
    }
  }
}
