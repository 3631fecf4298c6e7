/** How much of a request the log keeps; longer values are cut. */
export const BODY_CHARACTERS_MAX = 4096;
/** Of each name and value of the query. */
export const QUERY_CHARACTERS_MAX = 1024;
