import { announce } from '../parts/announcements.tsx'
import { Loading } from '../parts/loading.tsx'
import { Moment } from '../parts/moment.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import styles from '../parts/schedule.module.css'
import { ScheduleActions } from '../parts/schedule-actions.tsx'
import { ScheduleForm } from '../parts/schedule-form.tsx'
import { ScheduleFacts } from '../parts/schedule-row.tsx'
import { RunResult } from '../parts/schedule-run.tsx'
import { Table } from '../parts/table.tsx'
import { goTo } from '../place.ts'
import { useSignedIn } from '../session.tsx'
import { useAnswer } from '../use-answer.ts'
import type { Schedule, ScheduleChange, ScheduleRequest, ScheduleRun } from '../wire.ts'

const EVERY_MS = 10_000

/** One schedule: to be changed, with what became of its runs. */
export default function SchedulePage({ id }: { id: number }) {
  const { api, to } = useSignedIn()
  const back = { href: to.schedules(), text: 'Schedules' }
  const { answer, failure, again } = useAnswer<Schedule>(
    (options) => api.schedule(id, options),
    String(id),
    EVERY_MS,
  )
  if (!answer) {
    if (failure) return <Problem failure={failure} onRetry={again} back={back} />
    return <Loading what="Loading the schedule" />
  }
  const schedule = answer.data
  const known = settingsOf(schedule)
  const { repositories, every, weekday, at, time_zone, keep } = known
  return (
    <>
      <PageHead
        title={`Schedule ${id}`}
        back={back}
        about={`Runs as ${schedule.created_by}.`}
        actions={
          <ScheduleActions
            canEdit={false}
            schedule={schedule}
            onDone={again}
            onDeleted={() => goTo(to.schedules())}
          />
        }
      />
      <div className={styles.parts}>
        <ScheduleFacts schedule={schedule} />
        <Runs id={id} />
        <ScheduleForm
          // Changed elsewhere, it begins again from there.
          key={JSON.stringify(known)}
          repositories={repositories}
          options={optionsOf(schedule)}
          timing={{ every, weekday, at, time_zone, keep }}
          name="Save changes"
          save={async (asked) => {
            await api.changeSchedule(id, changesOf(known, { ...NO_OPTIONS, ...asked }))
            announce(`Schedule ${id} saved`)
            again()
          }}
        />
      </div>
    </>
  )
}

const OPTIONS = [
  'lock_repositories',
  'allow_partial',
  'exclude_metadata',
  'exclude_git_data',
  'exclude_attachments',
  'exclude_releases',
  'exclude_owner_projects',
  'org_metadata_only',
] as const
const NO_OPTIONS = Object.fromEntries(OPTIONS.map((option) => [option, false]))

const SETTINGS = [
  ...OPTIONS,
  ...(['repositories', 'every', 'weekday', 'at', 'time_zone', 'keep'] as const),
]

type Settings = Pick<Schedule, (typeof SETTINGS)[number]>

/** What the form changes. */
const settingsOf = (schedule: Schedule): Settings =>
  Object.fromEntries(SETTINGS.map((name) => [name, schedule[name]])) as Settings

/** Only these are sent: the rest may have been changed elsewhere since. */
function changesOf(known: Settings, asked: ScheduleRequest): ScheduleChange {
  const changed = SETTINGS.filter(
    (name) => JSON.stringify(asked[name]) !== JSON.stringify(known[name]),
  )
  return Object.fromEntries(changed.map((name) => [name, asked[name]]))
}

/** Those that are on. */
const optionsOf = (schedule: Schedule) =>
  Object.fromEntries(OPTIONS.filter((option) => schedule[option]).map((option) => [option, true]))

function Runs({ id }: { id: number }) {
  const { api } = useSignedIn()
  const { answer, failure, again } = useAnswer<ScheduleRun[]>(
    (options) => api.scheduleRuns(id, options),
    String(id),
    EVERY_MS,
  )
  if (!answer) {
    if (failure) return <Problem isPart failure={failure} onRetry={again} />
    return <Loading what="Loading the runs" />
  }
  return (
    <Table
      title="Runs"
      columns={['Result', 'Due', 'Archive']}
      none="It has not run yet."
      rows={answer.data.map((run) => ({
        key: run.id,
        cells: [
          <div key="result" className={styles.reason}>
            <RunResult run={run} />
          </div>,
          run.due_at === null ? 'started by hand' : <Moment key="due" at={run.due_at} />,
          run.has_archive ? 'ready' : '-',
        ],
      }))}
    />
  )
}
