import { constants } from 'node:os'
import { UserError } from '@godwit/lib/user-error'

const STOP_TIMEOUT_MS = 10_000

type StopSignal = 'SIGINT' | 'SIGTERM'

/** The exit code that shells report for a signal. */
const exitCodeOf = (signal: StopSignal): number => 128 + constants.signals[signal]

/** Resolves at the first SIGTERM or SIGINT. If the process is still running after 10 seconds, or at a second signal, it exits. */
export function untilStopSignal(): Promise<StopSignal> {
  return new Promise((resolve) => {
    const onSignal = (signal: StopSignal) => {
      const exit = () => process.exit(exitCodeOf(signal))
      process.once('SIGTERM', exit).once('SIGINT', exit)
      setTimeout(exit, STOP_TIMEOUT_MS).unref()
      resolve(signal)
    }
    process.once('SIGTERM', () => onSignal('SIGTERM')).once('SIGINT', () => onSignal('SIGINT'))
  })
}

/** Returns the action of a command that can be stopped: `act` gets a signal before the arguments; see `runUntilStopped`. */
export const stoppable =
  <A extends unknown[]>(
    act: (signal: AbortSignal, ...args: A) => Promise<void>,
    stopMessage?: string,
  ) =>
  (...args: A): Promise<void> =>
    runUntilStopped((signal) => act(signal, ...args), stopMessage)

/**
 * Runs `run`, and aborts its signal at the first SIGTERM or SIGINT. If `run` rejects after that, throws a UserError with the stop message,
 * which `run` can replace with `setStopMessage`.
 */
export async function runUntilStopped(
  run: (signal: AbortSignal, setStopMessage: (message: string) => void) => Promise<void>,
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
    await run(stopping.signal, (newMessage) => {
      message = newMessage
    })
  } catch (error) {
    if (!stoppedBy) throw error
    throw new UserError(message, { cause: error, exitCode: exitCodeOf(stoppedBy) })
  }
}
