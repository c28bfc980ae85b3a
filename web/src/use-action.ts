import { useState } from 'react'
import { type Failure, failureOf } from './failure.ts'

/** Returns a function that runs what a button does, whether it is running, and why it failed the last time. `run` never rejects. */
export function useAction() {
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  async function run(act: () => Promise<unknown>): Promise<void> {
    setBusy(true)
    setFailure(undefined)
    try {
      await act()
    } catch (error) {
      setFailure(failureOf(error))
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, failure, setFailure, run }
}
