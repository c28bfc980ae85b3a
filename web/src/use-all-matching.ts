import { type Dispatch, type SetStateAction, useEffect, useState } from 'react'
import { type Failure, failureOf, isAbort } from './failure.ts'
import { announce } from './parts/announcements.tsx'
import { counted } from './quantities.ts'
import { useSignedIn } from './session.tsx'

/** What is chosen may change while something is awaited, so a change says what to do with it as it then is. */
export type ChangeChosen = Dispatch<SetStateAction<ReadonlySet<string>>>

/** However many match, all their names: page after page, while the button shows that it is at work. */
export function useAllMatching(q: string, onChange: ChangeChosen) {
  const { api } = useSignedIn()
  const [asking, setAsking] = useState<AbortController>()
  const [failure, setFailure] = useState<Failure>()
  useEffect(() => () => asking?.abort(), [asking])
  async function choose(): Promise<void> {
    const stop = new AbortController()
    setAsking(stop)
    setFailure(undefined)
    try {
      const names = await api.repositoryNames(q, stop.signal)
      onChange((chosen) => new Set([...chosen, ...names]))
      announce(`${counted(names.length, 'repository', 'repositories')} selected`)
    } catch (error) {
      if (!isAbort(error)) setFailure(failureOf(error))
    } finally {
      setAsking(undefined)
    }
  }
  return { choose: () => void choose(), isLoading: asking !== undefined, failure }
}
