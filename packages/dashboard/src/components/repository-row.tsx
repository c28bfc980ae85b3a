import { shortReason } from '@godwit/contract/schemas/describe-outcome'
import {
  CheckIcon,
  DotFillIcon,
  DotIcon,
  type RepoIcon,
  SkipIcon,
  XIcon,
} from '@primer/octicons-react'
import { Label } from '@primer/react'
import type { Lock, RepositoryProgress } from '../api-types.ts'
import { formatBytes, formatNumber, percent } from '../quantities.ts'
import { useLinks } from '../session.tsx'
import { ScreenReaderText } from './announcements.tsx'
import { Bar, type BarTone } from './bar.tsx'
import { ConfirmedAction } from './confirmed-action.tsx'
import { LockedLabel } from './repository-labels.tsx'
import styles from './repository-row.module.css'

type State = RepositoryProgress['state']

const LOOKS: Record<State, { word: string; icon: typeof RepoIcon; tone: BarTone }> = {
  waiting: { word: 'Waiting', icon: DotIcon, tone: 'neutral' },
  exporting: { word: 'Exporting', icon: DotFillIcon, tone: 'accent' },
  exported: { word: 'Exported', icon: CheckIcon, tone: 'success' },
  skipped: { word: 'Skipped', icon: SkipIcon, tone: 'attention' },
  failed: { word: 'Failed', icon: XIcon, tone: 'danger' },
}

interface RepositoryRowProps {
  repository: RepositoryProgress
  lock: Lock | undefined
  onUnlock(fullName: string): Promise<void>
}

export function RepositoryRow({ repository, lock, onUnlock }: RepositoryRowProps) {
  const to = useLinks()
  const { full_name, state, reason, warning, reused, records } = repository
  const waiting = state === 'exporting' && records?.waiting_for
  const { word, icon: Icon, tone } = LOOKS[state]
  return (
    <li className={styles.row} data-state={state}>
      <span className={styles.icon}>
        <Icon />
        <ScreenReaderText>{word}:</ScreenReaderText>
      </span>
      <div className={styles.name}>
        <a href={to.repository(full_name)}>{full_name}</a>
        {reused && <Label variant="secondary">Reused</Label>}
        {lock && <LockedLabel />}
        {lock && (
          <ConfirmedAction
            name="Unlock"
            object={full_name}
            question={`Unlock ${full_name}?`}
            consequence="It accepts pushes again. What is pushed from now on may be missing in the archive."
            act={() => onUnlock(full_name)}
            onDone={() => {}}
            isDanger={false}
          />
        )}
      </div>
      <div className={styles.bar}>
        <Bar label={`${full_name}: ${word}`} percent={donePercent(repository)} tone={tone} />
      </div>
      <span className={styles.size}>{sizeOf(repository)}</span>
      {reason !== null && (
        <div className={styles.reason}>
          <Reason reason={reason} />
        </div>
      )}
      {reason === null && warning !== null && <p className={styles.reason}>{warning}</p>}
      {waiting && <p className={styles.reason}>Waiting for the forge: {waiting}</p>}
    </li>
  )
}

/** A short reason, with the message of git on demand. */
export function Reason({ reason }: { reason: string }) {
  const short = shortReason(reason)
  if (short === reason) return reason
  return (
    <details>
      <summary>{short}</summary>
      {reason}
    </details>
  )
}

function donePercent({ state, phase, bytes_done, bytes_expected, records }: RepositoryProgress) {
  if (state === 'exported') return 100
  if (state !== 'exporting') return 0
  if (phase === 'records' && records) return percent(records.done, records.expected)
  return percent(bytes_done, bytes_expected)
}

/** The size of a repository is that of the repository index until its export begins. */
function sizeOf(repository: RepositoryProgress): string {
  const { state, phase, bytes_done, bytes_expected, records } = repository
  if (state === 'exported') return formatBytes(bytes_done)
  if (phase === 'records' && records)
    return `${formatNumber(records.done)} of ${formatNumber(records.expected)} records`
  if (phase === 'packing') return `${formatBytes(bytes_done)} of ${formatBytes(bytes_expected)}`
  const isOpen = state === 'waiting' || phase === 'queued'
  return isOpen ? `waiting, about ${formatBytes(bytes_expected)}` : ''
}
