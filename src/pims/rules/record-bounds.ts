/** Bounds of a request, a record and a response. Each is a maximum. */

export const FILTERS_MAX = 50;
export const FILTER_VALUE_CHARACTERS_MAX = 256;
/** Maximum number of values of the operator `in`. */
export const FILTER_LIST_MAX = 100;
export const VALUE_CHARACTERS_MAX = 8192;
/** Maximum characters of the serial numbers of one movement of stock: a thousand of the longest. */
export const SERIALS_CHARACTERS_MAX = 130_000;
/** Maximum number of serial numbers in stock that a change of a part's stock returns. */
export const SERIALS_SHOWN_MAX = 10_000;
/** Maximum characters of the reason of a movement of stock. */
export const REASON_CHARACTERS_MAX = 500;
export const FIELDS_MAX = 512;
export const LINES_MAX = 10_000;
/** Maximum number of lines in all returns of an invoice, which each of them loads. */
export const RETURNED_LINES_MAX = 20_000;
/** Maximum number of lines that an invoice or a return can name. */
export const NAMED_LINES_MAX = 1000;
/** Maximum number of storefront numbers in one lookup. */
export const NUMBERS_MAX = 100;
/** Maximum characters of the JSON of an order and its lines. */
export const ORDER_CHARACTERS_MAX = 32 * 1024 * 1024;
/** Maximum characters of the JSON of a storefront lookup. */
export const LOOKUP_CHARACTERS_MAX = 8 * 1024 * 1024;
/**
 * Maximum characters of the key of a record. An index entry of PostgreSQL (2,704 bytes) and a URL with a cursor have
 * room for that many of the widest characters.
 */
export const KEY_CHARACTERS_MAX = 256;
export const BATCH_STEPS_MAX = 100;
/** Maximum characters of the results of a batch, because even a short batch can return a lot. */
export const BATCH_ANSWER_CHARACTERS_MAX = 4 * 1024 * 1024;
/** Maximum characters that replace the references of a batch, because even a short batch can write a lot. */
export const REFERRED_CHARACTERS_MAX = 256 * 1024;
