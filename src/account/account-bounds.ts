/** The bounds of accounts. Forms show them, and check them before the service does. */
export const EMAIL_CHARACTERS_MAX = 254;
/** Bounds of a password's length in code points. */
export const PASSWORD_MIN = 15;
export const PASSWORD_MAX = 256;
export const RECOVERY_CODES = 10;
/** A session ends after this many minutes without use, and at the latest this many hours after it was opened. */
export const SESSION_IDLE_MINUTES = 30;
export const SESSION_HOURS = 12;
/** Minutes after a proof of identity in which the password is not requested again. */
export const PROOF_MINUTES = 5;
