/**
 * Formats the addresses that are printed for people: the origin of the service, and the one-time link that sets a
 * password. Checks whether a service responds there.
 */
import type { Config } from '../config.ts';

const ANSWER_MS = 3000;

/** The token follows the #, so that browsers do not send it and no server or proxy logs it. */
export const formatLink = (origin: string, token: string): string => `${origin}/dashboard/link#${token}`;

/** Returns the origin at which people reach the service, according to the settings. */
export const findOrigin = ({ publicUrl, host, port }: Config, boundPort = port): string =>
  publicUrl || formatOrigin(host, boundPort);

/** Returns the origin at which this machine reaches the service. */
export function formatOrigin(host: string, port: number): string {
  const shown = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}

/** Describes a failed request to the URL. Returns undefined if the response is 200. */
export async function findFault(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    const text = await response.text();
    return response.ok ? undefined : `${response.status} ${text}`;
  } catch (fault) {
    const { message, cause } = fault as Error & { cause?: { code?: string } };
    return `no answer (${cause?.code ?? message})`;
  }
}
