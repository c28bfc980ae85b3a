import { AlertFillIcon } from '@primer/octicons-react'
import { useMemo, useState } from 'react'
import type {
  StartOptions as Options,
  Forecast as StartForecast,
  StartRequest,
} from '../api-types.ts'
import { announce } from '../components/announcements.tsx'
import { CopyCurl, curl } from '../components/copy-curl.tsx'
import { Forecast, formatEstimate, formatProblem, useEstimate } from '../components/forecast.tsx'
import { NameField } from '../components/name-field.tsx'
import { PageHead } from '../components/page-head.tsx'
import { RepositoryPicker } from '../components/repository-picker.tsx'
import { StartOptions } from '../components/start-options.tsx'
import { Submit } from '../components/submit.tsx'
import { formatCount } from '../quantities.ts'
import { goTo } from '../routes.ts'
import { useSignedIn } from '../session.tsx'
import { useAction } from '../use-action.ts'
import { useSelection } from '../use-selection.ts'
import styles from './new-migration.module.css'

/** With an owner, the repositories of that owner are selected at first. */
export default function NewMigrationPage({ owner }: { owner?: string | undefined }) {
  const { api, mediaType, user, org, to, path } = useSignedIn()
  const { chosen, setChosen, forget } = useSelection({ login: user.login, org })
  const [options, setOptions] = useState<Partial<Options>>({})
  const [name, setName] = useState<string | null>(null)
  const needsNone = options.org_metadata_only === true
  const selected = useMemo<StartRequest>(
    () => ({ repositories: needsNone ? [] : [...chosen], ...options }),
    [chosen, options, needsNone],
  )
  const request: StartRequest = { ...selected, ...(name !== null && { name }) }
  const isReady = needsNone || chosen.size > 0
  const estimate = useEstimate(selected, isReady)
  const action = useAction()
  const problems = useMemo(() => problemsIn(estimate.forecast), [estimate.forecast])
  const problem = formatProblem(estimate, selected)
  const count = formatCount(chosen.size, 'repository', 'repositories')

  async function start(): Promise<void> {
    const { id } = await api.start(request)
    forget()
    announce(`Migration ${id} started`)
    goTo(to.migration(id))
  }

  return (
    <>
      <PageHead
        title={org === undefined ? 'New migration' : `New migration of ${org}`}
        back={{ href: to.migrations(), text: 'Migrations' }}
        about="Select the repositories to export. You can see an estimate before you start."
      />
      <div className={styles.columns}>
        <div className={styles.choices}>
          <div hidden={needsNone}>
            <RepositoryPicker
              chosen={chosen}
              onChange={setChosen}
              preselected={owner}
              problems={problems}
            />
          </div>
          <StartOptions options={options} onChange={setOptions}>
            <NameField name={name} onChange={setName} />
          </StartOptions>
        </div>
        <div className={styles.aside}>
          <Forecast estimate={estimate} request={selected} isReady={isReady} />
          <Submit
            name={isReady && !needsNone ? `Start with ${count}` : 'Start migration'}
            about={
              <div className={styles.narrow}>
                {[needsNone ? 'Organizations' : count, formatEstimate(estimate)]
                  .filter((part) => part !== undefined)
                  .join(' · ')}
                {problem && (
                  <p className={styles.problem}>
                    <AlertFillIcon /> {problem}
                  </p>
                )}
              </div>
            }
            isReady={isReady}
            action={action}
            submit={start}
            failed="The migration was not started"
            onDeselect={(names) =>
              setChosen((last) => new Set([...last].filter((each) => !names.includes(each))))
            }
          />
          <CopyCurl
            commands={[
              {
                name: 'Start this migration',
                command: curl(mediaType, { path, body: request }),
              },
            ]}
          />
        </div>
      </div>
    </>
  )
}

/** The reasons why selected repositories cannot be exported, by name. */
const problemsIn = (forecast: StartForecast | undefined): ReadonlyMap<string, string | null> =>
  new Map(forecast?.repositories.map(({ full_name, reason }) => [full_name, reason]))
