/**
 * Begin here: the type of an action of administration, which is a route of the dashboard, a command, or both.
 * actions.ts lists all actions. http/dashboard and cli/commands/actions.ts add them, and have no code for one.
 */
import type { UserStore } from '../account/account-port.ts';
import type { Role } from '../account/roles.ts';
import type { ProofNeed } from '../account/users.ts';
import type { Actor, AuditEntry, AuditStore } from '../audit/audit.ts';
import type { Clock } from '../clock.ts';
import { matching, objectOf, type Schema, type TypedSchema } from '../json-schema.ts';
import type { PimsStore } from '../pims/pims-port.ts';
import type { WriteOptions } from '../pims/writes/writes.ts';
import type { RequestStore } from '../request-log/request-log-port.ts';
import type { RequestLog } from '../request-log/request-log.ts';
import type { RejectedCalls } from '../tenant/credentials.ts';
import type { Placement, Tenant, TenantStore, UsageStore } from '../tenant/tenant-port.ts';
import type { WebhookStore } from '../webhooks/webhooks-port.ts';
import type { Readings } from './readings.ts';

export interface ActionServices {
  readonly clock: Clock;
  readonly tenants: TenantStore;
  readonly users: UserStore;
  readonly audit: AuditStore;
  readonly usage: UsageStore;
  readonly requests: RequestStore;
  readonly requestLog: RequestLog;
  /** The part of counts that is in the log. The command line leaves it out, to show counts while the log is lost. */
  readonly logCounts: Pick<RequestStore, 'loadKeyUses' | 'loadRefusals'>;
  readonly requestLogDays: number;
  readonly webhooks: WebhookStore;
  /** Whether webhooks may have private addresses. */
  readonly isPrivateAllowed: boolean;
  /**
   * Address at which people reach the service, without a path: `https://pims.example.com`. If it is '', addresses in
   * responses are relative, because a Host header can be forged, and the browser knows the host.
   */
  readonly publicUrl: string;
  readonly rejectedCalls: RejectedCalls;
  /** Returns method and path of an operation. The command line, which does not load the operations, has none. */
  readonly placeOf: (operation: string) => { readonly method: string; readonly path: string };
  /** Only the service has it. */
  readonly node?: NodeParts;
  /** Only the command line has the next two. With one server, and with PostgreSQL, they are undefined. */
  readonly placement?: Placement | undefined;
  readonly restoreTenant?: (tenant: Tenant, from: string, entry: AuditEntry) => Promise<string | null>;
}

/** The node of a service, for its operator. */
export interface NodeParts {
  /** Time of the clock at which the service started. */
  readonly startedAt: number;
  readonly readings: () => Readings;
  /** Makes a backup. Undefined if no backups are scheduled. */
  readonly backUp: (() => Promise<unknown>) | undefined;
}

export interface ActionContext extends ActionServices {
  readonly tenant: Tenant;
  readonly teamId: string;
  /** The operator has every right. */
  readonly role: Role;
  /** The user who acts, with the Idempotency-Key of the change, or the command line. */
  readonly actor: Actor;
  readonly openPims: () => PimsStore | Promise<PimsStore>;
  readonly writeOptions: WriteOptions;
  /** Appends a write of records to the audit log, unless it has changed nothing. */
  readonly note: (action: string, target: string, detail?: AuditEntry['detail']) => Promise<void>;
  /** Makes a signal that aborts when the caller disconnects. */
  readonly signal: () => AbortSignal;
  /** Aborts when the caller of a long action disconnects, or the service stops. */
  readonly ended?: AbortSignal | undefined;
}

/** Who may use a route, and what it takes. */
export interface RouteTerms {
  /** The least role. A route without one needs an owner, unless it is open. The operator may use every command. */
  readonly role?: Role;
  /** The proof that a change needs. Each change with a role must name it (decision 0023). */
  readonly proof?: ProofNeed;
  /** Whether the route is only for the team that operates the service. NOT_FOUND for others. */
  readonly isForOperator?: true;
  /**
   * Schema of the query or the body. Where the schema of a value has a default, a command uses it, and a route still
   * requires the value. `title` is the option if it is not `name <name>`, or the word of an argument, and `$comment`
   * says what the form of the value is, such as `look like 2026-11`. A list is an option that can be repeated.
   */
  readonly takes?: Schema;
}

/** A sentence, an object with its members below one another, or the rows of a table. */
export type ShownPart = string | object | readonly (readonly (string | number)[])[];

interface TypedAction<Given, Answer> extends RouteTerms {
  /** A sentence for the help. */
  readonly about: string;
  readonly takes?: TypedSchema<Given>;
  /** The action of the entry that a change appends to the audit log. */
  readonly notes?: string;
  /** Throws COMMAND_REFUSED for wrong values. A command calls it before it opens the store. */
  readonly check?: (given: Given) => void;
  /** Whether only the embedded store has the action. A command is refused before it opens another store. */
  readonly isEmbedded?: true;
  /** Whether the action waits for the turn of its tenant, because it reads much. */
  readonly isLong?: true;
  readonly run: (context: ActionContext, given: Given) => Promise<Answer>;
  /** Returns the answer to a command, which takes no options then, if a route returns one page. */
  readonly runWhole?: (context: ActionContext) => Promise<Partial<Answer>>;
  /**
   * Words, such as `keys end <team> <apiID>`. The other values are options. With words such as
   * `requests <team> --id <requestID>`, the option chooses this action instead of the one before it.
   */
  readonly command?: string;
  /** The options of the example in the help. */
  readonly example?: string;
  /** Returns what --json prints after the team and the words, by default the answer. */
  readonly json?: (told: Given & Answer & { readonly teamID: string }) => object;
  /** Asks for the confirmation of a command, which --yes gives too. */
  readonly confirm?: (tenant: Tenant) => string;
  /** Whether the command ends with 1, although it has an answer. */
  readonly hasFailed?: (answer: Answer) => boolean;
  /** Returns what is printed without --json, by default the same members as with it. */
  readonly show?: (told: Given & Answer & { readonly teamID: string }, printed: object) => readonly ShownPart[];
}

/** An action, for code that does not know its types. */
export interface Action extends Omit<TypedAction<never, never>, 'takes' | 'run' | 'runWhole'> {
  readonly takes?: Schema;
  readonly runWhole?: (context: ActionContext) => Promise<unknown>;
  readonly run: (context: ActionContext, given: never) => Promise<unknown>;
}

/** Defines an action, with the types of its values and its answer. */
export const action = <Given, Answer>(terms: TypedAction<Given, Answer>): TypedAction<Given, Answer> => terms;

export const NOTHING = objectOf({});
/** The number of a delivery or an audit record. */
export const POSITION = matching('^[1-9][0-9]{0,14}$');

/** Adds the help of an option to the schema of its value. */
export const withHelp = <T>(schema: TypedSchema<T>, description: string, more: Schema = {}): TypedSchema<T> => ({
  ...schema,
  description,
  ...more,
});

/** Picks members of an object, in this order. */
export const pick = <T, Name extends keyof T>(object: T, ...names: readonly Name[]): Pick<T, Name> =>
  Object.fromEntries(names.map((name) => [name, object[name]])) as Pick<T, Name>;
