import { Banner } from '@primer/react'
import { useSignedIn } from '../session.tsx'
import { useAnswer } from '../use-answer.ts'
import type { HeldLock } from '../wire.ts'
import styles from './locks-of-others.module.css'
import { Moment } from './moment.tsx'

const EVERY_MS = 30_000
const MAX_SHOWN = 5

/** Whose pushes are refused should see why: which of their repositories somebody else's migration locks. */
export function LocksOfOthers() {
  const { api, user } = useSignedIn()
  const { answer } = useAnswer<HeldLock[]>((options) => api.ownLocks(options), 'locks', EVERY_MS)
  const others = answer?.data.filter(({ login }) => login !== user.login) ?? []
  if (others.length === 0) return null
  return (
    <div role="status" className={styles.notice}>
      <Banner
        variant="warning"
        title="Repositories of yours are locked by others"
        description={
          <ul>
            {others.slice(0, MAX_SHOWN).map((lock) => (
              <li key={`${lock.migration_id} ${lock.full_name}`}>
                <strong>{lock.full_name}</strong> is locked by migration {lock.migration_id} of{' '}
                {lock.login} and refuses pushes. The lock expires <Moment at={lock.expires_at} />.
              </li>
            ))}
            {others.length > MAX_SHOWN && <li>and {others.length - MAX_SHOWN} more</li>}
          </ul>
        }
      />
    </div>
  )
}
