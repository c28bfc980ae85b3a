const LONGEST_STOP_MS = 10_000

/** Resolves at the first SIGTERM or SIGINT. From then on there are ten seconds; a second signal ends it at once. */
export function untilStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const onSignal = () => {
      process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1))
      setTimeout(() => process.exit(1), LONGEST_STOP_MS).unref()
      resolve()
    }
    process.once('SIGTERM', onSignal).once('SIGINT', onSignal)
  })
}
