import { useRef, useState } from 'react'
import { type Failure, failureOf } from './failure.ts'

export type Action = ReturnType<typeof useAction>

/**
 * Returns a function that runs what a button does, whether it is running, and why it failed the last time. `run` never rejects, and does
 * nothing while an earlier call is running: a double click submits a form twice before it is rendered again.
 */
export function useAction() {
  const isRunning = useRef(false)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  async function run(act: () => Promise<unknown>): Promise<void> {
    if (isRunning.current) return
    isRunning.current = true
    setBusy(true)
    setFailure(undefined)
    try {
      await act()
    } catch (error) {
      setFailure(failureOf(error))
    } finally {
      isRunning.current = false
      setBusy(false)
    }
  }
  return { isBusy, failure, setFailure, run }
}
