/** The figures of accounts that forms show and check before the service does. */
export const EMAIL_CHARACTERS_MAX = 254;
/** Code points. */
export const PASSWORD_MIN = 15;
export const PASSWORD_MAX = 256;
export const RECOVERY_CODES = 10;
/** A session ends by itself when it is not used for so long, or this long after it was opened. */
export const SESSION_IDLE_MINUTES = 30;
export const SESSION_HOURS = 12;
/** So long the password is not asked for again. */
export const PROOF_MINUTES = 5;
