import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Config } from '../../config.ts'
import type { Git } from '../../git/git.ts'
import { GitFailed } from '../../git/git-end.ts'
import { hasCode } from '../../ground/errno.ts'
import { broken, type Finding, fine, wordsOf } from './finding.ts'

const OLDEST = [2, 30] as const
const INSTALL = `install git ${OLDEST.join('.')} or newer, or say with --git where it is`

export async function checkGit(config: Config, git: Git): Promise<Finding> {
  const program = whereIs(config)
  let said: string
  try {
    said = (await git.text(['--version'])).trim()
  } catch (error) {
    return broken('git', whyNot(config, error), INSTALL)
  }
  const [, major, minor] = /\b(\d+)\.(\d+)/.exec(said) ?? []
  if (!major || !minor) return broken('git', `${program} says "${said}", no version`, INSTALL)
  const found = `${said.replace(/^git version /, '')}, at ${program}`
  const isOld =
    Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1])
  return isOld ? broken('git', `${found}, is too old`, INSTALL) : fine('git', found)
}

function whyNot({ git, searchPath }: Config, error: unknown): string {
  const cause = error instanceof GitFailed ? (error.cause ?? error) : error
  if (!hasCode(cause, 'ENOENT')) return `${git} cannot be run: ${wordsOf(cause)}`
  return git.includes('/') ? `${git} is not there` : `no ${git} in ${searchPath}`
}

/** Which of several it is that runs. */
function whereIs({ git, searchPath }: Config): string {
  if (git.includes('/')) return git
  const places = searchPath.split(delimiter).map((folder) => join(folder, git))
  return places.find(canRun) ?? git
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
