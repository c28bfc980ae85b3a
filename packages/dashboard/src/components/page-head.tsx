import { ArrowLeftIcon } from '@primer/octicons-react'
import { Button } from '@primer/react'
import { type ReactNode, useEffect } from 'react'
import styles from './page-head.module.css'

interface PageHeadProps {
  title: string
  /** The title of the browser tab, if it differs. */
  tabTitle?: string
  /** Shown beside the title. */
  mark?: ReactNode
  /** A link above the title. */
  back?: { href: string; text: string }
  about?: ReactNode
  actions?: ReactNode
}

/** The title of the page and of the browser tab, with the actions of the page. */
export function PageHead({ title, tabTitle = title, ...rest }: PageHeadProps) {
  const { mark, back, about, actions } = rest
  useEffect(() => {
    document.title = `${tabTitle} · Godwit`
  }, [tabTitle])
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

/** The action of a page that is shown to visitors who are not signed in. */
export const SignInLink = () => (
  <Button as="a" href="#/" variant="primary">
    Sign in
  </Button>
)
