/** A change feed that a test writes and that answers badly at times: a server for `listChanges`, on an UnkindServer. */
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
  /** What is done with the next calls instead, one for each; undefined answers them. */
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

  /** Adds so many changes and answers the calls that wait for them. */
  commit(count: number): void {
    const begun = this.changes.length;
    this.changes.push(...times(count, (at) => ({ seq: String(begun + at + 1), type: TYPES[(begun + at) % 3]! })));
    for (const answer of this.#waiting.splice(0)) answer();
  }

  /** The parameters of each call so far, but for the tenant. */
  get asked(): string[] {
    return this.server.received.map(({ url }) => url.replace(/^[^?]*\?teamID=shop&?/, ''));
  }

  /** Answers the calls that wait with an empty page, as the service does after so many seconds. */
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
