import { AlertIcon, PlugIcon, SearchIcon, StopwatchIcon, SyncIcon } from '@primer/octicons-react'
import { Button } from '@primer/react'
import { Blankslate } from '@primer/react/experimental'
import { useEffect } from 'react'
import type { Failure } from '../failure.ts'
import styles from './problem.module.css'

const LOOKS: Record<Failure['kind'], { title: string; icon: typeof AlertIcon }> = {
  offline: { title: 'No connection', icon: PlugIcon },
  unauthorized: { title: 'Signed out', icon: AlertIcon },
  'not-found': { title: 'Not found', icon: SearchIcon },
  limited: { title: 'Try again later', icon: StopwatchIcon },
  busy: { title: 'Try again later', icon: StopwatchIcon },
  refused: { title: 'Request refused', icon: AlertIcon },
  broken: { title: 'Something went wrong', icon: AlertIcon },
}

const MISSING = 'It does not exist, or you may not see it.'

interface ProblemProps {
  failure: Failure
  /** Whether it replaces a part of a page only. */
  isPart?: boolean
  onRetry?: () => void
  retryName?: string
  back?: { href: string; text: string }
}

/** Replaces content that could not be loaded: says why, and what to do. */
export function Problem(props: ProblemProps) {
  const { failure, isPart = false, onRetry, retryName = 'Try again', back } = props
  const { title, icon: Icon } = LOOKS[failure.kind]
  const isNotFound = failure.kind === 'not-found'
  // The message of the API would only repeat the title.
  const message = isNotFound && failure.message === 'Not Found' ? MISSING : failure.message
  useEffect(() => {
    if (!isPart) document.title = `${title} · Godwit`
  }, [isPart, title])
  return (
    <Blankslate spacious={!isPart}>
      <Blankslate.Visual>
        <Icon size="medium" />
      </Blankslate.Visual>
      <Blankslate.Heading as={isPart ? 'h3' : 'h1'}>{title}</Blankslate.Heading>
      <Blankslate.Description>
        <span role="alert">{message}</span>
      </Blankslate.Description>
      <div className={styles.actions}>
        {onRetry && !isNotFound && (
          <Button leadingVisual={SyncIcon} onClick={onRetry}>
            {retryName}
          </Button>
        )}
        {back && <a href={back.href}>{back.text}</a>}
      </div>
    </Blankslate>
  )
}
