import {
  CheckCircleFillIcon,
  CheckCircleIcon,
  ClockIcon,
  DotFillIcon,
  XCircleFillIcon,
  XCircleIcon,
} from '@primer/octicons-react'
import type { MigrationState } from '../wire.ts'
import { Unseen } from './announcements.tsx'
import styles from './migration-state.module.css'

const LOOKS: Record<
  MigrationState,
  { word: string; icon: typeof ClockIcon; small: typeof ClockIcon }
> = {
  pending: { word: 'Pending', icon: ClockIcon, small: ClockIcon },
  exporting: { word: 'Exporting', icon: DotFillIcon, small: DotFillIcon },
  exported: { word: 'Exported', icon: CheckCircleIcon, small: CheckCircleFillIcon },
  failed: { word: 'Failed', icon: XCircleIcon, small: XCircleFillIcon },
}

export const stateWord = (state: MigrationState): string => LOOKS[state].word

/** As large as a title's neighbour may be. */
export function StateLabel({ state }: { state: MigrationState }) {
  const { word, icon: Icon } = LOOKS[state]
  return (
    <span className={styles.label} data-state={state}>
      <Icon />
      {word}
    </span>
  )
}

export function StateIcon({ state }: { state: MigrationState }) {
  const { word, small: Icon } = LOOKS[state]
  return (
    <span className={styles.icon} data-state={state}>
      <Icon />
      <Unseen>{word}:</Unseen>
    </span>
  )
}
