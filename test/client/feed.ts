/** A server for `listChanges`. The test writes the changes, and chooses which calls fail. */
import type { ServerResponse } from 'node:http';
import { times } from '../kit/lists.ts';
import { UnkindServer, type Answering } from './unkind-server.ts';

const TYPES = ['orders', 'customers', 'inventory'] as const;

interface FeedChange {
  readonly seq: string;
  readonly type: (typeof TYPES)[number];
}

/** The changes 1, 2, 3 … of orders, customers and parts in turn. */
export class Feed {
  readonly server: UnkindServer;
  readonly changes: FeedChange[] = [];
  /** The faults of the next calls, one for each call; undefined for a normal response. */
  faults: (Answering | undefined)[] = [];
  #waiting: (() => void)[] = [];

  private constructor(server: UnkindServer) {
    this.server = server;
    server.will((response, request) => (this.faults.shift() ?? this.#answer)(response, request));
  }

  static async open(count = 0): Promise<Feed> {
    const feed = new Feed(await UnkindServer.start());
    feed.commit(count);
    return feed;
  }

  /** Adds this many changes and answers the calls that wait for changes. */
  commit(count: number): void {
    const begun = this.changes.length;
    this.changes.push(...times(count, (at) => ({ seq: String(begun + at + 1), type: TYPES[(begun + at) % 3]! })));
    for (const answer of this.#waiting.splice(0)) answer();
  }

  /** The parameters of each call so far, without the tenant. */
  get asked(): string[] {
    return this.server.received.map(({ url }) => url.replace(/^[^?]*\?teamID=shop&?/, ''));
  }

  /** Answers the waiting calls with an empty page, as the service does when their wait has ended. */
  endWaits(): void {
    for (const answer of this.#waiting.splice(0)) answer();
  }

  readonly #answer: Answering = (response, { url }) => {
    const asked = new URL(url, 'http://feed').searchParams;
    const send = (): void => this.#send(response, asked);
    const isHeld = asked.has('wait') && Number(asked.get('after')) >= this.changes.length;
    if (isHeld) this.#waiting.push(send);
    else send();
  };

  #send(response: ServerResponse, asked: URLSearchParams): void {
    const newest = this.changes.length;
    const after = asked.has('after') ? Number(asked.get('after')) : newest;
    const later = this.changes.slice(after, after + Number(asked.get('maxReturn') ?? 500));
    const next = after + later.length;
    const types = asked.get('types')?.split(',');
    const data = later.filter(({ type }) => types === undefined || types.includes(type));
    response.setHeader('X-Next-After', String(next));
    if (next < newest) response.setHeader('X-Has-More', 'true');
    response.end(JSON.stringify({ status: 'success', data, subRecords: null }));
  }
}
