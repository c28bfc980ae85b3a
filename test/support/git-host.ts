import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGit, type Git } from '../../packages/git/src/git.ts'
import { asFolders, looseObjects } from './loose-objects.ts'
import {
  type RepositoryFiles,
  readRepositoryFiles,
  writeRepositoryFiles,
} from './sample-repositories.ts'

type Files = Readonly<Record<string, string>>

interface RepositoryOptions {
  /** The files of the first commit; without files the repository stays empty. */
  files?: Files
  branch?: string
  description?: string
  /** Keys of the repository's config; a list sets a key several times. */
  config?: Readonly<Record<string, string | readonly string[]>>
  /** Makes the repository public by `git-daemon-export-ok`. */
  public?: boolean
  /** The files of its wiki. */
  wiki?: Files
  objectFormat?: 'sha1' | 'sha256'
  /** The time of the first commit. Default: `FIRST_COMMIT`. */
  at?: Date
}

interface CommitOptions {
  branch?: string
  at?: Date
  message?: string
}

export interface GitHost extends AsyncDisposable {
  /** The root directory of `OWNER/NAME.git`. */
  root: string
  /** Git as Godwit runs it. */
  godwitGit: Git
  /** Makes a bare repository and returns its directory. */
  repository(fullName: string, options?: RepositoryOptions): Promise<string>
  /** Commits these files in addition to the existing ones, and returns the commit id. */
  commit(dir: string, files: Files, options?: CommitOptions): Promise<string>
  /** Pushes a commit to a branch as a user, to its directory or to another address. */
  push(fullName: string, files: Files, options?: CommitOptions & { to?: string }): Promise<void>
  /** Runs git as the operator or a user of the host. */
  git(args: readonly string[], options?: { dir?: string; input?: string }): Promise<string>
  path(fullName: string): string
  /** Repairs a damaged repository by making it again with the same content. */
  recreate(fullName: string, files: Files): Promise<void>
  /** Writes a file into the directory of a repository, without git. */
  write(dir: string, name: string, text: string): Promise<void>
  /** Removes objects that the refs of a repository name. */
  loseObjects(fullName: string): Promise<void>
  remove(): Promise<void>
}

export const FIRST_COMMIT = new Date('2020-01-02T03:04:05Z')

