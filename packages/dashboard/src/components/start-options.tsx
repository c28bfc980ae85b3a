import { Checkbox, FormControl } from '@primer/react'
import type { ReactNode } from 'react'
import type { StartOptions as Options } from '../api-types.ts'
import { Box } from './box.tsx'
import styles from './start-options.module.css'

interface Choice {
  option: keyof Options
  name: string
  about: string
}

const COMMON: Choice[] = [
  {
    option: 'lock_repositories',
    name: 'Lock repositories',
    about:
      'Locked repositories refuse pushes, so nothing is missing in the archive. They can still be read. A lock ends when you unlock the repository, when the migration fails, or when it expires.',
  },
  {
    option: 'allow_partial',
    name: 'Skip repositories that cannot be exported',
    about:
      'Damaged repositories are skipped and listed with the reason. Without this option, one damaged repository makes the whole migration fail.',
  },
]

const LESS_COMMON: Choice[] = [
  {
    option: 'exclude_metadata',
    name: 'Exclude metadata',
    about: 'Export only the git repositories.',
  },
  {
    option: 'exclude_git_data',
    name: 'Exclude git data',
    about: 'Export only metadata, without the git repositories and their wikis.',
  },
  {
    option: 'org_metadata_only',
    name: 'Organization metadata only',
    about:
      'Export only metadata of the organizations that you administer. No repositories are exported.',
  },
  {
    option: 'exclude_attachments',
    name: 'Exclude attachments',
    about: 'Export without the files attached to issues, comments and pull requests.',
  },
  {
    option: 'exclude_releases',
    name: 'Exclude releases',
    about: 'Export without releases and their files. Tags are still exported.',
  },
  {
    option: 'exclude_owner_projects',
    name: 'Exclude owner projects',
    about: 'Has no effect: this server does not export projects.',
  },
]

interface StartOptionsProps {
  options: Partial<Options>
  onChange(options: Partial<Options>): void
  /** Fields above the options. */
  children: ReactNode
}

export function StartOptions({ options, onChange, children }: StartOptionsProps) {
  const renderChoice = ({ option, name, about }: Choice) => (
    <FormControl key={option} id={option}>
      <Checkbox
        checked={options[option] ?? false}
        onChange={(event) => onChange(withOption(options, option, event.target.checked))}
      />
      <FormControl.Label>{name}</FormControl.Label>
      <FormControl.Caption>{about}</FormControl.Caption>
    </FormControl>
  )
  return (
    <Box title="Options">
      <div className={styles.options}>
        {children}
        {COMMON.map(renderChoice)}
        <details className={styles.more}>
          <summary>More options</summary>
          <div className={styles.options}>{LESS_COMMON.map(renderChoice)}</div>
        </details>
      </div>
    </Box>
  )
}

/** Only selected options are sent. */
function withOption(options: Partial<Options>, option: keyof Options, isOn: boolean) {
  const { [option]: _, ...others } = options
  return isOn ? { ...others, [option]: true } : others
}
