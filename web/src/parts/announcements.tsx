import { useEffect, useState } from 'react'
import styles from './announcements.module.css'

const spoken = new EventTarget()

/** Says it to whoever cannot see the page change, when they are done with what they are hearing. */
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

/** Text for screen readers alone. */
export function Unseen({ children }: { children: React.ReactNode }) {
  return <span className={styles.unseen}>{children}</span>
}
