import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { TIMEOUT_MS } from './wait-until.ts'

const program = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'chromium'))
  .find(existsSync)

export const isChromiumInstalled = program !== undefined

/** The system's own; nothing is downloaded. */
export function launchChromium(): Promise<Browser> {
  if (!program) throw new Error('Chromium is not installed')
  // Root cannot have the sandbox, and we open no page but our own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath: program, args, timeout: TIMEOUT_MS })
}
