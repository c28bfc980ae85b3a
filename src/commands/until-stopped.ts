import { UserMistake } from '../user-mistake.ts'
import { exitCodeOf, type StopSignal, untilStopSignal } from './stop-signal.ts'

class Stopped extends UserMistake {
  override readonly exitCode: number

  constructor(by: StopSignal, message: string, cause: unknown) {
    super(message, { cause })
    this.exitCode = exitCodeOf(by)
  }
}

/** Runs to the end or the first signal, and cleans up either way. */
export async function untilStopped(
  act: (signal: AbortSignal) => Promise<void>,
  whenStopped = 'stopped; no unfinished files are left',
): Promise<void> {
  const stopping = new AbortController()
  let by: StopSignal | undefined
  void untilStopSignal().then((signal) => {
    by = signal
    stopping.abort()
  })
  try {
    await act(stopping.signal)
  } catch (error) {
    throw by ? new Stopped(by, whenStopped, error) : error
  }
}
