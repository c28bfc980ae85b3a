import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LONG_TIMEOUT_MS } from '../../git/git.ts'
import { ifExists } from '../../lib/errno.ts'
import { Unreadable } from '../../sources/unreadable.ts'
import { branchRef, type GitRepository } from '../gitea-dump/pull-heads.ts'

interface BundledRef {
  /** A byte string (latin1), as in git. */
  name: string
  oid: string
}

/**
 * Makes a bare repository of the objects of a git bundle, version 2 or 3, and returns the refs of the bundle, which are not created
 * yet. If the bundle does not exist, the repository is empty. Rejects with Unreadable or GitFailed. The objects are not verified.
 */
export async function unbundle(
  { git, dir, signal }: GitRepository,
  bundle: string,
): Promise<BundledRef[]> {
  const format = await objectFormatOf(bundle)
  const init = ['init', '--quiet', '--bare', '--template=', `--object-format=${format ?? 'sha1'}`]
  await git.run([...init, dir], { signal })
  if (format === undefined) return []
  const call = { dir, signal, timeoutMs: LONG_TIMEOUT_MS, config: { 'core.bare': 'true' } }
  const output = (await git.run(['bundle', 'unbundle', bundle], call)).toString('latin1')
  return output.split('\n').flatMap((line) => {
    const [, oid, name] = /^([0-9a-f]{40,64}) (.+)$/.exec(line) ?? []
    return oid !== undefined && name !== undefined ? [{ oid, name }] : []
  })
}

const MAX_HEADER_BYTES = 4096

/** Reads the header of a bundle. Returns undefined if the file does not exist. */
async function objectFormatOf(bundle: string): Promise<string | undefined> {
  const opened = await ifExists(open(bundle), 'ENOENT')
  if (!opened) return undefined
  await using file = opened
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_HEADER_BYTES) })
  const [signature, ...lines] = buffer.toString('latin1', 0, bytesRead).split('\n')
  const [, version] = /^# v([23]) git bundle$/.exec(signature ?? '') ?? []
  if (version === undefined)
    throw new Unreadable('its bundle is not a git bundle of version 2 or 3')
  const capabilities = version === '3' ? lines.filter((line) => line.startsWith('@')) : []
  const format = capabilities.find((each) => each.startsWith('@object-format='))?.split('=')[1]
  const unknown = capabilities.find((each) => !/^@object-format=sha(?:1|256)$/.test(each))
  if (unknown !== undefined)
    throw new Unreadable(
      `its bundle has the capability ${unknown.slice(1, 50)}, which is not supported`,
    )
  return format ?? 'sha1'
}

/** Creates refs, and points HEAD to the ref `head`. */
export async function createRefs(
  { git, dir, signal }: GitRepository,
  refs: readonly BundledRef[],
  head: string | undefined,
): Promise<void> {
  const lines = refs.map(({ name, oid }) => `create ${name}\0${oid}\0`)
  const input = Buffer.from(lines.join(''), 'latin1')
  await git.run(['update-ref', '--stdin', '-z'], { dir, signal, input })
  // An argument of git would be encoded as UTF-8, which a byte string is not.
  if (head !== undefined) await writeFile(join(dir, 'HEAD'), `ref: ${head}\n`, 'latin1')
}

/**
 * Returns the ref of the default branch: the wanted one if it exists, else a branch at the commit of HEAD, if possible main or master,
 * else any branch. HEAD of a bundle names only a commit.
 */
export function defaultBranchOf(
  refs: readonly BundledRef[],
  wanted: string | null,
): string | undefined {
  const branches = refs.filter(({ name }) => name.startsWith('refs/heads/'))
  const head = refs.find(({ name }) => name === 'HEAD')?.oid
  const atHead = branches.filter(({ oid }) => oid === head).map(({ name }) => name)
  const wantedRef = branchRef(wanted ?? '')
  if (branches.some(({ name }) => name === wantedRef)) return wantedRef
  const usual = ['main', 'master'].map(branchRef)
  return usual.find((name) => atHead.includes(name)) ?? atHead[0] ?? branches[0]?.name
}
