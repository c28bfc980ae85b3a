import { SearchIcon } from '@primer/octicons-react'
import { Pagination, SegmentedControl, TextInput } from '@primer/react'
import type { Lock, RepositoryProgress } from '../api-types.ts'
import { formatCount, formatNumber } from '../quantities.ts'
import { pageNumber, useFilters } from '../routes.ts'
import { Box } from './box.tsx'
import styles from './repository-list.module.css'
import { RepositoryRow } from './repository-row.tsx'

const PER_PAGE = 50

interface RepositoryListProps {
  repositories: RepositoryProgress[]
  locks: Lock[]
  onUnlock(fullName: string): Promise<void>
}

type Kind = 'all' | 'unfinished' | 'skipped' | 'failed'

const KINDS: { kind: Kind; name: string; has(each: RepositoryProgress): boolean }[] = [
  { kind: 'all', name: 'All', has: () => true },
  {
    kind: 'unfinished',
    name: 'Unfinished',
    has: ({ state }) => state === 'exporting' || state === 'waiting',
  },
  { kind: 'skipped', name: 'Skipped', has: ({ state }) => state === 'skipped' },
  { kind: 'failed', name: 'Failed', has: ({ state }) => state === 'failed' },
]

/** The repositories of a migration with their progress, in pages. */
export function RepositoryList({ repositories, locks, onUnlock }: RepositoryListProps) {
  const [filters, setFilters] = useFilters({ state: 'all', q: '', page: '1' })
  const isShort = repositories.length <= 10
  const { kind, has } = KINDS.find((each) => each.kind === filters.state) ?? KINDS[0]!
  const text = filters.q.trim().toLowerCase()
  const matching = repositories.filter(
    (each) => has(each) && each.full_name.toLowerCase().includes(text),
  )
  const pages = Math.max(Math.ceil(matching.length / PER_PAGE), 1)
  const current = Math.min(pageNumber(filters.page), pages)
  const shown = matching.slice((current - 1) * PER_PAGE, current * PER_PAGE)
  const locked = new Map(locks.map((lock) => [lock.full_name, lock]))
  if (repositories.length === 0) return null
  return (
    <Box
      title={formatCount(repositories.length, 'repository', 'repositories')}
      aside={
        !isShort && (
          <div className={styles.tools}>
            <SegmentedControl
              aria-label="Filter by state"
              size="small"
              variant={{ narrow: 'dropdown' }}
              onChange={(index) => setFilters({ state: KINDS[index]!.kind, page: '1' })}
            >
              {KINDS.map((each) => (
                <SegmentedControl.Button
                  key={each.kind}
                  selected={each.kind === kind}
                  count={formatNumber(repositories.filter(each.has).length)}
                >
                  {each.name}
                </SegmentedControl.Button>
              ))}
            </SegmentedControl>
            <TextInput
              size="small"
              aria-label="Find a repository of this migration"
              placeholder="Find a repository"
              leadingVisual={SearchIcon}
              value={filters.q}
              onChange={(event) => setFilters({ q: event.target.value, page: '1' })}
            />
          </div>
        )
      }
    >
      <ul>
        {shown.map((each) => (
          <RepositoryRow
            key={each.full_name}
            repository={each}
            lock={locked.get(each.full_name)}
            onUnlock={onUnlock}
          />
        ))}
      </ul>
      {shown.length === 0 && <p className={styles.none}>None.</p>}
      {pages > 1 && (
        <Pagination
          pageCount={pages}
          currentPage={current}
          onPageChange={(event, next) => {
            event.preventDefault()
            setFilters({ page: String(next) })
          }}
        />
      )}
    </Box>
  )
}
