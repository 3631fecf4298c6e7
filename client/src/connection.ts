/** Explains failed connections for an error message. */

/** The codes with which Node, Bun and Deno report that a connection was never made. */
const NOT_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENETUNREACH|UND_ERR_CONNECT|ConnectionRefused|FailedToOpen)|error \(Connect\)/;

/**
 * Describes the failure: whether a connection was made, and the innermost code of the fault, or else its innermost
 * message.
 */
export function explainFailure(host: string, fault: unknown): string {
  const { code, message } = findReason(fault);
  const what = NOT_CONNECTED.test(code ?? message)
    ? `could not connect to ${host}`
    : `the connection to ${host} failed`;
  // Deno writes the complete URL before the reason.
  return `${what} (${code ?? message.split('): ').at(-1)})`;
}

function findReason(fault: unknown): { code: string | undefined; message: string } {
  let code: string | undefined;
  let message = '';
  for (let cause = fault; typeof cause === 'object' && cause !== null; cause = (cause as { cause?: unknown }).cause) {
    const inner = cause as { code?: unknown; message?: unknown };
    if (typeof inner.code === 'string') code = inner.code;
    message = String(inner.message);
  }
  return { code, message };
}
