import { useCallback, useEffect, useRef, useState } from 'react'
import { type ApiResponse, type ReadOptions, UNCHANGED } from './api-calls.ts'
import { type Failure, failureOf, isAbort } from './failure.ts'

export interface Resource<T> {
  /** The last response. It stays while a newer one is loading. */
  response: ApiResponse<T> | undefined
  /** Why the last request failed. */
  failure: Failure | undefined
  isLoading: boolean
  refresh(): void
  /** Shows the response of a change at once, before the next read. */
  set(data: T): void
}

type Read<T> = (options: ReadOptions) => Promise<ApiResponse<T> | typeof UNCHANGED>

/** Reads a resource, and again every `everyMs` with its ETag, so that an unchanged one is not sent again. */
export function useResource<T>(
  read: Read<T>,
  key: string,
  everyMs: number | ((data: T) => number | null) | null = null,
): Resource<T> {
  const [state, setState] = useState<{
    key: string
    response: ApiResponse<T> | undefined
    failure: Failure | undefined
    isLoading: boolean
  }>({ key, response: undefined, failure: undefined, isLoading: true })
  const [reads, setReads] = useState(0)
  const latest = useRef({ read, everyMs })
  latest.current = { read, everyMs }
  const pending = useRef<AbortController>(undefined)
  const known = useRef<{ key: string; response: ApiResponse<T> } | null>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `reads` reads the same resource again
  useEffect(() => {
    const stop = new AbortController()
    pending.current = stop
    let timer: ReturnType<typeof setTimeout> | undefined
    if (known.current?.key !== key) known.current = null
    setState((last) => ({
      key,
      response: last.key === key ? last.response : undefined,
      failure: undefined,
      isLoading: true,
    }))

    function loadLater(): void {
      const pause = pauseOf(latest.current.everyMs, known.current?.response.data)
      // A hidden tab does not poll.
      if (pause !== null) timer = setTimeout(() => (document.hidden ? loadLater() : load()), pause)
    }

    async function load(): Promise<void> {
      const { read } = latest.current
      try {
        const etag = known.current?.response.etag
        const response = await read({ signal: stop.signal, etag })
        if (stop.signal.aborted) return
        if (response !== UNCHANGED) known.current = { key, response }
        const { response: latestResponse } = known.current ?? {}
        setState({ key, response: latestResponse, failure: undefined, isLoading: false })
      } catch (error) {
        if (stop.signal.aborted || isAbort(error)) return
        const failure = failureOf(error)
        setState({ key, response: known.current?.response, failure, isLoading: false })
      }
      loadLater()
    }
    void load()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [key, reads])

  const refresh = useCallback(() => setReads((n) => n + 1), [])
  const set = useCallback(
    (data: T) => {
      // A pending response may be older than this data.
      pending.current?.abort()
      const response = { data, etag: undefined, total: Number.NaN }
      known.current = { key, response }
      setState({ key, response, failure: undefined, isLoading: true })
      refresh()
    },
    [key, refresh],
  )
  return { ...state, refresh, set }
}

function pauseOf<T>(
  everyMs: number | ((data: T) => number | null) | null,
  data: T | undefined,
): number | null {
  if (typeof everyMs !== 'function') return everyMs
  return data === undefined ? RETRY_MS : everyMs(data)
}

const RETRY_MS = 5000
