import styles from './bar.module.css'

export type BarTone = 'accent' | 'success' | 'attention' | 'danger' | 'neutral'

interface BarProps {
  label: string
  /** 0 to 100; null if unknown. */
  percent: number | null
  tone: BarTone
  isThick?: boolean
}

export function Bar({ label, percent, tone, isThick = false }: BarProps) {
  const isUnknown = percent === null
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      {...(!isUnknown && { 'aria-valuenow': Math.round(percent) })}
      className={styles.track}
      data-thick={isThick}
      data-unknown={isUnknown}
      data-tone={tone}
    >
      <div className={styles.done} style={isUnknown ? undefined : { width: `${percent}%` }} />
    </div>
  )
}
