import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { hasCode } from '../lib/errno.ts'
import type { Git, GitOptions } from './git.ts'
import { GitFailed } from './git-process.ts'

const MIN_VERSION = [2, 30] as const
const ADVICE = `install git ${MIN_VERSION.join('.')} or newer, or set --git`

type GitProgram = Pick<GitOptions, 'program' | 'searchPath'>

/** Describes the installed git, with advice if it cannot be used. */
export interface InstalledGit {
  found: string
  advice?: string
}

export async function findGit(options: GitProgram, git: Git): Promise<InstalledGit> {
  const program = findProgram(options)
  let version: string
  try {
    version = (await git.text(['--version'])).trim()
  } catch (error) {
    return { found: startFailure(options, error), advice: ADVICE }
  }
  const [, major, minor] = /\b(\d+)\.(\d+)/.exec(version) ?? []
  if (!major || !minor)
    return { found: `${program} printed "${version}" instead of a version`, advice: ADVICE }
  const found = `${version.replace(/^git version /, '')}, at ${program}`
  const isOld =
    Number(major) < MIN_VERSION[0] ||
    (Number(major) === MIN_VERSION[0] && Number(minor) < MIN_VERSION[1])
  return isOld ? { found: `${found}, is too old`, advice: ADVICE } : { found }
}

function startFailure({ program, searchPath }: GitProgram, error: unknown): string {
  const cause = error instanceof GitFailed ? (error.cause ?? error) : error
  if (!hasCode(cause, 'ENOENT')) return `${program} cannot be run: ${(cause as Error).message}`
  return program.includes('/') ? `${program} does not exist` : `no ${program} in ${searchPath}`
}

/** Returns the path of the program that runs: several directories of the search path may have one. */
function findProgram({ program, searchPath }: GitProgram): string {
  if (program.includes('/')) return program
  const paths = searchPath.split(delimiter).map((folder) => join(folder, program))
  return paths.find(canRun) ?? program
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
