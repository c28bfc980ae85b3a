/**
 * Browsers open at most six connections to a server over HTTP/1.1, and an event stream keeps one. So only one tab has a stream: the one
 * that was opened or shown last. The others poll.
 */
export interface StreamTurn {
  /** Is aborted when another tab takes the turn; undefined while another tab has it. */
  signal(): AbortSignal | undefined
  /** Waits until this tab has the turn again, at most for this time. */
  untilTaken(ms: number): Promise<void>
}

const CHANNEL = 'godwit.stream'

/** Takes the turn, now and whenever this tab is shown, until the signal is aborted. */
export function takeStreamTurns(signal: AbortSignal): StreamTurn {
  const channel = new BroadcastChannel(CHANNEL)
  const taken = new EventTarget()
  let turn: AbortController | undefined
  function take(): void {
    if (turn || document.hidden) return
    turn = new AbortController()
    channel.postMessage('taken')
    taken.dispatchEvent(new Event('taken'))
  }
  channel.addEventListener('message', () => {
    turn?.abort()
    turn = undefined
  })
  addEventListener('focus', take, { signal })
  document.addEventListener('visibilitychange', take, { signal })
  signal.addEventListener('abort', () => channel.close())
  take()
  return {
    signal: () => turn?.signal,
    untilTaken: (ms) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer)
          resolve()
        }
        const timer = setTimeout(done, ms)
        taken.addEventListener('taken', done, { once: true })
        signal.addEventListener('abort', done, { once: true })
      }),
  }
}
