import { archiveName } from '@godwit/contract/schemas/archive-name'
import { Banner } from '@primer/react'
import { useCallback, useState } from 'react'
import { isUnfinished, type Lock, type Progress, type Summary, titleOf } from '../api-types.ts'
import { announce } from '../components/announcements.tsx'
import { CopyCurl, curl } from '../components/copy-curl.tsx'
import { Loading } from '../components/loading.tsx'
import { MigrationActions } from '../components/migration-actions.tsx'
import { NextSteps } from '../components/migration-next-steps.tsx'
import { NotifyButton, notify } from '../components/migration-notify.tsx'
import { MigrationOutcome } from '../components/migration-outcome.tsx'
import {
  type ShownState,
  StateLabel,
  shownState,
  stateWord,
} from '../components/migration-state.tsx'
import { MigrationTotals } from '../components/migration-totals.tsx'
import { Moment } from '../components/moment.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import { RepositoryList } from '../components/repository-list.tsx'
import type { Failure } from '../failure.ts'
import { type Connection, useProgress } from '../follow-progress.ts'
import { formatCount } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import styles from './migration.module.css'

const LOCKS_EVERY_MS = 15_000

export default function MigrationPage({ id }: { id: number }) {
  const { api, mediaType, user, org, to, path } = useSignedIn()
  const back = {
    href: to.migrations(),
    text: org === undefined ? 'Migrations' : `Migrations of ${org}`,
  }
  const summary = useResource<Summary>(
    (options) => api.summary(id, options),
    `${id}`,
    (known) => (known.archive ? 60_000 : 15_000),
  )
  const locks = useResource<Lock[]>((options) => api.locks(id, options), `${id}`, LOCKS_EVERY_MS)
  const [actionFailure, setActionFailure] = useState<Failure>()
  const { progress, connection, failure } = useProgress(api, id, ({ state, totals }) => {
    const text = endText(id, shownState(state, totals))
    announce(text)
    notify(text)
    refresh()
  })
  const refreshSummary = summary.refresh
  const refreshLocks = locks.refresh
  const refresh = useCallback(() => {
    refreshSummary()
    refreshLocks()
  }, [refreshSummary, refreshLocks])

  const missing = failure ?? (summary.failure?.kind === 'not-found' ? summary.failure : undefined)
  if (missing) {
    const message = `Migration ${id} does not exist, or it is not ${org === undefined ? 'yours' : `of ${org}`}.`
    return <Problem failure={{ ...missing, message }} back={back} />
  }
  const known = summary.response?.data
  if (!known || !progress) {
    if (summary.failure) return <Problem failure={summary.failure} onRetry={refresh} back={back} />
    return <Loading what={`Loading migration ${id}`} />
  }
  const migration = upToDate(known, progress)
  const state = shownState(migration.state, migration.repositories)
  const file = archiveName({
    id,
    login: org ?? user.login,
    createdAt: new Date(migration.created_at),
    name: migration.name,
  })
  return (
    <>
      <PageHead
        title={titleOf('migration', migration)}
        tabTitle={`${state === 'exporting' ? `${progress.totals.percent} %` : stateWord(state)} · Migration ${id}`}
        back={back}
        mark={<StateLabel state={state} />}
        about={<About migration={migration} />}
        actions={
          <MigrationActions migration={migration} onDone={refresh} onFailure={setActionFailure}>
            {isUnfinished(migration.state) && <NotifyButton />}
            <CopyCurl commands={commandsFor(mediaType, { path, file }, migration)} />
          </MigrationActions>
        }
      />
      <ConnectionNotice connection={connection} />
      {actionFailure && (
        <div role="alert" className={styles.notice}>
          <Banner
            variant="critical"
            title="Request failed"
            description={actionFailure.message}
            onDismiss={() => setActionFailure(undefined)}
          />
        </div>
      )}
      <div className={styles.sections}>
        {/* Before the summary has ended too, nothing is known of the archive. */}
        {(progress.state !== 'exported' || !isUnfinished(known.state)) && (
          <MigrationOutcome migration={migration} progress={progress} />
        )}
        {migration.archive && !migration.archive.damaged && (
          <NextSteps id={id} org={org} file={file} />
        )}
        <MigrationTotals progress={progress} id={id} />
        <RepositoryList
          repositories={progress.repositories}
          locks={locks.response?.data ?? []}
          onUnlock={async (fullName) => {
            await api.unlock(id, fullName)
            refresh()
          }}
        />
      </div>
    </>
  )
}

function endText(id: number, state: ShownState): string {
  if (state === 'failed') return `Migration ${id} failed`
  return `Migration ${id} is ${stateWord(state).toLowerCase()}`
}

/** Takes the state from the stream, which is newer than the summary. */
function upToDate(known: Summary, { state, reason, totals }: Progress): Summary {
  const { repositories: total, exported, reused, incomplete, skipped, failed, remaining } = totals
  const repositories = { total, exported, reused, incomplete, skipped, failed, remaining }
  return { ...known, state, reason, repositories }
}

function About({ migration }: { migration: Summary }) {
  const options = [
    migration.lock_repositories && 'locks its repositories',
    migration.allow_partial && 'skips what cannot be exported',
    migration.exclude_metadata && 'without metadata',
    migration.exclude_git_data && 'without git data',
    migration.org_metadata_only && 'organizations only',
  ].filter((option) => option !== false)
  return (
    <>
      Started <Moment at={migration.created_at} /> ·{' '}
      {formatCount(migration.repositories.total, 'repository', 'repositories')}
      {options.map((option) => ` · ${option}`)}
    </>
  )
}

function commandsFor(
  mediaType: string,
  about: { path: string; file: string },
  { id, archive }: Summary,
) {
  const path = `${about.path}/${id}`
  const command = (name: string, rest: Partial<Parameters<typeof curl>[1]>) => ({
    name,
    command: curl(mediaType, { path, ...rest }),
  })
  return [
    command('Status', { path: `${path}?exclude=repositories` }),
    command('Progress', { path: `${path}/progress` }),
    command('Report', { path: `${path}/report` }),
    ...(archive ? [command('Download', { path: `${path}/archive`, output: about.file })] : []),
  ]
}

/** A notice if the progress may be out of date. */
function ConnectionNotice({ connection }: { connection: Connection }) {
  return (
    <div role="status" className={styles.connection}>
      {connection === 'reconnecting' && (
        <Banner
          variant="warning"
          title="Reconnecting…"
          description="The server does not answer. The export continues; this page shows the last known state."
        />
      )}
      {connection === 'limited' && (
        <p className={styles.quiet}>Rate limit exceeded. Updating every 30 seconds.</p>
      )}
      {connection === 'polling' && (
        <p className={styles.quiet}>
          Live updates are not available on this connection. Updating every 2 seconds.
        </p>
      )}
    </div>
  )
}
