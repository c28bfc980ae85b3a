import { type Logger, symbols } from 'pino'
import type { NoteAnswered } from './answered.ts'

const STRAY_TOKEN = /gwt_[0-9A-Za-z]+/g

/**
 * One line a request. The query is left out, a signed link's credential is in it; so is a token that strayed into a path.
 * Every request pays for its line: put together here, where its members are known, it costs a quarter.
 */
export function requestLog(log: Logger): NoteAnswered {
  const { [symbols.streamSym]: stream, [symbols.timeSym]: time } = log as unknown as Insides
  return ({ id, method, url, status, ms, login, ip }) => {
    if (!log.isLevelEnabled('info')) return
    const path = JSON.stringify(withoutSecrets(url))
    const who = login === undefined ? '' : `,"login":"${login}"`
    stream.write(
      `{"level":30${time()},"id":"${id}","method":"${method}","path":${path},"status":${status},"ms":${Math.round(ms)}${who},"from":"${ip}","msg":"request"}\n`,
    )
  }
}

interface Insides {
  [symbols.streamSym]: { write(line: string): void }
  /** `,"time":"…"` */
  [symbols.timeSym](): string
}

function withoutSecrets(url: string): string {
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  return path.includes('gwt_') ? path.replaceAll(STRAY_TOKEN, '[hidden]') : path
}
