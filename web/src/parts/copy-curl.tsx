import { CheckIcon, CopyIcon, TerminalIcon } from '@primer/octicons-react'
import { ActionList, ActionMenu, Button } from '@primer/react'
import { useState } from 'react'
import { copyText } from '../copy-text.ts'
import { announce } from './announcements.tsx'

export interface CurlCommand {
  name: string
  command: string
}

const SHOWN_MS = 2000

/** What the page does, for a shell; one command by a button, several by a menu. */
export function CopyCurl({ commands }: { commands: CurlCommand[] }) {
  const [isCopied, setCopied] = useState(false)
  async function copy({ name, command }: CurlCommand): Promise<void> {
    const isDone = await copyText(command)
    announce(isDone ? `Command copied: ${name}` : 'The command could not be copied')
    setCopied(isDone)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  const icon = isCopied ? CheckIcon : TerminalIcon
  const [only, ...others] = commands
  if (!only) return null
  if (others.length === 0) {
    return (
      <Button leadingVisual={icon} onClick={() => copy(only)}>
        {isCopied ? 'Copied' : 'Copy as curl'}
      </Button>
    )
  }
  return (
    <ActionMenu>
      <ActionMenu.Button leadingVisual={icon}>
        {isCopied ? 'Copied' : 'Copy as curl'}
      </ActionMenu.Button>
      <ActionMenu.Overlay align="end" width="small">
        <ActionList>
          {commands.map((each) => (
            <ActionList.Item key={each.name} onSelect={() => void copy(each)}>
              <ActionList.LeadingVisual>
                <CopyIcon />
              </ActionList.LeadingVisual>
              {each.name}
            </ActionList.Item>
          ))}
        </ActionList>
      </ActionMenu.Overlay>
    </ActionMenu>
  )
}
