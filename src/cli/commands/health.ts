/** `storeroom health`: asks the running service whether it is well, for health checks of containers and of systemd. */
import { InvalidArgumentError, type Command } from 'commander';
import { parseConfig } from '../../config.ts';
import { addCommand, printAnswer, type CommandContext, type CommandOptions } from '../command.ts';
import { formatOrigin } from '../service-address.ts';

const ANSWER_MS = 3000;
const LOOK_MS = 200;
const WAIT_SECONDS_MAX = 3600;

interface HealthOptions extends CommandOptions {
  readonly ready?: true;
  /** Seconds. */
  readonly wait: number;
}

export function addHealthCommand(program: Command, context: CommandContext): void {
  addCommand(program, 'health', 'health --ready --wait 30')
    .description('Ask the service of this machine whether it is well. Exits with 0 if it is, with 1 if not.')
    .option('--ready', 'ask /readyz, whether it takes calls, instead of /healthz')
    .option('--wait <seconds>', 'how long to go on asking until it is', parseSeconds, 0)
    .action(async ({ ready, wait, ...options }: HealthOptions) => {
      const { config } = parseConfig(context.environment, {});
      const url = `${formatOrigin(config.host, config.port)}/${ready ? 'readyz' : 'healthz'}`;
      const { elapsed, sleep } = context.clock;
      const giveUpAt = elapsed() + wait * 1000;
      let fault = await findFault(url);
      while (fault !== undefined && elapsed() < giveUpAt) {
        await sleep(LOOK_MS);
        fault = await findFault(url);
      }
      if (fault !== undefined) context.exitCode = 1;
      printAnswer(options, { url, ok: fault === undefined, answer: fault }, `${url}: ${fault ?? 'ok'}`);
    });
}

/** What is wrong, in words; undefined when the answer is 200. */
async function findFault(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    const text = await response.text();
    return response.ok ? undefined : `${response.status} ${text}`;
  } catch (fault) {
    const { message, cause } = fault as Error & { cause?: { code?: string } };
    return `no answer (${cause?.code ?? message})`;
  }
}

function parseSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) > WAIT_SECONDS_MAX)
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${WAIT_SECONDS_MAX}.`);
  return Number(text);
}
