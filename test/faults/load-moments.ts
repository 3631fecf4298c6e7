/** Waits for moments of a load, which its answers determine. */
import type { HttpClient } from '../kit/http-client.ts';

/** Waits for an answer at which `isSo` returns true, or for the end of the load. Fails if the load fails. */
export async function untilAnswered(client: HttpClient, load: Promise<void>, isSo: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  client.onAnswer = () => {
    if (isSo()) resolve();
  };
  await Promise.race([promise, load]).finally(() => (client.onAnswer = undefined));
}

/** Waits for a random number of answers, from 1 to `most`. */
export function untilSomeAnswers(client: HttpClient, load: Promise<void>, most: number): Promise<void> {
  let missing = 1 + Math.floor(Math.random() * most);
  return untilAnswered(client, load, () => --missing <= 0);
}
