import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { hasCode } from '../lib/errno.ts'
import type { Git, GitOptions } from './git.ts'
import { GitFailed } from './git-end.ts'

const OLDEST = [2, 30] as const
const INSTALL = `install git ${OLDEST.join('.')} or newer, or set --git`

type GitPlace = Pick<GitOptions, 'program' | 'searchPath'>

/** What was found where git should be; with advice where it cannot be used. */
export interface InstalledGit {
  found: string
  advice?: string
}

export async function lookForGit(options: GitPlace, git: Git): Promise<InstalledGit> {
  const program = whereIs(options)
  let said: string
  try {
    said = (await git.text(['--version'])).trim()
  } catch (error) {
    return { found: whyNot(options, error), advice: INSTALL }
  }
  const [, major, minor] = /\b(\d+)\.(\d+)/.exec(said) ?? []
  if (!major || !minor)
    return { found: `${program} printed "${said}" instead of a version`, advice: INSTALL }
  const found = `${said.replace(/^git version /, '')}, at ${program}`
  const isOld =
    Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1])
  return isOld ? { found: `${found}, is too old`, advice: INSTALL } : { found }
}

function whyNot({ program, searchPath }: GitPlace, error: unknown): string {
  const cause = error instanceof GitFailed ? (error.cause ?? error) : error
  if (!hasCode(cause, 'ENOENT')) return `${program} cannot be run: ${(cause as Error).message}`
  return program.includes('/') ? `${program} does not exist` : `no ${program} in ${searchPath}`
}

/** Which of several it is that runs. */
function whereIs({ program, searchPath }: GitPlace): string {
  if (program.includes('/')) return program
  const places = searchPath.split(delimiter).map((folder) => join(folder, program))
  return places.find(canRun) ?? program
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
