import { CheckIcon, CopyIcon } from '@primer/octicons-react'
import { Button } from '@primer/react'
import { useState } from 'react'
import { copyText } from '../copy-text.ts'
import { announce } from './announcements.tsx'
import styles from './copy-address.module.css'

const SHOWN_MS = 2000

/** An address to be used elsewhere: to read, to select, and to copy by one button. */
export function CopyAddress({ name, address }: { name: string; address: string }) {
  const [isCopied, setCopied] = useState(false)
  async function copy(): Promise<void> {
    const isDone = await copyText(address)
    announce(isDone ? `${name} copied` : `${name} could not be copied`)
    setCopied(isDone)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  return (
    <div className={styles.line}>
      <span className={styles.name}>{name}</span>
      <code className={styles.address}>{address}</code>
      <Button
        size="small"
        leadingVisual={isCopied ? CheckIcon : CopyIcon}
        aria-label={`Copy ${name}`}
        onClick={() => void copy()}
      >
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  )
}
