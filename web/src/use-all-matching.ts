import { useEffect, useState } from 'react'
import { announce } from './parts/announcements.tsx'
import { counted } from './quantities.ts'
import { useSignedIn } from './session.tsx'
import { isAbort, type Trouble, troubleOf } from './trouble.ts'

/** However many match, all their names: page after page, while the button shows that it is at work. */
export function useAllMatching(
  q: string,
  chosen: ReadonlySet<string>,
  onChange: (chosen: ReadonlySet<string>) => void,
) {
  const { api } = useSignedIn()
  const [asking, setAsking] = useState<AbortController>()
  const [trouble, setTrouble] = useState<Trouble>()
  useEffect(() => () => asking?.abort(), [asking])
  async function choose(): Promise<void> {
    const stop = new AbortController()
    setAsking(stop)
    setTrouble(undefined)
    try {
      const names = await api.repositoryNames(q, stop.signal)
      onChange(new Set([...chosen, ...names]))
      announce(`${counted(names.length, 'repository', 'repositories')} chosen`)
    } catch (error) {
      if (!isAbort(error)) setTrouble(troubleOf(error))
    } finally {
      setAsking(undefined)
    }
  }
  return { choose: () => void choose(), isLoading: asking !== undefined, trouble }
}
