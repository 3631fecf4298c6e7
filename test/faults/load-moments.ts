/** Moments of a load, told by its answers. */
import type { HttpClient } from '../kit/http-client.ts';

/** Waits for the first answer of the client at which it is so. Ends without it when the load does, and fails with it. */
export async function untilAnswered(client: HttpClient, load: Promise<void>, isSo: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  client.onAnswer = () => {
    if (isSo()) resolve();
  };
  await Promise.race([promise, load]).finally(() => (client.onAnswer = undefined));
}

/** Waits for so many answers, by chance from 1 to `most`. */
export function untilSomeAnswers(client: HttpClient, load: Promise<void>, most: number): Promise<void> {
  let missing = 1 + Math.floor(Math.random() * most);
  return untilAnswered(client, load, () => --missing <= 0);
}
