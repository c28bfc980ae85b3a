import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'

const STRAY_TOKEN = /gwt_[0-9A-Za-z]+/g

/** One line a request. The query is left out, a signed link's credential is in it; so is a token that strayed into a path. */
export function logRequests(app: FastifyInstance, log: Logger): void {
  app.addHook('onResponse', (request, reply, done) => {
    log.info(
      {
        id: request.id,
        method: request.method,
        path: request.url.split('?', 1)[0]!.replaceAll(STRAY_TOKEN, '[hidden]'),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        login: request.viewer?.account.login,
        from: request.ip,
      },
      'request',
    )
    done()
  })
}
