/**
 * Listens on the address of the service, and says which setting is wrong if it cannot. Formats the address,
 * warns if secrets would be sent unencrypted, and checks whether a service responds.
 */
import type { FastifyInstance } from 'fastify';
import { SETTINGS, type Config } from '../config.ts';
import { refuseCommand } from '../errors.ts';

const ANSWER_MS = 3000;

/** Returns the origin at which people reach the service, according to the settings. */
export const findOrigin = ({ publicUrl, host, port }: Config, boundPort = port): string =>
  publicUrl || formatOrigin(host, boundPort);

/** Returns the origin at which this machine reaches the service. */
export function formatOrigin(host: string, port: number): string {
  const shown = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}

/** Requests the URL, and describes the failure. Returns undefined if the request succeeds. */
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

type ListenAddress = Pick<Config, 'host' | 'port'>;

/** Throws COMMAND_REFUSED if the service cannot listen on the address. */
export async function listen(app: FastifyInstance, { host, port }: ListenAddress): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (fault) {
    const sentence = describeListenFault({ host, port }, (fault as NodeJS.ErrnoException).code);
    throw sentence === undefined ? fault : refuseCommand(sentence);
  }
}

/** Describes a fault of the host or the port. Returns undefined for any other fault. */
export function describeListenFault({ host, port }: ListenAddress, code = ''): string | undefined {
  const portIs = `${SETTINGS.port.variable} is ${port}`;
  const otherPort = `Set ${SETTINGS.port.variable} (or --port) to another one; 0 chooses a free port.`;
  switch (code) {
    case 'EADDRINUSE':
      return `${portIs}, and another program listens on it at ${host} (${code}). Stop that program. ${otherPort}`;
    case 'EACCES':
    case 'EPERM':
      return `${portIs}, but this user has no permission to listen on it (${code}). ${otherPort}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return (
        `${SETTINGS.host.variable} is '${host}', which is not an address of this machine (${code}). ` +
        `Set ${SETTINGS.host.variable} (or --host) to 127.0.0.1 for this machine only, or 0.0.0.0 for all networks.`
      );
    default:
      return undefined;
  }
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** Returns a warning if API secrets may cross a network unencrypted, otherwise undefined. */
export function describeExposure({
  host,
  publicUrl,
  trustedProxies,
}: Pick<Config, 'host' | 'publicUrl' | 'trustedProxies'>): string | undefined {
  if (LOOPBACK.test(host) || publicUrl.startsWith('https:') || trustedProxies.length > 0) return undefined;
  return (
    `The service listens on ${host} without TLS, so secrets and passwords cross the network unencrypted. Put a TLS ` +
    `proxy in front, and set ${SETTINGS.publicUrl.variable} to its https address or ` +
    `${SETTINGS.trustedProxies.variable} to its IP address; or listen on 127.0.0.1.`
  );
}
