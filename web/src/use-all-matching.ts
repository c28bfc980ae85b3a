import { useEffect, useState } from 'react'
import { type Failure, failureOf, isAbort } from './failure.ts'
import { announce } from './parts/announcements.tsx'
import { counted } from './quantities.ts'
import { useSignedIn } from './session.tsx'

/** However many match, all their names: page after page, while the button shows that it is at work. */
export function useAllMatching(
  q: string,
  chosen: ReadonlySet<string>,
  onChange: (chosen: ReadonlySet<string>) => void,
) {
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
      onChange(new Set([...chosen, ...names]))
      announce(`${counted(names.length, 'repository', 'repositories')} selected`)
    } catch (error) {
      if (!isAbort(error)) setFailure(failureOf(error))
    } finally {
      setAsking(undefined)
    }
  }
  return { choose: () => void choose(), isLoading: asking !== undefined, failure }
}
