/** Reads spans from a protobuf request of OTLP over HTTP, by the field numbers of opentelemetry-proto's trace.proto. */

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly name: string;
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  /** Code of the status; 2 is an error. */
  readonly status: number;
}

type Field = readonly [number: number, value: Buffer | bigint];

/** Reads the fields of a message in order: as bytes if they have a length, otherwise as numbers. */
function readFields(bytes: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const readVarint = (): bigint => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
      shift += 7n;
    }
  };
  while (at < bytes.length) {
    const tag = Number(readVarint());
    const wire = tag & 7;
    if (wire === 0) fields.push([tag >> 3, readVarint()]);
    else if (wire === 2) {
      const length = Number(readVarint());
      fields.push([tag >> 3, bytes.subarray(at, (at += length))]);
    } else {
      const length = wire === 1 ? 8 : 4;
      fields.push([tag >> 3, length === 8 ? bytes.readBigUInt64LE(at) : BigInt(bytes.readUInt32LE(at))]);
      at += length;
    }
  }
  return fields;
}

const all = (fields: readonly Field[], number: number): (Buffer | bigint)[] =>
  fields.filter(([of]) => of === number).map(([, value]) => value);
const messages = (fields: readonly Field[], number: number): Field[][] =>
  all(fields, number).map((value) => readFields(value as Buffer));
const textOf = (fields: readonly Field[], number: number, encoding: 'utf8' | 'hex' = 'utf8'): string =>
  ((all(fields, number)[0] as Buffer | undefined) ?? Buffer.alloc(0)).toString(encoding);
const numberOf = (fields: readonly Field[], number: number): bigint => (all(fields, number)[0] as bigint) ?? 0n;

/** Reads attributes that are texts or whole numbers. */
const readAttributes = (fields: readonly Field[], number: number): Record<string, unknown> =>
  Object.fromEntries(
    messages(fields, number).map((pair) => {
      const [[kind, value] = [0, 0n]] = messages(pair, 2)[0]!;
      return [textOf(pair, 1), kind === 1 ? String(value) : Number(value)];
    }),
  );

export function readSpans(bytes: Buffer): ReceivedSpan[] {
  return messages(readFields(bytes), 1).flatMap((group) => {
    const resource = readAttributes(messages(group, 1)[0] ?? [], 1);
    const spans = messages(group, 2).flatMap((scope) => messages(scope, 2));
    return spans.map((span) => ({
      traceId: textOf(span, 1, 'hex'),
      spanId: textOf(span, 2, 'hex'),
      parentId: textOf(span, 4, 'hex'),
      name: textOf(span, 5),
      kind: Number(numberOf(span, 6)),
      startNs: numberOf(span, 7),
      endNs: numberOf(span, 8),
      attributes: readAttributes(span, 9),
      resource,
      status: Number(numberOf(messages(span, 15)[0] ?? [], 3)),
    }));
  });
}
