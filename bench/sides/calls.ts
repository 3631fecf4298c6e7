/** Makes the calls of the benchmarks with the keys of a tenant, formats them as bytes, and sends them. */
import { writeRequest } from '../../test/kit/raw-http.ts';
import { basicOf } from '../../test/kit/operations.ts';
import { BASE_PATH, type Keys } from '../../test/kit/service.ts';

export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Returns a function that makes requests with these headers. */
export const callWith =
  (headers: Record<string, string>) =>
  (method: string, path: string, body?: unknown): LoadRequest =>
    body === undefined ? { method, path, headers } : { method, path, headers, body: JSON.stringify(body) };

/** Returns a function that makes calls of the service with these keys. */
export function callOf(keys: Keys) {
  const call = callWith({ authorization: basicOf(keys), 'content-type': 'application/json' });
  return (method: string, path: string, parameters: Readonly<Record<string, string>> = {}, body?: unknown) => {
    const query = new URLSearchParams({ teamID: keys.teamID, ...parameters });
    return call(method, `${BASE_PATH}${path}?${query.toString()}`, body);
  };
}

export const formatRequest = ({ method, path, headers, body }: LoadRequest): Buffer =>
  writeRequest(
    method,
    path,
    Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    body,
  );

/** Sends a call and returns the text of its answer. Throws if the answer is not a success. */
export async function fetchText(origin: string, { method, path, headers, body }: LoadRequest): Promise<string> {
  const answer = await fetch(origin + path, { method, headers, ...(body !== undefined && { body }) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 300)}`);
  return text;
}
