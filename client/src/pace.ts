/** Keeps the calls of a client within the rate of its team, as the service's last answers told it. */

export class Pace {
  /** Milliseconds between two calls at the rate; 0 if the service tells none. */
  #gapMs = 0;
  /** The time from which the next call may be sent. */
  #freeAt = 0;

  /**
   * Notes the rate and what is left of it: `RateLimit-Policy: "rate";q=20;w=2` and `RateLimit: "rate";r=0;t=2`.
   * `refusedForMs` is the wait that a refusal asks for.
   */
  note(headers: Headers, refusedForMs?: number): void {
    const [calls, seconds] = [findRate(headers, 'RateLimit-Policy', 'q'), findRate(headers, 'RateLimit-Policy', 'w')];
    if (calls && seconds) this.#gapMs = (seconds * 1000) / calls;
    const waitMs = refusedForMs ?? (findRate(headers, 'RateLimit', 'r') === 0 ? this.#gapMs : 0);
    if (waitMs > 0) this.#freeAt = Math.max(this.#freeAt, performance.now() + waitMs);
  }

  /** Returns the milliseconds until a call may be sent, and reserves that place. */
  take(): number {
    const waitMs = this.#freeAt - performance.now();
    if (waitMs <= 0) return 0;
    this.#freeAt += this.#gapMs;
    return waitMs;
  }
}

/** Returns a parameter of the item "rate": of `"rate";q=20;w=2, "quota";q=1000`, `q` is 20. */
export function findRate(headers: Headers, header: string, parameter: string): number | undefined {
  const found = new RegExp(`"rate"[^,]*;\\s*${parameter}=(\\d+)`).exec(headers.get(header) ?? '')?.[1];
  return found === undefined ? undefined : Number(found);
}
