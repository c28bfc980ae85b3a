import { useEffect, useRef, useState } from 'react'
import type { Api } from './api.ts'
import type { Failure } from './failure.ts'
import { type Connection, followProgress } from './follow-progress.ts'
import { isUnfinished, type Progress } from './wire.ts'

interface Followed {
  progress: Progress | undefined
  connection: Connection
  failure: Failure | undefined
}

/** A migration's progress for as long as it is looked at; `onEnd` when it ends before one's eyes. */
export function useProgress(api: Api, id: number, onEnd: (progress: Progress) => void): Followed {
  const [progress, setProgress] = useState<Progress>()
  const [connection, setConnection] = useState<Connection>('connecting')
  const [failure, setFailure] = useState<Failure>()
  const end = useRef(onEnd)
  end.current = onEnd
  useEffect(() => {
    const stop = new AbortController()
    let wasUnfinished = false
    const listener = {
      onProgress(now: Progress) {
        setProgress(now)
        if (wasUnfinished && !isUnfinished(now.state)) end.current(now)
        wasUnfinished = isUnfinished(now.state)
      },
      onConnection: setConnection,
      onFailure: setFailure,
    }
    void followProgress(api, id, listener, stop.signal)
    return () => stop.abort()
  }, [api, id])
  return { progress, connection, failure }
}
