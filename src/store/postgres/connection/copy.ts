/** Inserts many rows with COPY, because one text is cheaper for the driver and the server than bound values. */
import { Query, type Connection as Driver } from 'pg';
import type { Bound } from '../../sql/writing.ts';

/** The driver's methods for COPY, which its types leave out. */
interface CopyDriver extends Driver {
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
}

/** Sends the data directly after the statement: a pipelined connection allows nothing between them. */
export class Copy extends Query {
  readonly #sql: string;
  readonly #rows: Buffer;

  constructor(table: string, names: readonly string[], rows: readonly (readonly Bound[])[]) {
    const sql = `COPY ${table} (${names.map((name) => `"${name}"`).join(', ')}) FROM STDIN`;
    super(sql);
    this.#sql = sql;
    this.#rows = Buffer.from(rows.map(formatRow).join(''));
  }

  override submit = (driver: Driver): void => {
    const copyDriver = driver as CopyDriver;
    copyDriver.query(this.#sql);
    copyDriver.sendCopyFromChunk(this.#rows);
    copyDriver.endCopyFrom();
  };

  /** The driver calls this when the server expects the data. */
  handleCopyInResponse(): void {}
}

const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const formatRow = (values: readonly Bound[]): string => `${values.map(formatValue).join('\t')}\n`;

function formatValue(value: Bound): string {
  if (value === null) return '\\N';
  const text = String(value);
  return SPECIAL.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!) : text;
}
