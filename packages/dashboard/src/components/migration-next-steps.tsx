import { CheckIcon, CopyIcon } from '@primer/octicons-react'
import { IconButton } from '@primer/react'
import { useState } from 'react'
import { copyText } from '../copy-text.ts'
import { announce } from './announcements.tsx'
import { Box } from './box.tsx'
import styles from './migration-next-steps.module.css'

interface NextStepsProps {
  id: number
  org: string | undefined
  /** The name of the downloaded archive. */
  file: string
}

/** What to do with an exported archive, as commands to copy. */
export function NextSteps({ id, org, file }: NextStepsProps) {
  const steps = [
    {
      name: 'Download the archive',
      command: `godwit migration download ${id}${org === undefined ? '' : ` --org ${org}`}`,
    },
    { name: 'Check every repository with git', command: `godwit verify ${file}` },
    {
      name: 'Restore the repositories to a directory',
      command: `godwit restore ${file} --into restored`,
    },
    {
      name: 'Read it in a browser, without a server',
      command: `godwit convert ${file} --to html --output site`,
    },
  ]
  return (
    <Box title="Next steps">
      <ol className={styles.steps}>
        {steps.map((step) => (
          <Step key={step.name} {...step} />
        ))}
      </ol>
    </Box>
  )
}

const SHOWN_MS = 2000

function Step({ name, command }: { name: string; command: string }) {
  const [isCopied, setCopied] = useState(false)
  async function copy(): Promise<void> {
    const isDone = await copyText(command)
    announce(isDone ? `Command copied: ${name}` : 'The command could not be copied')
    setCopied(isDone)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  return (
    <li>
      <p>{name}</p>
      <div className={styles.command}>
        <code>{command}</code>
        <IconButton
          icon={isCopied ? CheckIcon : CopyIcon}
          size="small"
          variant="invisible"
          aria-label={`Copy: ${name}`}
          onClick={() => void copy()}
        />
      </div>
    </li>
  )
}
