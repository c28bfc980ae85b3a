import { LockIcon, RepoIcon } from '@primer/octicons-react'
import { Checkbox, Label } from '@primer/react'
import { useId } from 'react'
import { bytes } from '../quantities.ts'
import type { Repository } from '../wire.ts'
import { Moment } from './moment.tsx'
import styles from './repository-choice.module.css'

interface RepositoryChoiceProps {
  repository: Repository
  isChosen: boolean
  onChange(isChosen: boolean): void
}

/** One that may be taken along, with what helps to recognise it. */
export function RepositoryChoice({ repository, isChosen, onChange }: RepositoryChoiceProps) {
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
          {bytes(size * 1024)}
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
