import { ConfirmationDialog } from '@primer/react'
import type { RetryForecast } from '../wire.ts'

export interface Retrying {
  forecast: RetryForecast
  /** Without what cannot be exported. */
  isPartial: boolean
}

interface RetryDialogProps {
  id: number
  retrying: Retrying
  onClose(isConfirmed: boolean): void
}

const MAX_SHOWN = 8

/** Before a retry that ends as before, or leaves something behind: what that is, by name. */
export function RetryDialog({ id, retrying, onClose }: RetryDialogProps) {
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
            <strong>{full_name}</strong>: {reason}
          </li>
        ))}
        {broken.length > MAX_SHOWN && <li>and {broken.length - MAX_SHOWN} more</li>}
      </ul>
    </ConfirmationDialog>
  )
}
