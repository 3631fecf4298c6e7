/** The column that stands for the state of a record: every write of it moves it, and of an order every write of a line. */
export const VERSION = '_VERSION';
