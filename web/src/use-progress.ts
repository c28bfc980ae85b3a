import { useEffect, useRef, useState } from 'react'
import type { Api } from './api.ts'
import { type Connection, followProgress } from './follow-progress.ts'
import type { Trouble } from './trouble.ts'
import { isUnfinished, type Progress } from './wire.ts'

interface Followed {
  progress: Progress | undefined
  connection: Connection
  trouble: Trouble | undefined
}

/** A migration's progress for as long as it is looked at; `onEnd` when it ends before one's eyes. */
export function useProgress(api: Api, id: number, onEnd: (progress: Progress) => void): Followed {
  const [progress, setProgress] = useState<Progress>()
  const [connection, setConnection] = useState<Connection>('connecting')
  const [trouble, setTrouble] = useState<Trouble>()
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
      onTrouble: setTrouble,
    }
    void followProgress(api, id, listener, stop.signal)
    return () => stop.abort()
  }, [api, id])
  return { progress, connection, trouble }
}
