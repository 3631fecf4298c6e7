/** How much of a request the log keeps. Longer values are cut, and the body to what its line has left. */
export const VALUE_CHARACTERS_MAX = 256;
export const LINE_BYTES_MAX = 2048;
