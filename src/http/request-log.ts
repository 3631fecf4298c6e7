/**
 * Hands every counted call to the tenant's request log once it was answered, without the credentials it came with. Decides nothing about what is kept.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RequestLog } from '../tenant/request-log.ts';
import { PARAMETERS } from './authenticate.ts';

type Parameters = Readonly<Record<string, unknown>>;

export function addRequestLog(app: FastifyInstance, log: RequestLog): void {
  app.addHook('onResponse', (request, reply, done) => {
    if (request.counted) {
      const { refusal, signedIn } = request;
      const query = request.query as Parameters;
      log.record({
        requestId: request.id,
        at: request.now,
        teamId: request.tenant!.teamId,
        operation: request.operation!,
        httpStatus: reply.statusCode,
        milliseconds: reply.elapsedTime,
        client: request.ip,
        apiId: signedIn ? null : request.apiId,
        explorerUser: signedIn ? signedIn.user.email : null,
        isUrlCredential: query['apiSecret'] !== undefined && !signedIn,
        code: refusal?.code ?? null,
        field: refusal?.field ?? null,
        message: refusal?.message ?? null,
        query: withoutCredentials(query),
        body: writeBody(request),
      });
    }
    done();
  });
}

function withoutCredentials(query: Parameters): Record<string, string> {
  const kept = Object.create(null) as Record<string, string>; // in {} a parameter named __proto__ would be lost
  for (const name in query) if (!PARAMETERS.some((parameter) => parameter === name)) kept[name] = String(query[name]);
  return kept;
}

/** Credentials have been taken out of it. A body that could not be read is not there. */
const writeBody = ({ method, body }: FastifyRequest): string | null => (method === 'GET' || body === undefined ? null : JSON.stringify(body));
