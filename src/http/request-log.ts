import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'

/** One line a request. The query is left out: a signed link's credential is in it. */
export function logRequests(app: FastifyInstance, log: Logger): void {
  app.addHook('onResponse', async (request, reply) => {
    log.info(
      {
        id: request.id,
        method: request.method,
        path: request.url.split('?', 1)[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        login: request.viewer?.account.login,
        from: request.ip,
      },
      'request',
    )
  })
}