/** Makes a git host in a temporary directory: real git, without personal configuration, with reproducible object ids. */
export async function gitHost(): Promise<GitHost> {
  const base = await mkdtemp(join(tmpdir(), 'godwit-git-host-'))
  const root = join(base, 'repositories')
  await mkdir(root)
  const searchPath = process.env.PATH ?? ''
  const env = { ...ENVIRONMENT, PATH: searchPath, HOME: base }

  const path = (fullName: string) => join(root, `${fullName}.git`)
  const git: GitHost['git'] = (args, { dir, input } = {}) =>
    run(args, base, dir === undefined ? env : { ...env, GIT_DIR: dir }, input)

  const importCommit = async (
    dir: string,
    files: Files,
    parent: string,
    options: CommitOptions,
  ) => {
    const { branch = 'main', at = FIRST_COMMIT, message = 'Change things' } = options
    const input = commitStream(`refs/heads/${branch}`, files, parent, at, message)
    await git(['fast-import', '--quiet'], { dir, input })
  }

  const commit: GitHost['commit'] = async (dir, files, options = {}) => {
    const { branch = 'main', at = FIRST_COMMIT, message = 'Change things' } = options
    const objects = looseObjects(dir)
    const ref = `refs/heads/${branch}`
    const parent = objects.readRef(ref)
    const before = parent === undefined ? undefined : objects.treeOf(parent)
    // With more or larger files, one git process is faster than loose objects.
    const isSmall = Object.keys(files).length <= MAX_LOOSE_FILES && sizeOf(files) <= MAX_LOOSE_BYTES
    const isLoose = parent === undefined || before !== undefined
    const folders = isSmall && isLoose ? asFolders(files) : undefined
    const tree =
      folders &&
      (before === undefined ? objects.tree(folders) : objects.extendTree(before, folders))
    if (tree === undefined) {
      await importCommit(dir, files, parent ?? '', options)
      return objects.readRef(ref)!
    }
    const oid = objects.writeCommit({ tree, parent, who: signatureAt(at), message })
    objects.writeRef(ref, oid)
    return oid
  }

  /** Runs `git init` for the first repository of a kind, and copies it for the others: tests make hundreds of them. */
  const initialize = async (dir: string, branch: string, objectFormat: string): Promise<void> => {
    const kind = `${branch} ${objectFormat}`
    const files = EMPTY_REPOSITORIES.get(kind)
    if (files) return writeRepositoryFiles(dir, files)
    const init = ['init', '--quiet', '--bare', '--template=', `--initial-branch=${branch}`]
    await git([...init, `--object-format=${objectFormat}`, dir])
    EMPTY_REPOSITORIES.set(kind, readRepositoryFiles(dir))
  }

  const repository: GitHost['repository'] = async (fullName, options = {}) => {
    const { files, branch = 'main', objectFormat = 'sha1', at } = options
    const dir = path(fullName)
    await initialize(dir, branch, objectFormat)
    await appendFile(join(dir, 'config'), configText(options.config ?? {}))
    if (options.description !== undefined) {
      await writeFile(join(dir, 'description'), options.description)
    }
    if (options.public) await writeFile(join(dir, 'git-daemon-export-ok'), '')
    if (files) await commit(dir, files, { branch, ...(at && { at }) })
    if (options.wiki) await repository(`${fullName}.wiki`, { files: options.wiki })
    return dir
  }

  const push: GitHost['push'] = async (fullName, files, options = {}) => {
    const { branch = 'main', to = path(fullName) } = options
    const clone = await mkdtemp(join(base, 'clone-'))
    const isSha256 = (await readFile(join(path(fullName), 'config'), 'utf8')).includes('= sha256')
    await initialize(clone, branch, isSha256 ? 'sha256' : 'sha1')
    // Writes the files of a clone; `git clone` would start four programs.
    for (const part of ['objects', 'refs', 'packed-refs'])
      if (existsSync(join(path(fullName), part)))
        await cp(join(path(fullName), part), join(clone, part), { recursive: true })
    await commit(clone, files, options)
    await git(['push', '--quiet', to, branch], { dir: clone })
  }

  // A service may still be working there after its last response.
  const remove = () => rm(base, { recursive: true, force: true, maxRetries: 10 })
  return {
    root,
    godwitGit: createGit({ program: 'git', searchPath, home: join(base, 'godwit-home') }),
    repository,
    commit,
    push,
    git,
    path,
    async recreate(fullName, files) {
      await rm(path(fullName), { recursive: true })
      await repository(fullName, { files })
    },
    write: (dir, name, text) => writeFile(join(dir, name), text),
    async loseObjects(fullName) {
      await rm(join(path(fullName), 'objects'), { recursive: true })
      await mkdir(join(path(fullName), 'objects/pack'), { recursive: true })
    },
    remove,
    [Symbol.asyncDispose]: remove,
  }
}

const EMPTY_REPOSITORIES = new Map<string, RepositoryFiles>()

const ENVIRONMENT = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_AUTHOR_DATE: FIRST_COMMIT.toISOString(),
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  GIT_COMMITTER_DATE: FIRST_COMMIT.toISOString(),
  LC_ALL: 'C',
}

function run(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
  input = '',
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env, maxBuffer: 256 * 1024 * 1024 }
    const child = execFile('git', args, options, (error, stdout) =>
      error ? reject(error) : resolve(stdout.trimEnd()),
    )
    // Git may end before it has read its whole input; its exit code reports errors.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
  })
}

/** The largest number of files that are written as loose objects. */
const MAX_LOOSE_FILES = 30
const MAX_LOOSE_BYTES = 100_000

const sizeOf = (files: Files) => Object.values(files).reduce((sum, { length }) => sum + length, 0)

const signatureAt = (at: Date) => `Ada <ada@example.com> ${Math.floor(at.getTime() / 1000)} +0000`

function commitStream(ref: string, files: Files, parent: string, at: Date, message: string) {
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`
  const changes = Object.entries(files).map(
    ([path, text]) => `M 100644 inline ${JSON.stringify(path)}\n${data(text)}`,
  )
  const from = parent === '' ? '' : `from ${parent}\n`
  return `commit ${ref}\ncommitter ${signatureAt(at)}\n${data(message)}${from}${changes.join('')}\n`
}

/** Formats keys such as `section.key` or `section.name.key` as a git config file. */
function configText(config: NonNullable<RepositoryOptions['config']>): string {
  return Object.entries(config)
    .flatMap(([key, values]) => [values].flat().map((value) => [key, value] as const))
    .map(([key, value]) => {
      const [section, ...rest] = key.split('.')
      const name = rest.pop()
      const subsection = rest.length > 0 ? ` "${rest.join('.')}"` : ''
      return `[${section}${subsection}]\n\t${name} = ${JSON.stringify(value)}\n`
    })
    .join('')
}
