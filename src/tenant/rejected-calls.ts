/**
 * The last calls that named a team but had no valid keys. This node keeps them in memory, for the team's developers;
 * they have no secret. Names of teams are not checked, so that a wrong call costs no query: beyond 500 names, the one
 * that was called longest ago is forgotten.
 */
const CALLS_MOST = 100;
const TEAMS_MOST = 500;
const SHOWN_CHARACTERS = { apiID: 14, path: 100, client: 64 };

export interface RejectedCall {
  /** UTC ISO 8601. */
  readonly at: string;
  readonly client: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** The beginning of the API ID that was sent; '' for none. */
  readonly apiID: string;
}

export class RejectedCalls {
  readonly #byTeam = new Map<string, RejectedCall[]>();

  note(teamId: string, { apiID, path, client, ...call }: RejectedCall): void {
    const calls = this.#byTeam.get(teamId) ?? [];
    this.#byTeam.delete(teamId);
    if (this.#byTeam.size >= TEAMS_MOST) this.#byTeam.delete(this.#byTeam.keys().next().value!);
    this.#byTeam.set(teamId, calls);
    const shown = {
      apiID: apiID.slice(0, SHOWN_CHARACTERS.apiID),
      path: path.slice(0, SHOWN_CHARACTERS.path),
      client: client.slice(0, SHOWN_CHARACTERS.client),
    };
    calls.unshift({ ...call, ...shown });
    if (calls.length > CALLS_MOST) calls.pop();
  }

  /** Returns the calls of a team, newest first. */
  list(teamId: string): readonly RejectedCall[] {
    return this.#byTeam.get(teamId) ?? [];
  }
}
