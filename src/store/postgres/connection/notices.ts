/**
 * Notifies listening nodes of tenants' commits. NOTIFY locks the whole server for a moment and writes to its log, so it
 * never runs in the transaction of a write, nor if no other node listens. If a notice is lost, waiting callers read
 * again when their time is up. Source: decision 0066.
 */
import type { Clock } from '../../../clock.ts';
import { makeChangeWaiters } from '../../sql/change-waiters.ts';
import type { Connection } from './connection.ts';
import type { SharedConnection } from './shared-connection.ts';

const CHANNEL = 'storeroom_changes';
/** Time between two notices of a node. */
const NOTICE_MS = 20;
/** An advisory lock that all listening sessions share. Other sessions can take it only if none listens. */
const LISTENING_LOCK = 7_301_127;
const NOTIFY = `SELECT pg_notify('${CHANNEL}', q.id) FROM unnest(?::text[]) AS q(id)
  WHERE NOT pg_try_advisory_xact_lock(${LISTENING_LOCK})`;
/** Time after which a lost connection is opened again. */
const RETRY_MS = 1000;

interface NoticeOptions {
  /** The connection that sends notices while this node does not listen. */
  readonly sender: SharedConnection;
  /** Opens the connection that listens, when a caller first waits. */
  readonly openConnection: () => Promise<Connection>;
  readonly clock: Clock;
}

export class Notices {
  readonly #options: NoticeOptions;
  readonly #waiters = makeChangeWaiters(() => {
    this.#beginListening();
    return () => undefined;
  });
  readonly #unsent = new Set<string>();
  #listening: Promise<void> | undefined;
  #connection: Connection | undefined;
  #isClosed = false;

  constructor(options: NoticeOptions) {
    this.#options = options;
  }

  /** Resolves when the tenant may have changed since this call, on any node, or when the signal aborts. */
  waitForNotice(storeId: string, ended: AbortSignal): Promise<void> {
    return this.#waiters.waitForWake(storeId, ended);
  }

  /** Wakes the callers that wait on this node, and soon those on others. */
  sendNotice(storeId: string): void {
    this.#waiters.wake(storeId);
    if (this.#unsent.size === 0) this.#options.clock.after(NOTICE_MS, () => void this.#flushNotices());
    this.#unsent.add(storeId);
  }

  /** Destroys the connection, because its server is gone. A new one is then opened. */
  restart(): void {
    this.#connection?.destroy('the database is unavailable');
  }

  /** Sends the unsent notices, and closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#unsent.size > 0) await this.#flushNotices();
    await this.#listening;
    await this.#connection?.close();
  }

  async #flushNotices(): Promise<void> {
    const storeIds = [...this.#unsent];
    this.#unsent.clear();
    // Prefer the session that listens, because its own lock does not count in NOTIFY.
    const sent = this.#connection?.isOpen
      ? this.#connection.query(NOTIFY, [storeIds])
      : this.#options.sender.askRows(NOTIFY, [storeIds]);
    // A lost notice only delays waiting callers.
    await sent.catch(() => undefined);
  }

  #beginListening(): void {
    if (!this.#isClosed) this.#listening ??= this.#listen();
  }

  async #listen(): Promise<void> {
    const { openConnection, clock } = this.#options;
    const again = (): void => {
      this.#listening = undefined;
      clock.after(RETRY_MS, () => this.#beginListening());
    };
    try {
      this.#connection = await openConnection();
      await this.#connection.listen(CHANNEL, (storeId) => this.#waiters.wake(storeId), again);
      // Commits from before the lock may have sent no notice.
      await this.#connection.query(`SELECT pg_advisory_lock_shared(${LISTENING_LOCK})`);
      this.#waiters.wakeAll();
    } catch {
      again();
    }
  }
}
