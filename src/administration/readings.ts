/** The readings of a node: the page Operate shows some of them, and /metrics all. */

/** Readings in seconds, bytes and counts since the start. A reading that does not exist on this node is undefined. */
export interface Readings {
  readonly ready: boolean;
  /** Whether the store responds. */
  readonly usable: boolean;
  readonly inFlight: { readonly calls: number; readonly most: number };
  /** Calls that wait for a change. */
  readonly waiting: number;
  /** Requests refused with SERVICE_BUSY. */
  readonly refused: number;
  readonly connectionsEnded: Readonly<Record<string, number>>;
  /** Groups of counts that the store did not accept. */
  readonly meteringFailures: number;
  readonly requestLog: {
    readonly waiting: number;
    readonly isStopped: boolean;
    readonly dropped: number;
    readonly beyondRate: number;
  };
  readonly store: {
    readonly queries: { readonly running: number; readonly waiting: number };
    readonly pools?: Readonly<Record<string, PoolReading>>;
    readonly logBytes?: Readonly<Record<string, number>>;
    readonly openTenants?: number;
    readonly apartTenants?: number;
  };
  /** Readings of the node that sends webhooks; zeros on the other nodes. */
  readonly webhooks: { readonly lagSeconds: number; readonly failures: number; readonly paused: number };
  readonly disk?: DiskReading | undefined;
  readonly backup?: BackupReading | undefined;
}

export interface PoolReading {
  readonly size: number;
  readonly inUse: number;
  readonly waiting: number;
}

interface DiskReading {
  readonly freeBytes: number;
  readonly sizeBytes: number;
  /** The free bytes below which the request log stops. */
  readonly lowBytes: number;
}

interface BackupReading {
  readonly everySeconds: number;
  /** End of the last verified backup, in seconds since 1970; 0 if none is known. */
  readonly lastSuccessSeconds: number;
  readonly failures: number;
  readonly isRunning: boolean;
}
