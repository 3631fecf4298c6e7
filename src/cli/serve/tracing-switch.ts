/** Decides whether the standard variables of OpenTelemetry enable traces. Its packages read the other variables. */
import type { Environment } from '../../config.ts';
import { Refusal } from '../../errors.ts';

/** Throws COMMAND_REFUSED for a value that the service does not support. */
export function areTracesOn(environment: Environment): boolean {
  const valueOf = (name: string) => environment[name]?.trim().toLowerCase() || undefined;
  if (valueOf('OTEL_SDK_DISABLED') === 'true') return false;
  const exporter = valueOf('OTEL_TRACES_EXPORTER');
  const endpoint = valueOf('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') ?? valueOf('OTEL_EXPORTER_OTLP_ENDPOINT');
  if (exporter === 'none' || (exporter === undefined && endpoint === undefined)) return false;
  if (exporter !== undefined && exporter !== 'otlp')
    throw new Refusal('COMMAND_REFUSED', `OTEL_TRACES_EXPORTER must be otlp or none, not '${exporter}'.`);
  for (const name of ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    const protocol = valueOf(name);
    if (protocol !== undefined && protocol !== 'http/protobuf')
      throw new Refusal('COMMAND_REFUSED', `${name} must be http/protobuf, not '${protocol}'.`);
  }
  return true;
}
