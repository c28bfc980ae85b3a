import { useSyncExternalStore } from 'react'
import { formatRelativeTime } from '../quantities.ts'

const TICK_MS = 10_000
let now = Date.now()
const watchers = new Set<() => void>()
let ticking: ReturnType<typeof setInterval> | undefined

function subscribe(onChange: () => void): () => void {
  watchers.add(onChange)
  ticking ??= setInterval(() => {
    now = Date.now()
    for (const watcher of watchers) watcher()
  }, TICK_MS)
  return () => {
    watchers.delete(onChange)
    if (watchers.size > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
}

const readNow = () => {
  if (!ticking) now = Date.now()
  return now
}

const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })

/** A relative time such as `3 hours ago`, which is updated, with the exact time as its title. */
export function Moment({ at }: { at: string }) {
  const current = useSyncExternalStore(subscribe, readNow)
  const date = new Date(at)
  return (
    <time dateTime={at} title={exact.format(date)}>
      {formatRelativeTime(date, Math.max(current, Date.now() - TICK_MS))}
    </time>
  )
}
