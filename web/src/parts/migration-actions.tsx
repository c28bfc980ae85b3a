import { DownloadIcon, SkipIcon, SyncIcon, TrashIcon, XCircleIcon } from '@primer/octicons-react'
import { Button, ConfirmationDialog } from '@primer/react'
import { useState } from 'react'
import { type Failure, failureOf } from '../failure.ts'
import { goTo } from '../place.ts'
import { counted } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { isUnfinished, type Summary } from '../wire.ts'
import { announce } from './announcements.tsx'
import { RetryDialog, type Retrying } from './retry-dialog.tsx'

interface MigrationActionsProps {
  migration: Summary
  /** Something has changed by it. */
  onDone(): void
  onFailure(failure: Failure | undefined): void
}

type Action = 'download' | 'retry' | 'retryPartial' | 'cancel' | 'delete'

/** What may be done with a migration in its state. */
export function MigrationActions({ migration, onDone, onFailure }: MigrationActionsProps) {
  const { api, to } = useSignedIn()
  const { id, state, archive } = migration
  const [busy, setBusy] = useState<Action>()
  const [confirming, setConfirming] = useState<'cancel' | 'delete'>()
  const [retrying, setRetrying] = useState<Retrying>()
  const { total, failed } = migration.repositories

  const deeds: Record<Action, () => Promise<void>> = {
    async download() {
      const { url, name } = await api.archiveLink(id)
      follow(url, name)
      announce('Download started')
    },
    /** Whoever would only see the same again is told before. */
    async retry() {
      const forecast = await api.retryForecast(id)
      if (forecast.unchanged) setRetrying({ forecast, isPartial: false })
      else await start(false)
    },
    async retryPartial() {
      setRetrying({ forecast: await api.retryForecast(id), isPartial: true })
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

  async function start(isPartial: boolean): Promise<void> {
    const { id: next } = await api.retry(id, isPartial ? { allow_partial: true } : {})
    announce(`Migration ${next} started`)
    goTo(to.migration(next))
  }

  async function perform(action: Action): Promise<void> {
    setBusy(action)
    onFailure(undefined)
    try {
      await deeds[action]()
    } catch (error) {
      onFailure(failureOf(error))
    } finally {
      setBusy(undefined)
      onDone()
    }
  }

  return (
    <>
      {isUnfinished(state) && (
        <Button
          variant="danger"
          leadingVisual={XCircleIcon}
          loading={busy === 'cancel'}
          onClick={() => setConfirming('cancel')}
        >
          Cancel
        </Button>
      )}
      {archive && (
        <Button
          variant="danger"
          leadingVisual={TrashIcon}
          loading={busy === 'delete'}
          onClick={() => setConfirming('delete')}
        >
          Delete
        </Button>
      )}
      {!isUnfinished(state) && (
        <Button
          variant={archive ? 'default' : 'primary'}
          leadingVisual={SyncIcon}
          loading={busy === 'retry'}
          onClick={() => void perform('retry')}
        >
          {state === 'exported' ? 'Run again' : 'Retry'}
        </Button>
      )}
      {state === 'failed' && failed > 0 && failed < total && (
        <Button
          leadingVisual={SkipIcon}
          loading={busy === 'retryPartial'}
          onClick={() => void perform('retryPartial')}
        >
          {`Retry without ${counted(failed, 'repository', 'repositories')}`}
        </Button>
      )}
      {archive && (
        <Button
          variant="primary"
          leadingVisual={DownloadIcon}
          loading={busy === 'download'}
          onClick={() => void perform('download')}
        >
          Download
        </Button>
      )}
      {retrying && (
        <RetryDialog
          id={id}
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

/** The link is a credential for some minutes: it is followed, and not kept. */
function follow(url: string, name: string): void {
  const anchor = document.createElement('a')
  anchor.href = url
  anchor.download = name
  anchor.rel = 'noreferrer'
  document.body.append(anchor)
  anchor.click()
  anchor.remove()
}
