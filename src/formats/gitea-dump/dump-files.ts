import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Release, ReleaseAsset } from '../../records/release.ts'
import { linkOrCopy } from '../output.ts'
import type { DumpContext } from './dump-context.ts'
import type { OidsByRef } from './pull-heads.ts'
import { YamlList, yamlTime } from './yaml-json.ts'

/** Writes release.yml and release_assets/. */
export async function dumpReleases(
  context: DumpContext,
  refs: OidsByRef,
  signal: AbortSignal,
): Promise<void> {
  const list = new YamlList(join(context.directory, 'release.yml'))
  const takenTags = new Set<string>()
  const releases = Array.from(context.rows.all<Release>('releases'), ([, release]) => release)
  for (const [index, release] of releases.entries()) {
    signal.throwIfAborted()
    const assets = await dumpAssets(context, release, index + 1, signal)
    const tag = chooseTag(context, release, refs, takenTags)
    // The server replaces the time of a release by that of the commit of its tag.
    context.report.lost('release_times', tag.draft ? 0 : 1, `${context.fullName}: ${tag.tag}`)
    list.add(dumpRelease(context, release, { ...tag, assets }))
  }
  list.close()
}

/**
 * Returns the tag and whether the release is a draft. The server accepts each tag once, and old versions fail at a published release
 * whose tag is not in git. Such a release becomes a draft.
 */
function chooseTag(
  { report, fullName }: DumpContext,
  { tag, draft }: Release,
  refs: OidsByRef,
  taken: Set<string>,
) {
  const exists = refs.has(`refs/tags/${Buffer.from(tag).toString('latin1')}`)
  let name = tag
  const isUsable = exists || /^[\w.+-]+(?:\/[\w.+-]+)*$/.test(tag)
  if (!isUsable || taken.has(tag)) {
    for (let n = 1; taken.has(name) || name === tag; n++) name = `draft-${n}`
    report.warn(
      'releases',
      `${fullName}: the tag name ${JSON.stringify(tag)} is ${isUsable ? 'used twice' : 'not usable'}: its release becomes the draft ${name}`,
    )
  } else if (!exists && !draft)
    report.warn(
      'releases',
      `${fullName}: the tag ${tag} is not in the archive: its release becomes a draft`,
    )
  taken.add(name)
  return { tag: name, draft: draft || !exists || name !== tag }
}

function dumpRelease(
  context: DumpContext,
  release: Release,
  { tag, draft, assets }: { tag: string; draft: boolean; assets: unknown[] },
) {
  const { id, name } = context.identity(release.author)
  context.report.lost('release_reactions', release.reactions?.length ?? 0)
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

async function dumpAssets(
  context: DumpContext,
  release: Release,
  index: number,
  signal: AbortSignal,
) {
  const { directory, report, fullName } = context
  const dumped: unknown[] = []
  for (const [n, asset] of release.assets.entries()) {
    const found = await context.content.findFile(asset.file, signal)
    if ('missing' in found) {
      report.lostRecord('release_assets', `${fullName}: ${found.missing}`)
      continue
    }
    const path = `release_assets/${index}/${n + 1}/${urlName(asset)}`
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await linkOrCopy(found.file, join(directory, path))
    dumped.push({
      id: 0,
      name: asset.name,
      content_type: asset.contentType,
      // The server crashes without size and download_count.
      size: found.bytes,
      download_count: 0,
      created: yamlTime(release.createdAt),
      updated: yamlTime(release.createdAt),
      download_url: path,
      // Some versions 1.15.x of Gitea use this name instead and crash without it.
      downloadurl: path,
    })
  }
  return dumped
}

/** Returns a file name without special characters, because the server uses it in a URL without escaping it. */
function urlName({ name }: ReleaseAsset): string {
  const plain = name.replace(/[^A-Za-z0-9._-]/g, '_').slice(-100)
  return /^\.*$/.test(plain) ? 'file' : plain
}
