/**
 * Addresses of the service as they are printed for people: its origin, and the one-time link that sets a password. Opens nothing.
 */
import type { Config } from '../config.ts';

/** The token is behind the #, which no browser sends to any server and no proxy logs. */
export function formatLink({ publicUrl, host, port }: Config, token: string, boundPort = port): string {
  return `${publicUrl || formatOrigin(host, boundPort)}/dashboard/link#${token}`;
}

/** Where the service can be reached from this machine. */
export function formatOrigin(host: string, port: number): string {
  const shown = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}
