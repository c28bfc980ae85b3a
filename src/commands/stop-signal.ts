import { constants } from 'node:os'

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
