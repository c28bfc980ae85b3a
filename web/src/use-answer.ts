import { useCallback, useEffect, useRef, useState } from 'react'
import { type Answer, type ReadOptions, UNCHANGED } from './api-calls.ts'
import { type Failure, failureOf, isAbort } from './failure.ts'

export interface Known<T> {
  /** The last response. It stays while a newer one is loading. */
  answer: Answer<T> | undefined
  /** Why the last request failed. */
  failure: Failure | undefined
  isLoading: boolean
  again(): void
  /** Shows the response of a change at once, before the next read. */
  take(data: T): void
}

type Read<T> = (options: ReadOptions) => Promise<Answer<T> | typeof UNCHANGED>

/** Reads a resource, and again every `everyMs` with its ETag, so that an unchanged one is not sent again. */
export function useAnswer<T>(
  read: Read<T>,
  key: string,
  everyMs: number | ((data: T) => number | null) | null = null,
): Known<T> {
  const [state, setState] = useState<{
    key: string
    answer: Answer<T> | undefined
    failure: Failure | undefined
    isLoading: boolean
  }>({ key, answer: undefined, failure: undefined, isLoading: true })
  const [turn, setTurn] = useState(0)
  const latest = useRef({ read, everyMs })
  latest.current = { read, everyMs }
  const asking = useRef<AbortController>(undefined)
  const known = useRef<{ key: string; answer: Answer<T> } | null>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: a turn asks the same again
  useEffect(() => {
    const stop = new AbortController()
    asking.current = stop
    let timer: ReturnType<typeof setTimeout> | undefined
    if (known.current?.key !== key) known.current = null
    setState((last) => ({
      key,
      answer: last.key === key ? last.answer : undefined,
      failure: undefined,
      isLoading: true,
    }))

    function askLater(): void {
      const pause = pauseOf(latest.current.everyMs, known.current?.answer.data)
      // A hidden tab does not poll.
      if (pause !== null) timer = setTimeout(() => (document.hidden ? askLater() : ask()), pause)
    }

    async function ask(): Promise<void> {
      const { read } = latest.current
      try {
        const etag = known.current?.answer.etag
        const answer = await read({ signal: stop.signal, etag })
        if (stop.signal.aborted) return
        if (answer !== UNCHANGED) known.current = { key, answer }
        const { answer: now } = known.current ?? {}
        setState({ key, answer: now, failure: undefined, isLoading: false })
      } catch (error) {
        if (stop.signal.aborted || isAbort(error)) return
        const failure = failureOf(error)
        setState({ key, answer: known.current?.answer, failure, isLoading: false })
      }
      askLater()
    }
    void ask()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [key, turn])

  const again = useCallback(() => setTurn((n) => n + 1), [])
  const take = useCallback(
    (data: T) => {
      // A pending response may be older than this data.
      asking.current?.abort()
      const answer = { data, etag: undefined, total: Number.NaN }
      known.current = { key, answer }
      setState({ key, answer, failure: undefined, isLoading: true })
      again()
    },
    [key, again],
  )
  return { ...state, again, take }
}

function pauseOf<T>(
  everyMs: number | ((data: T) => number | null) | null,
  data: T | undefined,
): number | null {
  if (typeof everyMs !== 'function') return everyMs
  return data === undefined ? RETRY_MS : everyMs(data)
}

const RETRY_MS = 5000
