/** COPY: many new rows as one text, which costs driver and server less than values bound to a statement. */
import { Query, type Connection as Driver } from 'pg';
import type { Bound } from '../../writing.ts';

/** What the driver has for COPY; its types leave it out. */
interface CopyDriver extends Driver {
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
}

/** The data follow the statement at once: nothing else may stand between them on a pipelined connection. */
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

  /** The driver asks here for the data. */
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
