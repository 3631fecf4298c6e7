/** The rules for a tenant's teamID and name, and the settings of a new tenant. */
import { Refusal, refuseField } from '../errors.ts';
import type { TenantSettings } from './tenant-port.ts';

const TEAM_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const NAME_CHARACTERS_MAX = 200;

const NO_LIMITS = { monthQuota: null, ownQuota: null, callsPerSecond: null };
export const FIRST_SETTINGS: TenantSettings = { defaultStage: 'worksheet', strict: false, ...NO_LIMITS };

export const refuseTaken = (teamId: string): Refusal =>
  new Refusal('COMMAND_REFUSED', `The team ID '${teamId}' is in use (case is ignored). Choose another.`);

export const isTeamId = (text: string): boolean => TEAM_ID.test(text);

/** Throws COMMAND_REFUSED when a text cannot be a teamID. */
export function checkTeamId(teamId: string): void {
  if (isTeamId(teamId)) return;
  const form = "1 to 64 letters, digits, '.', '_' and '-', beginning with a letter or a digit";
  const message = `A team ID must be ${form}, not '${teamId}'.`;
  throw refuseField('COMMAND_REFUSED', 'teamID', message);
}

/** Throws COMMAND_REFUSED when a text cannot be the name of a tenant. */
export function checkTenantName(name: string): void {
  if (name.trim() !== '' && name.length <= NAME_CHARACTERS_MAX && name.isWellFormed() && !/\p{Cc}/u.test(name)) return;
  const message = `The name must be 1 to ${NAME_CHARACTERS_MAX} characters on one line.`;
  throw refuseField('COMMAND_REFUSED', 'name', message);
}
