import { join } from 'node:path'
import type { Release } from '../../records/release.ts'
import { linkOrCopy, urlName } from '../output.ts'
import type { DumpContext } from './dump-context.ts'
import type { OidsByRef } from './pull-heads.ts'
import { YamlList, yamlTime } from './yaml-json.ts'

/** Writes release.yml and release_assets/. */
export async function dumpReleases(context: DumpContext, refs: OidsByRef): Promise<void> {
  const { directory, facts, report, fullName, signal } = context
  const list = new YamlList(join(directory, 'release.yml'))
  const takenTags = new Set<string>()
  for (const [index, release] of [...facts.all('releases')].entries()) {
    signal.throwIfAborted()
    const assets = await dumpAssets(context, release, index + 1)
    const tag = chooseTag(context, release, refs, takenTags)
    // The server replaces the time of a release by that of the commit of its tag.
    report.lost('release_times', tag.draft ? 0 : 1, `${fullName}: ${tag.tag}`)
    list.add(dumpRelease(context, release, { ...tag, assets }))
  }
  list.close()
}

/**
 * Returns the tag and whether the release is a draft. The server accepts each tag once, and old versions fail at a published release
 * whose tag is not in git. Such a release becomes a draft.
 */
function chooseTag(
  { facts }: DumpContext,
  { tag, draft }: Release,
  refs: OidsByRef,
  taken: Set<string>,
) {
  const exists = refs.has(`refs/tags/${Buffer.from(tag).toString('latin1')}`)
  let name = tag
  const isUsable = exists || /^[\w.+-]+(?:\/[\w.+-]+)*$/.test(tag)
  if (!isUsable || taken.has(tag)) {
    for (let n = 1; taken.has(name) || name === tag; n++) name = `draft-${n}`
    facts.warn(
      'releases',
      `the tag name ${JSON.stringify(tag)} is ${isUsable ? 'used twice' : 'not usable'}: its release becomes the draft ${name}`,
    )
  } else if (!exists && !draft)
    facts.warn('releases', `the tag ${tag} is not in the archive: its release becomes a draft`)
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
  { directory, facts, content }: DumpContext,
  release: Release,
  index: number,
) {
  const dumped: unknown[] = []
  for (const [n, asset] of release.assets.entries()) {
    const found = await content.findFile(asset.file)
    if ('missing' in found) {
      facts.loseRecord('release_assets', found.missing)
      continue
    }
    const path = `release_assets/${index}/${n + 1}/${urlName(asset.name)}`
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
