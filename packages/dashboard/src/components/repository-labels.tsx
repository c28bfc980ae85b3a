import { AlertIcon, LockIcon } from '@primer/octicons-react'
import { Label } from '@primer/react'
import styles from './repository-labels.module.css'

/** Marks a repository that refuses pushes because a migration locks it. */
export const LockedLabel = () => (
  <Label
    className={styles.label}
    variant="attention"
    title="Locked by a migration: pushes are refused"
  >
    <LockIcon size={12} /> Locked
  </Label>
)

/** Marks a damaged repository. Without a reason, its last check has found the damage. */
export const DamagedLabel = ({ reason }: { reason?: string | undefined }) => (
  <Label
    className={styles.label}
    variant="danger"
    title={reason ?? 'The last check failed: this repository cannot be exported'}
  >
    <AlertIcon size={12} /> Damaged
  </Label>
)
