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
interface Outcome {
  readonly answer?: OperationAnswer;
  /** The reason for a missing response. */
  readonly error?: ApiError;
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

export type ExplorerCall = ReturnType<typeof useCall>;
export function useCall(operation: ExplorerOperation) {
  const [input, setInput] = useState(() => firstInput(operation));
  const [outcome, setOutcome] = useState<Outcome>({});
  const [isSending, setSending] = useState(false);
  const running = useRef<AbortController>(undefined);
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
    change: (change: Partial<CallInput>) => setInput((before) => ({ ...before, ...change })),
    /** Sends the call. Throws an ApiError that names the field when a value cannot be sent. */
    send: async () => {
      refuseUnsendable(operation, input);
      await run(input);
    },
    /** Requests the next page: the same call with the cursor of the response. */
    sendNext: (cursor: string) => {
      const next = { ...input, query: { ...input.query, cursor } };
      setInput(next);
      void run(next);
    },
    isSending,
    ...outcome,
  };
}

export const headersOf = ({ headers }: CallInput): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));

/** Returns the browser's message, with the position, if a text is not JSON. */
export function findJsonFault(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (fault) {
    return `The body is not valid JSON: ${(fault as SyntaxError).message}. Correct it.`;
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
): Promise<Outcome> {
  const options = { signal, headers: headersOf(input) };
  try {
    return { answer: await callOperation('/explorer', method, path, input.query, body && input.body, options) };
  } catch (fault) {
    return { error: toApiError(fault) };
  }
}
