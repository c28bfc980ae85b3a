import { copyFile, link, lstat, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isStoredFile } from '../../../archive/manifest.ts'
import { unsafePath } from '../../../archive/tar-header.ts'
import { hasCode } from '../../../lib/errno.ts'
import type {
  AttachedTo,
  Attachment,
  Release,
  ReleaseAsset,
  RepositoryFile,
} from '../../../records/release.ts'
import { CHANGED, digestOf, UNNAMED } from '../../compare-manifest.ts'
import { csvLine } from '../../people.ts'
import type { DumpContext, StoredFiles } from './dump-context.ts'
import type { OidsByRef } from './pull-heads.ts'
import { yamlList, yamlTime } from './yaml-json.ts'

/** release.yml and release_assets/. */
export async function dumpReleases(
  context: DumpContext,
  refs: OidsByRef,
  signal: AbortSignal,
): Promise<void> {
  const { rows, shelf, place } = context
  const list = yamlList(join(place, 'release.yml'))
  const tags = new Set<string>()
  const releases = Array.from(rows.all<Release>(shelf('releases')), ([, release]) => release)
  for (const [index, release] of releases.entries()) {
    signal.throwIfAborted()
    const assets = await dumpAssets(context, release, index + 1, signal)
    list.add(dumpRelease(context, release, { ...tagOf(context, release, refs, tags), assets }))
  }
  list.close()
}

interface Tagged {
  tag: string
  draft: boolean
}

/**
 * The server takes each tag once, and old ones fail at a published release whose tag is not in git: such a release is kept
 * as a draft.
 */
function tagOf(
  { tally, fullName }: DumpContext,
  { tag, draft }: Release,
  refs: OidsByRef,
  taken: Set<string>,
): Tagged {
  const isThere = refs.has(`refs/tags/${Buffer.from(tag).toString('latin1')}`)
  let name = tag
  const isUsable = isThere || /^[\w.+-]+(?:\/[\w.+-]+)*$/.test(tag)
  if (!isUsable || taken.has(tag)) {
    for (let n = 1; taken.has(name) || name === tag; n++) name = `draft-${n}`
    tally.warn(
      'releases',
      `${fullName}: the release of ${JSON.stringify(tag)} becomes the draft ${name}`,
    )
  } else if (!isThere && !draft)
    tally.warn(
      'releases',
      `${fullName}: the tag ${tag} is not in the archive: its release becomes a draft`,
    )
  taken.add(name)
  return { tag: name, draft: draft || !isThere || name !== tag }
}

function dumpRelease(
  context: DumpContext,
  release: Release,
  { tag, draft, assets }: Tagged & { assets: unknown[] },
) {
  const { id, name } = context.identity(release.author)
  context.tally.skip('release_reactions', release.reactions?.length ?? 0)
  return {
    tag_name: tag,
    target_commitish: release.target,
    name: release.name || release.tag,
    body: context.text(release.body),
    draft,
    prerelease: release.prerelease,
    publisher_id: id,
    publisher_name: name,
    publisher_email: '',
    assets,
    created: yamlTime(release.createdAt),
    published: yamlTime(release.publishedAt ?? release.createdAt),
  }
}

/** Size and count must be there: the server ends without them. */
async function dumpAssets(
  context: DumpContext,
  release: Release,
  index: number,
  signal: AbortSignal,
) {
  const { place, tally, fullName } = context
  const dumped: unknown[] = []
  for (const [n, asset] of release.assets.entries()) {
    const from = await storedFile(context.stored, asset.file, signal)
    if ('lost' in from) {
      tally.lose('release_assets', `${fullName}: ${from.lost}`)
      continue
    }
    const path = `release_assets/${index}/${n + 1}/${plainName(asset)}`
    await mkdir(dirname(join(place, path)), { recursive: true })
    await linkOrCopy(from.file, join(place, path))
    dumped.push({
      id: 0,
      name: asset.name,
      content_type: asset.contentType,
      size: from.bytes,
      download_count: 0,
      created: yamlTime(release.createdAt),
      updated: yamlTime(release.createdAt),
      download_url: path,
      // Some servers of 1.15 know it only by this name, and end without it.
      downloadurl: path,
    })
  }
  return dumped
}

/** The server reads it by a URL that nothing is escaped in. */
function plainName({ name }: ReleaseAsset): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '_').slice(-100)
  return /^\.*$/.test(plain) ? 'file' : plain
}

const TITLES = ['belongs to', 'author', 'created', 'name', 'content type', 'bytes', 'file']

/**
 * The format has no place for files of issues and comments: they are written beside it as `attachments/`, and
 * `attachments.csv` says what each belongs to. Answers how many there are.
 */
export async function dumpAttachments(context: DumpContext, signal: AbortSignal): Promise<number> {
  const { rows, shelf, place, stored, tally, fullName } = context
  const lines: string[] = []
  const all = rows.all<Attachment | RepositoryFile>(shelf('attachments'))
  for (const [, attachment] of Array.from(all)) {
    signal.throwIfAborted()
    const from = await storedFile(stored, attachment.file, signal)
    if ('lost' in from) {
      tally.lose('attachments', `${fullName}: ${from.lost}`)
      continue
    }
    const folder = join('attachments', String(lines.length + 1))
    const file = join(folder, attachment.file.split('/').at(-1)!)
    await mkdir(join(place, folder), { recursive: true })
    await linkOrCopy(from.file, join(place, file))
    const owner = 'on' in attachment ? belongsTo(attachment.on) : 'repository'
    const { author, createdAt, name, contentType } = attachment
    lines.push(csvLine([owner, author ?? 'ghost', createdAt, name, contentType, from.bytes, file]))
  }
  if (lines.length > 0)
    await writeFile(join(place, 'attachments.csv'), [csvLine(TITLES), ...lines].join(''))
  return lines.length
}

function belongsTo(on: AttachedTo): string {
  switch (on.kind) {
    case 'issue':
    case 'pull_request':
      return `#${on.number}`
    case 'issue_comment':
      return `comment ${on.id} of #${on.on.number}`
    case 'pull_request_review':
      return `review ${on.id} of #${on.pull}`
    case 'pull_request_review_comment':
      return `review comment ${on.id} of #${on.pull}`
    case 'commit_comment':
      return `comment ${on.id} on ${on.commit}`
    case 'release':
      return `release ${on.tag}`
    case 'repository':
      return 'repository'
  }
}

export type DumpedFile = { file: string; bytes: number } | { lost: string }

/** The unpacked file that a record names, or why it is not restored. Anybody may have written the record. */
export async function storedFile(
  { root, digests }: StoredFiles,
  path: string,
  signal: AbortSignal,
): Promise<DumpedFile> {
  const missing = { lost: `${path} is not in the archive` }
  if (unsafePath(path) || !isStoredFile(path)) return missing
  const file = join(root, path)
  const found = await lstat(file).catch(() => undefined)
  if (!found?.isFile()) return missing
  if (digests) {
    const sha256 = digests.get(path)
    if (sha256 === undefined) return { lost: `${path} ${UNNAMED}` }
    if ((await digestOf(file, {}, signal)) !== sha256) return { lost: `${path} ${CHANGED}` }
  }
  return { file, bytes: found.size }
}

/** Some file systems have no links; some let nobody link to what another owns. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch((error: unknown) => {
    if (!hasCode(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS', 'EXDEV')) throw error
    return copyFile(from, to)
  })
}
