import { isPartial } from '@godwit/contract/schemas/describe-outcome'
import {
  AlertFillIcon,
  AlertIcon,
  CheckCircleFillIcon,
  CheckCircleIcon,
  CircleSlashIcon,
  ClockIcon,
  DotFillIcon,
  XCircleFillIcon,
  XCircleIcon,
} from '@primer/octicons-react'
import type { MigrationState } from '../api-types.ts'
import { ScreenReaderText } from './announcements.tsx'
import styles from './migration-state.module.css'

/** The state of a migration, or `partial` if it is exported without some repositories or LFS objects. */
export type ShownState = MigrationState | 'partial'

export const shownState = (
  state: MigrationState,
  counts: { skipped: number; incomplete: number },
): ShownState => (isPartial({ state, repositories: counts }) ? 'partial' : state)

const LOOKS: Record<ShownState, { word: string; icon: typeof ClockIcon; small: typeof ClockIcon }> =
  {
    pending: { word: 'Pending', icon: ClockIcon, small: ClockIcon },
    exporting: { word: 'Exporting', icon: DotFillIcon, small: DotFillIcon },
    exported: { word: 'Exported', icon: CheckCircleIcon, small: CheckCircleFillIcon },
    partial: { word: 'Partly exported', icon: AlertIcon, small: AlertFillIcon },
    failed: { word: 'Failed', icon: XCircleIcon, small: XCircleFillIcon },
    cancelled: { word: 'Cancelled', icon: CircleSlashIcon, small: CircleSlashIcon },
  }

export const stateWord = (state: ShownState): string => LOOKS[state].word

/** The state, in the size of a title. */
export function StateLabel({ state }: { state: ShownState }) {
  const { word, icon: Icon } = LOOKS[state]
  return (
    <span className={styles.label} data-state={state}>
      <Icon />
      {word}
    </span>
  )
}

export function StateIcon({ state }: { state: ShownState }) {
  const { word, small: Icon } = LOOKS[state]
  return (
    <span className={styles.icon} data-state={state}>
      <Icon />
      <ScreenReaderText>{word}:</ScreenReaderText>
    </span>
  )
}
