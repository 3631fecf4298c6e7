/**
 * What an operation of the service is: its name, path, schemas, example and the one call it makes. Said of each in orders.ts, customers.ts and
 * inventory.ts; put on its path by route.ts. Types and the base path only.
 */
import type { FastifyReply } from 'fastify';
import type { Body, WriteContext } from '../../pims/operations.ts';
import type { PimsStore } from '../../pims/port.ts';
import type { Schema } from '../schemas.ts';
import type { OperationName } from './names.ts';

export const BASE_PATH = '/tenant/api/pims/v1';

/** A call on its way to its operation: authenticated, counted, its body and query of the shape the schemas say. */
export interface Call<Shape = Body> {
  readonly store: PimsStore;
  readonly query: Readonly<Record<string, string>>;
  readonly body: Shape;
  readonly context: WriteContext;
  readonly reply: FastifyReply;
}

export interface Operation {
  /** The one name of the operation: in the contract, the usage, the log, the client and the docs. */
  readonly name: OperationName;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly tag: 'Orders' | 'Customers' | 'Inventory';
  readonly summary: string;
  readonly description: string;
  readonly query: Schema;
  readonly body?: Schema;
  /** Whether an Idempotency-Key makes it repeatable. */
  readonly writes: boolean;
  readonly answer: Schema;
  readonly example: { readonly query: Record<string, string>; readonly body?: unknown; readonly answer: unknown };
  /** The body of the 200 answer. */
  readonly run: (call: Call<never>) => Promise<string>;
}
