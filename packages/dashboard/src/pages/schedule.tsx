import { type Schedule, type ScheduleRun, titleOf } from '../api-types.ts'
import { announce } from '../components/announcements.tsx'
import { ConfirmedAction } from '../components/confirmed-action.tsx'
import { Loading } from '../components/loading.tsx'
import { Moment } from '../components/moment.tsx'
import { OutOfDate, outOfDate } from '../components/out-of-date.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import styles from '../components/schedule.module.css'
import { ScheduleActions } from '../components/schedule-actions.tsx'
import { ScheduleForm } from '../components/schedule-form.tsx'
import {
  describeRepositories,
  formatNames,
  PausedLabel,
  ScheduleDetails,
} from '../components/schedule-row.tsx'
import { RunResult } from '../components/schedule-run.tsx'
import { asSent, settingsOf } from '../components/schedule-settings.ts'
import { Table } from '../components/table.tsx'
import { goTo } from '../routes.ts'
import { useSignedIn } from '../session.tsx'
import { useDraft } from '../use-draft.ts'
import { useResource } from '../use-resource.ts'

const POLL_INTERVAL_MS = 10_000

/** The page of one schedule: its status, protected archives, runs and settings. */
export default function SchedulePage({ id }: { id: number }) {
  const { api, to } = useSignedIn()
  const back = { href: to.schedules(), text: 'Schedules' }
  const { response, failure, refresh, set } = useResource<Schedule>(
    (options) => api.schedule(id, options),
    String(id),
    POLL_INTERVAL_MS,
  )
  if (!response) {
    if (failure) return <Problem failure={failure} onRetry={refresh} back={back} />
    return <Loading what="Loading the schedule" />
  }
  const schedule = response.data
  return (
    <>
      <PageHead
        title={titleOf('schedule', schedule)}
        mark={<PausedLabel schedule={schedule} />}
        back={back}
        about={`${describeRepositories(schedule)}. Runs as ${schedule.created_by}.`}
        actions={
          <ScheduleActions
            isOnPage
            schedule={schedule}
            onDone={refresh}
            onDeleted={() => goTo(to.schedules())}
          />
        }
      />
      {failure && <OutOfDate failure={failure} />}
      <div className={styles.sections}>
        <ScheduleDetails schedule={schedule} />
        <ProtectedArchives schedule={schedule} onDone={refresh} />
        <Runs id={id} />
        <Settings schedule={schedule} onSaved={set} />
      </div>
    </>
  )
}

/** The settings form. It stays mounted after saving, so that the focus, the search and newer edits are not lost. */
function Settings({ schedule, onSaved }: { schedule: Schedule; onSaved(saved: Schedule): void }) {
  const { api } = useSignedIn()
  const { id } = schedule
  const { draft, setDraft, isEdited, save, load } = useDraft(settingsOf(schedule), asSent)
  return (
    <ScheduleForm
      settings={draft}
      onChange={setDraft}
      onLoad={load}
      isEdited={isEdited}
      name="Save changes"
      save={() =>
        save(async (changes) => {
          onSaved(await api.changeSchedule(id, changes))
          announce(`Schedule ${id} saved`)
        })
      }
    />
  )
}

/** The archives that are kept beyond the schedule's limit, because no newer archive holds some of their repositories. */
function ProtectedArchives({ schedule, onDone }: { schedule: Schedule; onDone(): void }) {
  const { api, to } = useSignedIn()
  const { id, protected_archives: archives } = schedule
  if (archives.length === 0) return null
  return (
    <Table
      title="Protected archives"
      note="Kept because they hold the last copy of a repository"
      columns={['Archive', 'Created', 'Repositories', 'Action']}
      emptyText=""
      rows={archives.map(({ migration_id: migration, created_at, repositories }) => ({
        key: migration,
        cells: [
          <a key="archive" href={to.migration(migration)}>{`Migration ${migration}`}</a>,
          <Moment key="created" at={created_at} />,
          formatNames(repositories),
          <ConfirmedAction
            key="action"
            name="Release"
            object={`the archive of migration ${migration}`}
            question={`Delete the archive of migration ${migration}?`}
            consequence={`No newer archive of this schedule holds ${formatNames(repositories)}. This cannot be undone.`}
            act={() => api.releaseArchive(id, migration)}
            onDone={onDone}
          />,
        ],
      }))}
    />
  )
}

function Runs({ id }: { id: number }) {
  const { api } = useSignedIn()
  const { response, failure, refresh } = useResource<ScheduleRun[]>(
    (options) => api.scheduleRuns(id, options),
    String(id),
    POLL_INTERVAL_MS,
  )
  if (!response) {
    if (failure) return <Problem isPart failure={failure} onRetry={refresh} />
    return <Loading what="Loading the runs" />
  }
  return (
    <Table
      title="Runs"
      columns={['Result', 'Due', 'Archive']}
      emptyText="No runs yet."
      {...(failure && { note: outOfDate(failure) })}
      rows={response.data.map((run) => ({
        key: run.id,
        cells: [
          <div key="result" className={styles.reason}>
            <RunResult run={run} />
          </div>,
          run.due_at === null ? 'Started manually' : <Moment key="due" at={run.due_at} />,
          run.has_archive ? 'Available' : '—',
        ],
      }))}
    />
  )
}
