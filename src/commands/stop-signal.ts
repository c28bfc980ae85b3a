import { constants } from 'node:os'
import { UserError } from '../lib/user-error.ts'

const STOP_TIMEOUT_MS = 10_000

export type StopSignal = 'SIGINT' | 'SIGTERM'

/** The exit code that shells report for a signal. */
export const exitCodeOf = (signal: StopSignal): number => 128 + constants.signals[signal]

/** Resolves at the first SIGTERM or SIGINT. The process is ended 10 seconds later, or at a second signal. */
export function untilStopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    const onSignal = (signal: StopSignal) => {
      const end = () => process.exit(exitCodeOf(signal))
      process.once('SIGTERM', end).once('SIGINT', end)
      setTimeout(end, STOP_TIMEOUT_MS).unref()
      resolve(signal)
    }
    process.once('SIGTERM', () => onSignal('SIGTERM')).once('SIGINT', () => onSignal('SIGINT'))
  })
}

class Stopped extends UserError {
  override readonly exitCode: number

  constructor(signal: StopSignal, message: string, cause: unknown) {
    super(message, { cause })
    this.exitCode = exitCodeOf(signal)
  }
}

/** Runs `act`, and aborts it at the first stop signal. `setStopMessage` changes the message for a user who stops it. */
export async function runUntilStopped(
  act: (signal: AbortSignal, setStopMessage: (message: string) => void) => Promise<void>,
  stopMessage = 'stopped; no unfinished files are left',
): Promise<void> {
  let message = stopMessage
  const stopping = new AbortController()
  let stoppedBy: StopSignal | undefined
  void untilStopSignal().then((signal) => {
    stoppedBy = signal
    stopping.abort()
  })
  try {
    await act(stopping.signal, (newMessage) => {
      message = newMessage
    })
  } catch (error) {
    throw stoppedBy ? new Stopped(stoppedBy, message, error) : error
  }
}
