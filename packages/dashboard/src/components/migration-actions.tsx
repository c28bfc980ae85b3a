import { shortReason } from '@godwit/contract/schemas/describe-outcome'
import {
  DownloadIcon,
  type Icon,
  SkipIcon,
  SyncIcon,
  TrashIcon,
  XCircleIcon,
} from '@primer/octicons-react'
import { Button, ConfirmationDialog } from '@primer/react'
import { type ReactNode, useState } from 'react'
import { isUnfinished, type RetryForecast, type Summary } from '../api-types.ts'
import { type Failure, failureOf } from '../failure.ts'
import { formatCount } from '../quantities.ts'
import { goTo } from '../routes.ts'
import { useSignedIn } from '../session.tsx'
import { announce } from './announcements.tsx'

interface MigrationActionsProps {
  migration: Summary
  /** Shown before the actions that destroy something. */
  children: ReactNode
  /** Called after the action. */
  onDone(): void
  onFailure(failure: Failure | undefined): void
}

type Action = 'download' | 'retry' | 'retryPartial' | 'cancel' | 'delete'

/** The actions that a migration allows in its state. */
export function MigrationActions(props: MigrationActionsProps) {
  const { migration, children, onDone, onFailure } = props
  const [busy, setBusy] = useState<Action>()
  const [confirming, setConfirming] = useState<'cancel' | 'delete'>()
  const [retrying, setRetrying] = useState<Retrying>()
  const { start, ...actions } = useActions(migration.id, setRetrying)

  async function perform(action: Action): Promise<void> {
    setBusy(action)
    onFailure(undefined)
    try {
      await actions[action]()
    } catch (error) {
      onFailure(failureOf(error))
    } finally {
      setBusy(undefined)
      onDone()
    }
  }

  const buttons = buttonsOf(migration)
  const show = ({ action, name, icon, variant }: ActionButton) => (
    <Button
      key={action}
      variant={variant}
      leadingVisual={icon}
      loading={busy === action}
      onClick={() => {
        if (action === 'cancel' || action === 'delete') setConfirming(action)
        else void perform(action)
      }}
    >
      {name}
    </Button>
  )
  return (
    <>
      {buttons.filter(({ variant }) => variant !== 'danger').map(show)}
      {children}
      {buttons.filter(({ variant }) => variant === 'danger').map(show)}
      {retrying && (
        <RetryDialog
          id={migration.id}
          retrying={retrying}
          onClose={(isConfirmed) => {
            setRetrying(undefined)
            if (!isConfirmed) return
            start(retrying.isPartial).catch((error) => onFailure(failureOf(error)))
          }}
        />
      )}
      {confirming && (
        <ConfirmationDialog
          {...QUESTIONS[confirming]}
          confirmButtonType="danger"
          onClose={(gesture) => {
            setConfirming(undefined)
            if (gesture === 'confirm') void perform(confirming)
          }}
        >
          {CONSEQUENCES[confirming]}
        </ConfirmationDialog>
      )}
    </>
  )
}

function useActions(id: number, onRetrying: (retrying: Retrying) => void) {
  const { api, to } = useSignedIn()

  async function start(isPartial: boolean): Promise<void> {
    const { id: next } = await api.retry(id, isPartial ? { allow_partial: true } : {})
    announce(`Migration ${next} started`)
    goTo(to.migration(next))
  }

  return {
    start,
    async download() {
      const { url, name } = await api.archiveLink(id)
      follow(url, name)
      announce('Download started')
    },
    /** Asks first if nothing has changed, because the retry would fail again. */
    async retry() {
      const forecast = await api.retryForecast(id)
      if (forecast.unchanged) onRetrying({ forecast, isPartial: false })
      else await start(false)
    },
    async retryPartial() {
      onRetrying({ forecast: await api.retryForecast(id), isPartial: true })
    },
    async cancel() {
      await api.cancel(id)
      announce(`Migration ${id} cancelled`)
    },
    async delete() {
      await api.deleteArchive(id)
      announce('Archive deleted')
    },
  }
}

interface ActionButton {
  action: Action
  name: string
  icon: Icon
  variant: 'default' | 'primary' | 'danger'
}

function buttonsOf({ state, archive, repositories }: Summary): ActionButton[] {
  if (isUnfinished(state))
    return [{ action: 'cancel', name: 'Cancel', icon: XCircleIcon, variant: 'danger' }]
  const name = state === 'exported' ? 'Run again' : 'Retry'
  const retry = { action: 'retry', name, icon: SyncIcon } as const
  if (archive)
    return [
      { action: 'download', name: 'Download', icon: DownloadIcon, variant: 'primary' },
      { ...retry, variant: 'default' },
      { action: 'delete', name: 'Delete', icon: TrashIcon, variant: 'danger' },
    ]
  const { total, failed } = repositories
  const without = `Retry without ${formatCount(failed, 'repository', 'repositories')}`
  const partial = { action: 'retryPartial', name: without, icon: SkipIcon } as const
  const isPartialPossible = state === 'failed' && failed > 0 && failed < total
  return [
    { ...retry, variant: 'primary' },
    ...(isPartialPossible ? [{ ...partial, variant: 'default' as const }] : []),
  ]
}

const QUESTIONS = {
  cancel: {
    title: 'Cancel this migration?',
    confirmButtonContent: 'Cancel migration',
    cancelButtonContent: 'Continue migration',
  },
  delete: {
    title: 'Delete the archive?',
    confirmButtonContent: 'Delete archive',
    cancelButtonContent: 'Keep archive',
  },
}

const CONSEQUENCES = {
  cancel: 'Its locks are released. Repositories exported so far are kept for a retry.',
  delete:
    'The archive can no longer be downloaded. The migration stays in the list. Your repositories do not change.',
}

/** Follows the download link. It works without a session, so it is not kept. */
function follow(url: string, name: string): void {
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = name
  anchor.rel = 'noreferrer'
  document.body.append(anchor)
  anchor.click()
  anchor.remove()
}

interface Retrying {
  forecast: RetryForecast
  /** Whether repositories that cannot be exported are skipped. */
  isPartial: boolean
}

interface RetryDialogProps {
  id: number
  retrying: Retrying
  onClose(isConfirmed: boolean): void
}

const MAX_SHOWN = 8

/** Asks before a retry that would fail again or skip repositories, and lists them. */
function RetryDialog({ id, retrying, onClose }: RetryDialogProps) {
  const { forecast, isPartial } = retrying
  const { broken } = forecast
  return (
    <ConfirmationDialog
      title={isPartial ? 'Retry without these repositories?' : 'Nothing has changed'}
      confirmButtonContent={isPartial ? 'Retry without them' : 'Retry anyway'}
      cancelButtonContent="Do not retry"
      onClose={(gesture) => onClose(gesture === 'confirm')}
    >
      <p>
        {isPartial
          ? 'They are skipped if they still cannot be exported:'
          : `These repositories are the same as in migration ${id}. A retry will end in the same way:`}
      </p>
      <ul>
        {broken.slice(0, MAX_SHOWN).map(({ full_name, reason }) => (
          <li key={full_name}>
            <strong>{full_name}</strong>: {shortReason(reason)}
          </li>
        ))}
        {broken.length > MAX_SHOWN && <li>and {broken.length - MAX_SHOWN} more</li>}
      </ul>
    </ConfirmationDialog>
  )
}
