import { LockIcon, RepoIcon, SearchIcon } from '@primer/octicons-react'
import { Button, Checkbox, Label, Pagination, TextInput } from '@primer/react'
import {
  type Dispatch,
  type SetStateAction,
  useDeferredValue,
  useEffect,
  useId,
  useState,
} from 'react'
import { type Failure, failureOf, isAbort } from '../failure.ts'
import { formatCount, formatKib, formatNumber } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import type { Repository } from '../wire.ts'
import { announce } from './announcements.tsx'
import { Box } from './box.tsx'
import { LoadingRows } from './loading.tsx'
import { Moment } from './moment.tsx'
import { Problem } from './problem.tsx'
import styles from './repository-picker.module.css'

const PER_PAGE = 20
const TYPING_PAUSE_MS = 200

interface RepositoryPickerProps {
  chosen: ReadonlySet<string>
  onChange: ChangeChosen
  isDisabled: boolean
  /** The owner whose repositories are selected at first. */
  preselected?: string | undefined
}

/** Selects repositories. The server searches and paginates, so the number of repositories does not matter. */
export function RepositoryPicker(props: RepositoryPickerProps) {
  const { chosen, onChange, isDisabled, preselected } = props
  const { api, org } = useSignedIn()
  const [typed, setTyped] = useState('')
  const [page, setPage] = useState(1)
  const q = useDebounced(typed.trim(), TYPING_PAUSE_MS)
  const { response, failure, isLoading, refresh } = useResource<Repository[]>(
    (options) => api.repositories({ ...options, q, page, perPage: PER_PAGE }),
    JSON.stringify([q, page]),
  )
  // The last page stays visible until the next one is loaded.
  const [found, setFound] = useState(response)
  useEffect(() => {
    if (!response) return
    setFound(response)
    if (q !== '') announce(`${formatCount(response.total, 'repository', 'repositories')} found`)
  }, [response, q])
  const shown = useDeferredValue(response ?? found)
  const allId = useId()
  const all = useAllMatching(q, onChange, preselected)

  const choose = (names: string[], isChosen: boolean) => {
    onChange((chosen) => {
      const next = new Set(chosen)
      for (const name of names) isChosen ? next.add(name) : next.delete(name)
      return next
    })
  }
  const names = shown?.data.map(({ full_name }) => full_name) ?? []
  const chosenHere = names.filter((name) => chosen.has(name)).length
  const pages = Math.ceil((shown?.total ?? 0) / PER_PAGE)

  return (
    <Box
      title="Repositories"
      aside={
        <span className={styles.count} aria-live="polite">
          {isDisabled ? 'none are exported' : `${formatNumber(chosen.size)} selected`}
        </span>
      }
    >
      <fieldset disabled={isDisabled} className={styles.body}>
        <legend className={styles.legend}>Repositories to export</legend>
        <div className={styles.search}>
          <TextInput
            block
            type="search"
            aria-label="Find a repository"
            placeholder="Find a repository"
            leadingVisual={SearchIcon}
            loading={isLoading && found !== undefined}
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value)
              setPage(1)
            }}
          />
        </div>
        {shown && shown.total > 0 && (
          <div className={styles.bulk}>
            <label className={styles.all} htmlFor={allId}>
              <Checkbox
                id={allId}
                checked={chosenHere === names.length}
                indeterminate={chosenHere > 0 && chosenHere < names.length}
                onChange={(event) => choose(names, event.target.checked)}
              />
              {pages > 1 ? 'Select all on this page' : 'Select all'}
            </label>
            {pages > 1 && (
              <Button size="small" variant="invisible" loading={all.isLoading} onClick={all.choose}>
                {`Select all ${formatNumber(shown.total)}${q === '' ? '' : ' found'}`}
              </Button>
            )}
            {chosen.size > 0 && (
              <Button size="small" variant="invisible" onClick={() => onChange(new Set())}>
                Clear
              </Button>
            )}
          </div>
        )}
        {(failure ?? all.failure) && (
          <Problem
            isPart
            failure={(failure ?? all.failure)!}
            onRetry={failure ? refresh : all.choose}
          />
        )}
        {!shown && !failure && <LoadingRows what="Loading repositories" />}
        {shown && !failure && shown.total === 0 && (
          <p className={styles.none}>
            {q === ''
              ? `${org ?? 'You'} ${org === undefined ? 'have' : 'has'} no repositories on this host.`
              : `None of ${org === undefined ? 'your repositories' : `the repositories of ${org}`} has “${q}” in its name.`}
          </p>
        )}
        {shown && !failure && (
          <ul aria-busy={isLoading}>
            {shown.data.map((each) => (
              <RepositoryChoice
                key={each.id}
                repository={each}
                isChosen={chosen.has(each.full_name)}
                onChange={(isChosen) => choose([each.full_name], isChosen)}
              />
            ))}
          </ul>
        )}
        {pages > 1 && (
          <Pagination
            pageCount={pages}
            currentPage={page}
            marginPageCount={1}
            surroundingPageCount={1}
            onPageChange={(event, next) => {
              event.preventDefault()
              setPage(next)
            }}
          />
        )}
      </fieldset>
    </Box>
  )
}

