import { Checkbox, FormControl } from '@primer/react'
import type { StartOptions as Options } from '../wire.ts'
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
    name: 'Lock the repositories',
    about:
      'Refuse pushes from the start until you unlock them, so that nothing is added that the archive lacks. Reading goes on. They open by themselves if the migration fails, or when the time for locks is over.',
  },
  {
    option: 'allow_partial',
    name: 'Go on without what cannot be exported',
    about:
      'A damaged repository is left out and named. Otherwise one such repository makes the whole migration fail.',
  },
]

const LESS_COMMON: Choice[] = [
  {
    option: 'exclude_metadata',
    name: 'Leave out metadata',
    about: 'Take the git repositories, and nothing that is known of them beside git.',
  },
  {
    option: 'exclude_git_data',
    name: 'Leave out git data',
    about: 'Take what is known of the repositories, without the repositories and their wikis.',
  },
  {
    option: 'org_metadata_only',
    name: 'Organizations only',
    about:
      'Take what is known of the organizations you administer, and no repository, whichever are chosen.',
  },
  {
    option: 'exclude_attachments',
    name: 'Leave out attachments',
    about: 'For importers that ask for it: a plain git host keeps none.',
  },
  {
    option: 'exclude_releases',
    name: 'Leave out releases',
    about: 'For importers that ask for it: a plain git host keeps none.',
  },
  {
    option: 'exclude_owner_projects',
    name: 'Leave out projects of the owner',
    about: 'For importers that ask for it: a plain git host keeps none.',
  },
]

interface StartOptionsProps {
  options: Partial<Options>
  onChange(options: Partial<Options>): void
}

export function StartOptions({ options, onChange }: StartOptionsProps) {
  const field = ({ option, name, about }: Choice) => (
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
        {COMMON.map(field)}
        <details className={styles.more}>
          <summary>More options</summary>
          <div className={styles.options}>{LESS_COMMON.map(field)}</div>
        </details>
      </div>
    </Box>
  )
}

/** What is not chosen is not sent. */
function withOption(options: Partial<Options>, option: keyof Options, isOn: boolean) {
  const { [option]: _, ...others } = options
  return isOn ? { ...others, [option]: true } : others
}
