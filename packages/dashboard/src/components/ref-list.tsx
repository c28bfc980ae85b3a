import { Label } from '@primer/react'
import type { Branch, Tag } from '../api-types.ts'
import { formatCount, formatNumber } from '../quantities.ts'
import type { Resource } from '../use-resource.ts'
import { Box } from './box.tsx'
import { LoadingRows } from './loading.tsx'
import styles from './ref-list.module.css'

interface RefListProps {
  title: string
  one: string
  refs: Resource<(Branch | Tag)[]>
  /** The default branch, which is marked in the list. */
  defaultBranch?: string
}

/** The first branches or tags with their commits, and the number of all. */
export function RefList({ title, one, refs, defaultBranch }: RefListProps) {
  const { response, failure } = refs
  const more = response ? response.total - response.data.length : 0
  return (
    <Box
      title={title}
      aside={
        response && (
          <span className={styles.quiet}>
            {formatCount(response.total, one, title.toLowerCase())}
          </span>
        )
      }
    >
      {!response && !failure && <LoadingRows what={`Loading ${title.toLowerCase()}`} />}
      {!response && failure && (
        <p className={styles.none}>
          {failure.kind === 'not-found'
            ? `${title} cannot be read at the moment.`
            : failure.message}
        </p>
      )}
      {response?.data.length === 0 && <p className={styles.none}>No {title.toLowerCase()}.</p>}
      {response && response.data.length > 0 && (
        <ul>
          {response.data.map(({ name, commit }) => (
            <li key={name} className={styles.row}>
              <span className={styles.name}>
                {name} {name === defaultBranch && <Label variant="secondary">Default</Label>}
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
