/**
 * One operation that the user tries: the input, the call, and the response.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, callOperation, type OperationAnswer } from '../../api/client.ts';
import { toApiError } from '../../api/use-load.ts';
import { announce } from '../../ui/toaster.tsx';
import { IDEMPOTENCY_KEY, TEAM, type ExplorerOperation } from './contract.ts';

const KEY_FORM = /^[!-~]{1,255}$/;
const HEADER_FORM = /^[ -~]*$/;

export interface CallInput {
  /** Values by parameter name. Empty ones are not sent. */
  readonly query: Readonly<Record<string, string>>;
  /** Values by header name. Empty ones are not sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
export interface ExplorerCall {
  readonly input: CallInput;
  readonly change: (change: Partial<CallInput>) => void;
  /** Throws an ApiError that names the field when a value cannot be sent. */
  readonly send: () => Promise<void>;
  /** Requests the next page: the same call with the cursor of the response. */
  readonly sendNext: (cursor: string) => void;
  readonly isSending: boolean;
  readonly answer: OperationAnswer | undefined;
  /** The reason for a missing response. */
  readonly error: ApiError | undefined;
}

const firstInput = ({ parameters, body }: ExplorerOperation): CallInput => ({
  query: Object.fromEntries(
    parameters
      .filter(({ name, place }) => place === 'query' && name !== TEAM)
      // eslint-disable-next-line typescript/no-base-to-string -- values of a query are texts or numbers
      .map(({ name, example }) => [name, String(example ?? '')]),
  ),
  headers: {},
  body: body?.example ?? '',
});

export function useCall(operation: ExplorerOperation): ExplorerCall {
  const [input, setInput] = useState(() => firstInput(operation));
  const [outcome, setOutcome] = useState<{ answer?: OperationAnswer; error?: ApiError }>({});
  const [isSending, setSending] = useState(false);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const run = async (sent: CallInput) => {
    if (running.current !== undefined) return;
    const controller = new AbortController();
    running.current = controller;
    setSending(true);
    const found = await sendCall(operation, sent, controller.signal);
    if (controller.signal.aborted) return;
    running.current = undefined;
    setSending(false);
    setOutcome(found);
    announce(found.answer === undefined ? 'No response' : `Status ${found.answer.status}`);
  };
  return {
    input,
    change: (change) => setInput((before) => ({ ...before, ...change })),
    send: async () => {
      refuseUnsendable(operation, input);
      await run(input);
    },
    sendNext: (cursor) => {
      const next = { ...input, query: { ...input.query, cursor } };
      setInput(next);
      void run(next);
    },
    isSending,
    answer: outcome.answer,
    error: outcome.error,
  };
}

/** Returns the headers with a value. */
export const headersOf = ({ headers }: CallInput): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));

/** Returns the browser's message, with the position, if a text is not JSON. */
export function findJsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (fault) {
    return `${(fault as SyntaxError).message}.`;
  }
}

function refuseUnsendable({ body }: ExplorerOperation, input: CallInput): void {
  const fault = body && findJsonFault(input.body);
  if (fault !== undefined) throw new ApiError('INVALID_JSON', fault, 0, { field: 'body' });
  for (const [name, value] of Object.entries(headersOf(input))) {
    if (name === IDEMPOTENCY_KEY && !KEY_FORM.test(value))
      throw new ApiError('INVALID_IDEMPOTENCY_KEY', 'Use 1 to 255 printable ASCII characters, without spaces.', 0, {
        field: name,
      });
    if (!HEADER_FORM.test(value))
      throw new ApiError('INVALID_PARAMETER', 'Use printable ASCII characters only.', 0, { field: name });
  }
}

async function sendCall(
  { method, path, body }: ExplorerOperation,
  input: CallInput,
  signal: AbortSignal,
): Promise<{ answer?: OperationAnswer; error?: ApiError }> {
  const options = { signal, headers: headersOf(input) };
  try {
    return { answer: await callOperation('/explorer', method, path, input.query, body && input.body, options) };
  } catch (fault) {
    return { error: toApiError(fault) };
  }
}
