import { RepoIcon } from '@primer/octicons-react'
import { Button, Checkbox, Label, TextInput } from '@primer/react'
import {
  type Dispatch,
  type SetStateAction,
  useDeferredValue,
  useEffect,
  useId,
  useState,
} from 'react'
import type { LockWithMigration, Repository } from '../api-types.ts'
import { type Failure, failureOf, isAbort } from '../failure.ts'
import { formatCount, formatKib, formatNumber } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import { announce } from './announcements.tsx'
import { Box } from './box.tsx'
import { LoadingRows } from './loading.tsx'
import { Moment } from './moment.tsx'
import { NoRepositories } from './no-repositories.tsx'
import { Problem } from './problem.tsx'
import { DamagedLabel, LockedLabel } from './repository-labels.tsx'
import styles from './repository-picker.module.css'
import { Pages, useRepositorySearch } from './repository-search.tsx'

const PER_PAGE = 20

interface RepositoryPickerProps {
  chosen: ReadonlySet<string>
  onChange: ChangeChosen
  /** The owner whose repositories are selected at first. */
  preselected?: string | undefined
  /** Why repositories cannot be exported, by name; null if they can. It is newer than their last check. */
  problems?: ReadonlyMap<string, string | null>
}

/** Selects repositories. The server searches and paginates, so the number of repositories does not matter. */
export function RepositoryPicker(props: RepositoryPickerProps) {
  const { chosen, onChange, preselected, problems } = props
  const { api } = useSignedIn()
  const locks = useResource<LockWithMigration[]>((options) => api.ownLocks(options), 'locks')
  const locked = new Set(locks.response?.data.map(({ full_name }) => full_name))
  const search = useRepositorySearch(api.repositories, PER_PAGE)
  const { q, pages, response, failure, isLoading, refresh } = search
  useEffect(() => {
    if (response && q !== '')
      announce(`${formatCount(response.total, 'repository', 'repositories')} found`)
  }, [response, q])
  const damaged = useResource<string[]>((options) => api.damagedRepositories(options), 'damaged')
  const problemOf = (name: string) =>
    problems?.has(name) || damaged.response?.data.includes(name) ? problems?.get(name) : null
  const shown = useDeferredValue(search.shown)
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

  return (
    <Box
      title="Repositories"
      aside={
        <span className={styles.count} aria-live="polite">
          {formatNumber(chosen.size)} selected
        </span>
      }
    >
      <fieldset className={styles.body}>
        <legend className={styles.legend}>Repositories to export</legend>
        <div className={styles.search}>
          <TextInput block {...search.input} />
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
              {pages > 1 ? 'Select page' : 'Select all'}
            </label>
            {pages > 1 && (
              <Button size="small" loading={all.isLoading} onClick={all.choose}>
                {`Select all ${formatNumber(shown.total)}${q === '' ? '' : ' found'}`}
              </Button>
            )}
            {chosen.size > 0 && (
              <Button size="small" onClick={() => onChange(new Set())}>
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
          <>
            {q === '' && <NoRepositories />}
            {q !== '' && <p className={styles.none}>No repository matches “{q}”.</p>}
          </>
        )}
        {shown && !failure && (
          <ul aria-busy={isLoading}>
            {shown.data.map((each) => (
              <RepositoryChoice
                key={each.id}
                repository={each}
                isChosen={chosen.has(each.full_name)}
                isLocked={locked.has(each.full_name)}
                problem={problemOf(each.full_name)}
                onChange={(isChosen) => choose([each.full_name], isChosen)}
              />
            ))}
          </ul>
        )}
        <Pages {...search} />
      </fieldset>
    </Box>
  )
}

interface RepositoryChoiceProps {
  repository: Repository
  isChosen: boolean
  isLocked: boolean
  /** Why it cannot be exported: undefined if only a check has found so, null if it can. */
  problem: string | undefined | null
  onChange(isChosen: boolean): void
}

/** A repository to select, with details to recognize it. */
function RepositoryChoice(props: RepositoryChoiceProps) {
  const { repository, isChosen, isLocked, problem, onChange } = props
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
        <RepoIcon />
        <span className={styles.words}>
          {full_name}
          {repository.private && <Label variant="secondary">Private</Label>}
          {archived && <Label variant="attention">Archived</Label>}
          {isLocked && <LockedLabel />}
          {problem !== null && <DamagedLabel reason={problem} />}
        </span>
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
