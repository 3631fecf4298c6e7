/**
 * A PostgreSQL and its standby for tests of failover: made, promoted and rebuilt as an operator or Patroni would do it.
 * SQL and copied files make the base backup, because the PostgreSQL of npm lacks pg_basebackup.
 */
import { chownSync, copyFileSync, globSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { PostgresServer, runStatement, type ServerOptions } from './postgres.ts';
import { until } from './wait.ts';

const ROLE = 'shop';
const PASSWORD = 'correct-horse-battery';
/** Files that belong to one server and are not copied. */
const OWN =
  /^(postgresql\.conf|postgresql\.auto\.conf|pg_hba\.conf|pg_ident\.conf|postmaster\.(pid|opts)|standby\.signal)$/;
/** Files that are not copied, although their folders are. */
const EMPTIED = /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/./;

export class PostgresPair {
  primary: PostgresServer;
  standby: PostgresServer;
  readonly #servers: readonly PostgresServer[];
  readonly #isSynchronous: boolean;

  private constructor(servers: readonly [PostgresServer, PostgresServer], isSynchronous: boolean) {
    this.#servers = servers;
    [this.primary, this.standby] = servers;
    this.#isSynchronous = isSynchronous;
  }

  /** Starts two servers with an empty database. Without `isSynchronous`, no commit waits for the standby. */
  static async start({
    isSynchronous = true,
    settings,
    ...options
  }: ServerOptions & { isSynchronous?: boolean } = {}): Promise<PostgresPair> {
    const server = { ...options, settings: { wal_keep_size: '1GB', max_wal_senders: '4', ...settings } };
    const [one, other] = await Promise.all([PostgresServer.start(server), PostgresServer.start(server)]);
    const pair = new PostgresPair([one, other], isSynchronous);
    await runStatement(one.url, `CREATE ROLE ${ROLE} SUPERUSER LOGIN PASSWORD '${PASSWORD}'`);
    await runStatement(one.url, `CREATE DATABASE ${ROLE} OWNER ${ROLE}`);
    await pair.rebuild();
    return pair;
  }

  /** The URL of both servers, in an order that never changes. */
  get url(): string {
    const hosts = this.#servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
    return `postgres://${ROLE}:${PASSWORD}@${hosts}/${ROLE}?target_session_attrs=read-write`;
  }

  /** The URL of the primary alone. */
  get primaryUrl(): string {
    return urlOf(this.primary);
  }

  /** Cuts the standby off: it receives nothing more from the primary, not even data that is already on its way. */
  async cutOff(): Promise<void> {
    const url = urlOf(this.standby);
    await runStatement(url, `ALTER SYSTEM SET primary_conninfo = ''`);
    await runStatement(url, 'SELECT pg_reload_conf()');
    await until(async () => (await runStatement(url, 'SELECT 1 FROM pg_stat_wal_receiver')).length === 0);
  }

  /** Makes the standby the primary. Its commits wait for no standby until `rebuild` has made one. */
  async promote(): Promise<void> {
    await runStatement(urlOf(this.standby), 'SELECT pg_promote(true)');
    [this.primary, this.standby] = [this.standby, this.primary];
  }

  /** Makes the standby again from a base backup of the primary, and waits until it has everything committed so far. */
  async rebuild(): Promise<void> {
    const { primary, standby } = this;
    const source = `host=127.0.0.1 port=${primary.port} user=${ROLE} password=${PASSWORD} application_name=standby`;
    await copyServer(primary, standby, urlOf(primary), `primary_conninfo = '${source}'\n`);
    await standby.restart();
    await this.#follow();
  }

  async remove(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.remove()));
  }

  async #follow(): Promise<void> {
    const url = this.primaryUrl;
    if (this.#isSynchronous) {
      await runStatement(url, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
      await runStatement(url, 'SELECT pg_reload_conf()');
    }
    await this.#untilFollows(`sync_state = '${this.#isSynchronous ? 'sync' : 'async'}'`);
    // The standby must also have the commits from before it was synchronous.
    const [now] = await runStatement(url, 'SELECT pg_current_wal_lsn() AS lsn');
    await this.#untilFollows(`flush_lsn >= '${now!['lsn'] as string}'`);
  }

  async #untilFollows(condition: string): Promise<void> {
    const ask = `SELECT 1 FROM pg_stat_replication WHERE ${condition}`;
    await until(async () => {
      if (this.standby.pids().length === 0) throw new Error(`The standby has ended: ${this.standby.log}`);
      return (await runStatement(this.primaryUrl, ask)).length > 0;
    });
  }
}

/** Stops a server and makes it a copy of the primary that follows it with these settings. Does not start it. */
export async function copyServer(
  primary: PostgresServer,
  standby: PostgresServer,
  primaryUrl: string,
  settings: string,
): Promise<void> {
  await standby.kill();
  const backup = new Client({ connectionString: primaryUrl });
  await backup.connect();
  try {
    await backup.query("SELECT pg_backup_start('standby', true)");
    copyData(primary.dataFolder, standby.dataFolder);
    const { rows } = await backup.query<{ labelfile: string }>('SELECT * FROM pg_backup_stop()');
    writeFileSync(join(standby.dataFolder, 'backup_label'), rows[0]!.labelfile);
    writeFileSync(join(standby.dataFolder, 'standby.signal'), '');
    writeFileSync(join(standby.dataFolder, 'postgresql.auto.conf'), settings);
  } finally {
    await backup.end();
  }
  giveTo(standby.dataFolder);
}

const urlOf = ({ port }: PostgresServer): string => `postgres://${ROLE}:${PASSWORD}@127.0.0.1:${port}/${ROLE}`;

/** Copies a server, which may run, over another. Its log has all changes of files that vanish meanwhile. */
function copyData(source: string, target: string): void {
  for (const name of readdirSync(target).filter((one) => !OWN.test(one) || one === 'standby.signal'))
    rmSync(join(target, name), { recursive: true });
  for (const path of globSync('**', { cwd: source }).toSorted()) {
    if (OWN.test(path) || EMPTIED.test(path)) continue;
    try {
      if (statSync(join(source, path)).isDirectory()) mkdirSync(join(target, path), { recursive: true, mode: 0o700 });
      else copyFileSync(join(source, path), join(target, path));
    } catch (fault) {
      if ((fault as NodeJS.ErrnoException).code !== 'ENOENT') throw fault;
    }
  }
}

/** Gives the files in a folder to the owner of the folder, which is the user that the server runs as. */
function giveTo(folder: string): void {
  const { uid, gid } = statSync(folder);
  for (const path of globSync('**', { cwd: folder })) chownSync(join(folder, path), uid, gid);
}
