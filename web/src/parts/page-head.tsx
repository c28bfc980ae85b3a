import { ArrowLeftIcon } from '@primer/octicons-react'
import { type ReactNode, useEffect } from 'react'
import styles from './page-head.module.css'

interface PageHeadProps {
  title: string
  /** Beside the title. */
  mark?: ReactNode
  /** Above the title: the way back. */
  back?: { href: string; text: string }
  about?: ReactNode
  actions?: ReactNode
}

/** The title, for the page and for the tab, and what can be done. */
export function PageHead({ title, mark, back, about, actions }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · Godwit`
  }, [title])
  return (
    <div className={styles.head}>
      <div className={styles.words}>
        {back && (
          <nav aria-label="Back" className={styles.back}>
            <a href={back.href}>
              <ArrowLeftIcon /> {back.text}
            </a>
          </nav>
        )}
        <div className={styles.titleLine}>
          <h1 className={styles.title}>{title}</h1>
          {mark}
        </div>
        {about && <div className={styles.about}>{about}</div>}
      </div>
      {actions && <div className={styles.actions}>{actions}</div>}
    </div>
  )
}
