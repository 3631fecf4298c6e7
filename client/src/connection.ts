/** Explains failed connections in the words of an error message. */

/** How Node, Bun and Deno name a connection that was never made. */
const NOT_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOST|ENETUNREACH|UND_ERR_CONNECT|ConnectionRefused|FailedToOpen)|error \(Connect\)/;

/** Says whether the host was reached and why it failed. The reason is the innermost code, or message, of the fault. */
export function explainFailure(host: string, fault: unknown): string {
  const { code, message } = findReason(fault);
  const what = NOT_CONNECTED.test(code ?? message)
    ? `could not connect to ${host}`
    : `the connection to ${host} failed`;
  // Deno writes the whole URL before the reason.
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
