import { CheckIcon, CopyIcon, TerminalIcon } from '@primer/octicons-react'
import { ActionList, ActionMenu, Button } from '@primer/react'
import { useState } from 'react'
import { API_ADDRESS } from '../api.ts'
import { copyText } from '../copy-text.ts'
import { announce } from './announcements.tsx'

export interface CurlCommand {
  name: string
  command: string
}

const SHOWN_MS = 2000

/** Copies the curl commands of a page: a button for one command, a menu for several. */
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

interface Command {
  path: string
  method?: 'POST' | 'DELETE'
  body?: unknown
  /** Follows redirects and writes the body to this file. */
  output?: string
}

/** Returns a curl command. It reads the token from a variable. */
export function curl(mediaType: string, { path, method, body, output }: Command): string {
  return [
    'curl',
    ...(output === undefined ? [] : [`--location --output ${output}`]),
    ...(method === undefined || body !== undefined ? [] : [`--request ${method}`]),
    '--header "authorization: bearer $GODWIT_TOKEN"',
    `--header 'accept: ${mediaType}'`,
    ...(body === undefined ? [] : [`--data ${quoted(JSON.stringify(body))}`]),
    quoted(`${API_ADDRESS}${path}`),
  ].join(' \\\n  ')
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
