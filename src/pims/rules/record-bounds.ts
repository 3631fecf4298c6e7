/** How much a request and an order may hold. */
export const FILTERS_MAX = 50;
export const FILTER_VALUE_CHARACTERS_MAX = 256;
/** Values of the operator `in`. */
export const FILTER_LIST_MAX = 100;
export const VALUE_CHARACTERS_MAX = 8192;
export const FIELDS_MAX = 512;
export const LINES_MAX = 10_000;
/** Storefront numbers of one lookup. */
export const NUMBERS_MAX = 100;
/** Of the JSON of an order and its lines, and of all that a storefront lookup reads. */
export const ORDER_CHARACTERS_MAX = 32 * 1024 * 1024;
export const LOOKUP_CHARACTERS_MAX = 8 * 1024 * 1024;
/** What an index entry of PostgreSQL (2,704 bytes) and the URL with a cursor have room for, whatever the characters. */
export const KEY_CHARACTERS_MAX = 256;
export const BATCH_STEPS_MAX = 100;
/** Of what a batch answers, and of all that its references stand for: a short batch could write or answer much. */
export const BATCH_ANSWER_CHARACTERS_MAX = 4 * 1024 * 1024;
export const REFERRED_CHARACTERS_MAX = 256 * 1024;
