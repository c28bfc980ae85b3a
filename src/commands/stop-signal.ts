import { constants } from 'node:os'
import { UserError } from '../lib/user-error.ts'

const LONGEST_STOP_MS = 10_000

export type StopSignal = 'SIGINT' | 'SIGTERM'

/** As shells report it. */
export const exitCodeOf = (signal: StopSignal): number => 128 + constants.signals[signal]

/** Resolves at the first SIGTERM or SIGINT. From then on there are ten seconds; a second signal ends it at once. */
export function untilStopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    const onSignal = (signal: StopSignal) => {
      const end = () => process.exit(exitCodeOf(signal))
      process.once('SIGTERM', end).once('SIGINT', end)
      setTimeout(end, LONGEST_STOP_MS).unref()
      resolve(signal)
    }
    process.once('SIGTERM', () => onSignal('SIGTERM')).once('SIGINT', () => onSignal('SIGINT'))
  })
}

class Stopped extends UserError {
  override readonly exitCode: number

  constructor(by: StopSignal, message: string, cause: unknown) {
    super(message, { cause })
    this.exitCode = exitCodeOf(by)
  }
}

/** Runs to the end or the first signal, and cleans up either way. What a stop means can change on the way. */
export async function untilStopped(
  act: (signal: AbortSignal, ifStoppedNow: (words: string) => void) => Promise<void>,
  ifStopped = 'stopped; no unfinished files are left',
): Promise<void> {
  let words = ifStopped
  const stopping = new AbortController()
  let by: StopSignal | undefined
  void untilStopSignal().then((signal) => {
    by = signal
    stopping.abort()
  })
  try {
    await act(stopping.signal, (now) => {
      words = now
    })
  } catch (error) {
    throw by ? new Stopped(by, words, error) : error
  }
}
