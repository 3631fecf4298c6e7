/**
 * The last calls that named a team but had no valid keys. This node keeps them in memory, for the team's developers;
 * they have no secret. Only the form of a team's name is checked, so that a wrong call costs no query: beyond 500 names,
 * the one that was called longest ago is forgotten.
 */
import { isTeamId } from './tenant.ts';

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
    if (!isTeamId(teamId)) return;
    const calls = this.#byTeam.get(teamId) ?? [];
    this.#byTeam.delete(teamId);
    if (this.#byTeam.size >= TEAMS_MOST) this.#byTeam.delete(this.#byTeam.keys().next().value!);
    this.#byTeam.set(copyStart(teamId, teamId.length), calls);
    const shown = {
      apiID: copyStart(apiID, SHOWN_CHARACTERS.apiID),
      path: copyStart(path, SHOWN_CHARACTERS.path),
      client: copyStart(client, SHOWN_CHARACTERS.client),
    };
    calls.unshift({ ...call, ...shown });
    if (calls.length > CALLS_MOST) calls.pop();
  }

  /** Returns the calls of a team, newest first. */
  list(teamId: string): readonly RejectedCall[] {
    return this.#byTeam.get(teamId) ?? [];
  }
}

/** Returns a copy: without it, a slice keeps the whole text in memory, which is as long as a stranger makes it. */
const copyStart = (text: string, most: number) => Buffer.from(text.slice(0, most)).toString();
