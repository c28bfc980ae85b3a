import { formatCount, formatNumber } from '../quantities.ts'
import type { Known } from '../use-answer.ts'
import type { Branch, Tag } from '../wire.ts'
import { Box } from './box.tsx'
import { LoadingRows } from './loading.tsx'
import styles from './ref-list.module.css'

interface RefListProps {
  title: string
  one: string
  refs: Known<(Branch | Tag)[]>
  /** The default branch, which is marked in the list. */
  defaultBranch?: string
}

/** The first branches or tags with their commits, and the number of all. */
export function RefList({ title, one, refs, defaultBranch }: RefListProps) {
  const { answer, failure } = refs
  const more = answer ? answer.total - answer.data.length : 0
  return (
    <Box
      title={title}
      aside={
        answer && (
          <span className={styles.quiet}>
            {formatCount(answer.total, one, title.toLowerCase())}
          </span>
        )
      }
    >
      {!answer && !failure && <LoadingRows what={`Loading ${title.toLowerCase()}`} />}
      {!answer && failure && (
        <p className={styles.none}>
          {failure.kind === 'not-found'
            ? 'This server cannot read them at the moment.'
            : failure.message}
        </p>
      )}
      {answer?.data.length === 0 && <p className={styles.none}>None.</p>}
      {answer && answer.data.length > 0 && (
        <ul>
          {answer.data.map(({ name, commit }) => (
            <li key={name} className={styles.row}>
              <span className={styles.name}>
                {name}
                {name === defaultBranch && <span className={styles.quiet}> default</span>}
              </span>
              <code title={commit.sha}>{commit.sha.slice(0, 10)}</code>
            </li>
          ))}
          {more > 0 && <li className={styles.row}>and {formatNumber(more)} more</li>}
        </ul>
      )}
    </Box>
  )
}
