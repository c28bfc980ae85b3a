import type { onResponseHookHandler } from 'fastify'
import type { Logger } from 'pino'

/** Matches Godwit's access tokens and clone tokens, and the tokens of Gitea and Forgejo, which look like commit hashes. */
const TOKEN = /gw[tc]_[\w-]+|[0-9a-f]{40,}/gi
const MIN_FORGE_TOKEN_LENGTH = 40

/** Logs one line for each request. Omits the query, because that of a signed link is a credential, and hides tokens in the path. */
export function requestLog(log: Logger): onResponseHookHandler {
  return ({ id, method, url, viewer, ip }, { statusCode: status, elapsedTime }, done) => {
    const path = pathWithoutSecrets(url)
    const ms = Math.round(elapsedTime)
    log.info({ id, method, path, status, ms, login: viewer?.account.login, from: ip }, 'request')
    done()
  }
}

function pathWithoutSecrets(url: string): string {
  const [path = ''] = url.split('?', 1)
  const mayHaveToken = path.length > MIN_FORGE_TOKEN_LENGTH || /gw[tc]_/i.test(path)
  return mayHaveToken ? path.replaceAll(TOKEN, '[hidden]') : path
}
