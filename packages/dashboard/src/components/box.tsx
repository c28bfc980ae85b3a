import type { ReactNode } from 'react'
import styles from './box.module.css'

interface BoxProps {
  title: string
  /** Shown at the right of the title. */
  aside?: ReactNode
  children: ReactNode
}

/** A framed section with a heading. */
export function Box({ title, aside, children }: BoxProps) {
  return (
    <section className={styles.box} aria-label={title}>
      <div className={styles.head}>
        <h2 className={styles.title}>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  )
}
