import { useSyncExternalStore } from 'react'
import { formatRelativeTime } from '../quantities.ts'

const TICK_MS = 10_000
let ticks = 0
const watchers = new Set<() => void>()
let ticking: ReturnType<typeof setInterval> | undefined

function subscribe(onChange: () => void): () => void {
  watchers.add(onChange)
  ticking ??= setInterval(() => {
    ticks += 1
    for (const watcher of watchers) watcher()
  }, TICK_MS)
  return () => {
    watchers.delete(onChange)
    if (watchers.size > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
}

const readTicks = () => ticks

const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })

/** A relative time such as `3 hours ago`, which is updated, with the exact time as its title. */
export function Moment({ at }: { at: string }) {
  useSyncExternalStore(subscribe, readTicks)
  const date = new Date(at)
  return (
    <time dateTime={at} title={exact.format(date)}>
      {formatRelativeTime(date, Date.now())}
    </time>
  )
}
