import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { TIMEOUT_MS } from './wait-until.ts'

const folders = (process.env.PATH ?? '').split(delimiter)

/** The one without windows is the same engine with far less around it: a first visit takes a third of the CPU. */
const program = ['chromium-headless-shell', 'chromium']
  .flatMap((name) => folders.map((folder) => join(folder, name)))
  .find(existsSync)

export const isChromiumInstalled = program !== undefined

/** The system's own; nothing is downloaded. */
export function launchChromium(): Promise<Browser> {
  if (!program) throw new Error('Chromium is not installed')
  // Root cannot have the sandbox, and we open no page but our own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return chromium.launch({ executablePath: program, args, timeout: TIMEOUT_MS })
}
