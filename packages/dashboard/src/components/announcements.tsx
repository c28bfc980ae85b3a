import { useEffect, useState } from 'react'
import styles from './announcements.module.css'

const spoken = new EventTarget()

/** Announces a change to screen readers, politely. */
export function announce(text: string): void {
  spoken.dispatchEvent(new CustomEvent('say', { detail: text }))
}

export function Announcements() {
  const [text, setText] = useState('')
  useEffect(() => {
    const say = (event: Event) => setText((event as CustomEvent<string>).detail)
    spoken.addEventListener('say', say)
    return () => spoken.removeEventListener('say', say)
  }, [])
  return (
    <div role="status" aria-live="polite" className={styles.unseen}>
      {text}
    </div>
  )
}

/** Text for screen readers only. */
export function ScreenReaderText({ children }: { children: React.ReactNode }) {
  return <span className={styles.unseen}>{children}</span>
}
