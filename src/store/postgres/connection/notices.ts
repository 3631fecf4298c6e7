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

export function makeNotices({ sender, openConnection, clock }: NoticeOptions) {
  const unsent = new Set<string>();
  let listening: Promise<void> | undefined;
  let connection: Connection | undefined;
  let isClosed = false;
  const beginListening = () => {
    if (!isClosed) listening ??= listen();
  };
  const waiters = makeChangeWaiters(() => {
    beginListening();
    return () => undefined;
  });
  const listen = async () => {
    const again = () => {
      listening = undefined;
      clock.after(RETRY_MS, beginListening);
    };
    try {
      connection = await openConnection();
      await connection.listen(CHANNEL, waiters.wake, again);
      // Commits from before the lock may have sent no notice.
      await connection.query(`SELECT pg_advisory_lock_shared(${LISTENING_LOCK})`);
      waiters.wakeAll();
    } catch {
      again();
    }
  };
  const flushNotices = async () => {
    const storeIds = [...unsent];
    unsent.clear();
    // Prefer the session that listens, because its own lock does not count in NOTIFY.
    const sent = connection?.isOpen ? connection.query(NOTIFY, [storeIds]) : sender.askRows(NOTIFY, [storeIds]);
    // A lost notice only delays waiting callers.
    await sent.catch(() => undefined);
  };
  return {
    /** Resolves when the tenant may have changed since this call, on any node, or when the signal aborts. */
    waitForNotice: waiters.waitForWake,
    /** Wakes the callers that wait on this node, and soon those on others. */
    sendNotice: (storeId: string) => {
      waiters.wake(storeId);
      if (unsent.size === 0) clock.after(NOTICE_MS, () => void flushNotices());
      unsent.add(storeId);
    },
    /** Destroys the connection, because its server is gone. A new one is then opened. */
    restart: () => connection?.destroy('the database is unavailable'),
    /** Sends the unsent notices, and closes the connection. */
    async close() {
      isClosed = true;
      if (unsent.size > 0) await flushNotices();
      await listening;
      await connection?.close();
    },
  };
}
