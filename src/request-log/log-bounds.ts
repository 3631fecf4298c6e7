/** The bounds of a logged request. Longer values are cut, and the body is cut to fit its line. */
export const VALUE_CHARACTERS_MAX = 256;
export const LINE_BYTES_MAX = 2048;
