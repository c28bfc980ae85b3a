import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const ENVIRONMENT = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
}

export async function git(...args: string[]): Promise<string> {
  const { stdout } = await run('git', args, { env: { ...process.env, ...ENVIRONMENT } })
  return stdout.trimEnd()
}

export interface Host {
  /** The root directory of `OWNER/NAME.git`. */
  root: string
  remove(): Promise<void>
}

/** Makes bare repositories in a temporary directory, each with one commit, a tag, and its settings. */
export async function makeRepositories(
  repositories: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<Host> {
  const base = await mkdtemp(join(tmpdir(), 'godwit-wire-'))
  for (const [fullName, settings] of Object.entries(repositories)) {
    const work = join(base, 'work', fullName)
    await git('init', '--quiet', '--initial-branch=main', work)
    await writeFile(join(work, 'README'), `This is ${fullName}.\n`)
    const license = settings['godwit.license']
    if (license !== undefined) await writeFile(join(work, 'LICENSE'), `See ${license}.\n`)
    await git('-C', work, 'add', '.')
    await git('-C', work, 'commit', '--quiet', '--message', `Begin ${fullName}`)
    await git('-C', work, 'tag', 'v1.0')
    const bare = join(base, 'host', `${fullName}.git`)
    await git('clone', '--quiet', '--bare', work, bare)
    for (const [key, value] of Object.entries(settings)) {
      await git('-C', bare, 'config', key, value)
    }
  }
  return { root: join(base, 'host'), remove: () => rm(base, { recursive: true, force: true }) }
}
