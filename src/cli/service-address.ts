/** Addresses of the service as they are printed for people: its origin, and the one-time link that sets a password. */
import type { Config } from '../config.ts';

/** The token comes after the #, which browsers do not send, so that no server or proxy logs it. */
export const formatLink = (origin: string, token: string): string => `${origin}/dashboard/link#${token}`;

/** Where people reach the service, as the settings tell it. */
export const findOrigin = ({ publicUrl, host, port }: Config, boundPort = port): string =>
  publicUrl || formatOrigin(host, boundPort);

/** Where this machine reaches the service. */
export function formatOrigin(host: string, port: number): string {
  const shown = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}