interface RepositoryChoiceProps {
  repository: Repository
  isChosen: boolean
  onChange(isChosen: boolean): void
}

/** A repository to select, with details to recognize it. */
function RepositoryChoice({ repository, isChosen, onChange }: RepositoryChoiceProps) {
  const id = useId()
  const { full_name, description, language, size, pushed_at, archived } = repository
  return (
    <li className={styles.choice}>
      <Checkbox
        id={id}
        checked={isChosen}
        aria-describedby={`${id}-about`}
        onChange={(event) => onChange(event.target.checked)}
      />
      <label htmlFor={id} className={styles.name}>
        {repository.private ? <LockIcon /> : <RepoIcon />}
        <span>{full_name}</span>
        {repository.private && <Label variant="secondary">Private</Label>}
        {archived && <Label variant="attention">Archived</Label>}
      </label>
      <p id={`${id}-about`} className={styles.about}>
        {description && <span className={styles.description}>{description}</span>}
        <span>
          {language && `${language} · `}
          {formatKib(size)}
          {pushed_at && (
            <>
              {' · pushed '}
              <Moment at={pushed_at} />
            </>
          )}
        </span>
      </p>
    </li>
  )
}

/** Updates the selection. Pass a function after an `await`, because the selection may have changed. */
export type ChangeChosen = Dispatch<SetStateAction<ReadonlySet<string>>>

/** Selects all matching repositories, which may take several requests. Selects those of the preselected owner at once. */
function useAllMatching(q: string, onChange: ChangeChosen, preselected?: string) {
  const { api } = useSignedIn()
  const [asking, setAsking] = useState<AbortController>()
  const [failure, setFailure] = useState<Failure>()
  useEffect(() => () => asking?.abort(), [asking])
  // biome-ignore lint/correctness/useExhaustiveDependencies: only once, so that the user can deselect them
  useEffect(() => {
    if (preselected === undefined) return
    const beginning = `${preselected}/`.toLowerCase()
    // A search finds text anywhere in a name.
    void choose(beginning, (name) => name.toLowerCase().startsWith(beginning))
  }, [])
  async function choose(wanted: string, isWanted = (_name: string) => true): Promise<void> {
    const stop = new AbortController()
    setAsking(stop)
    setFailure(undefined)
    try {
      const names = (await api.repositoryNames(wanted, stop.signal)).filter(isWanted)
      onChange((chosen) => new Set([...chosen, ...names]))
      announce(`${formatCount(names.length, 'repository', 'repositories')} selected`)
    } catch (error) {
      if (!isAbort(error)) setFailure(failureOf(error))
    } finally {
      setAsking(undefined)
    }
  }
  return { choose: () => void choose(q), isLoading: asking !== undefined, failure }
}

/** Returns the value once it has not changed for `ms`. */
export function useDebounced(value: string, ms: number): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
