import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { OidsByRef } from '@godwit/git/commits-and-refs'
import type { Release } from '../../records/release.ts'
import type { FormatReader } from '../format.ts'
import { linkOrCopy, urlName } from '../output.ts'
import type { RepositoryRecords } from '../sort-records.ts'
import type { Upload } from './rewrite-text.ts'
import { gitlabTime, type Project, timestamps } from './write-project.ts'

/** A file of an export, and where its content is. */
export type ExportFile = { path: string; from: string }

/** Returns the files of issues and comments by what links to them contain: a UUID without hyphens, or `files/ID`. */
export async function findUploads(
  records: RepositoryRecords,
  content: FormatReader,
): Promise<Map<string, Upload & ExportFile>> {
  const uploads = new Map<string, Upload & ExportFile>()
  for (const attachment of records.all('attachments')) {
    const found = await records.findFile(content, 'attachments', attachment.file)
    if (!found) continue
    const uuid = 'uuid' in attachment ? attachment.uuid.replaceAll('-', '').toLowerCase() : ''
    const digest = hash('sha256', attachment.file).slice(0, 32)
    const isUnique = (uploads.get(uuid)?.from ?? found.file) === found.file
    const hex = /^[0-9a-f]{32}$/.test(uuid) && isUnique ? uuid : digest
    const { name, contentType } = attachment
    const path = `uploads/${hex}/${urlName(name)}`
    const isMedia = /^(?:image|video|audio)\//.test(contentType)
    const key = 'uuid' in attachment ? hex : `files/${attachment.id}`
    uploads.set(key, { path, from: found.file, url: `/${path}`, name, isMedia })
  }
  return uploads
}

interface ReleaseOptions {
  refs: OidsByRef
  content: FormatReader
  assetBaseUrl: string
  /** The directory for the assets. It is created if there are any. */
  assets: string
}

/** Yields the releases. GitLab has no drafts, and its releases refer to their files by URL. */
export async function* releases(project: Project, options: ReleaseOptions) {
  const { report, fullName } = project
  const tags = new Set<string>()
  for (const release of [...project.all('releases')]) {
    const { tag, name, author, createdAt, publishedAt, assets, reactions = [] } = release
    if (release.draft || tags.has(tag) || tag.trim() === '') {
      const isNamed = tag.trim() !== ''
      const why = release.draft ? 'a draft' : isNamed ? 'the tag has another release' : 'no tag'
      report.addLoss('releases', 1, `${fullName}: ${tag}: ${why}`)
      report.addLoss('release_assets', assets.length)
      continue
    }
    tags.add(tag)
    const ref = `refs/tags/${Buffer.from(tag).toString('latin1')}`
    if (!options.refs.has(ref)) project.warn('releases', `the tag ${tag} is not in the input`)
    report.addLoss('release_reactions', reactions.length)
    report.addLoss('prerelease_marks', release.prerelease ? 1 : 0, `${fullName}: ${tag}`)
    yield {
      tag,
      name: name || tag,
      description: project.text(release.body),
      author_id: project.userId(author),
      released_at: gitlabTime(publishedAt ?? createdAt),
      created_at: gitlabTime(createdAt),
      updated_at: gitlabTime(publishedAt ?? createdAt),
      links: await assetLinks(project, release, { ...options, index: tags.size }),
    }
  }
}

/** Puts the files of a release into the directory, and returns the links to where they will be published. */
async function assetLinks(
  { report, fullName }: Project,
  { tag, assets, createdAt }: Release,
  { assetBaseUrl, content, index, assets: directory }: ReleaseOptions & { index: number },
) {
  const links = new Map<string, object>()
  for (const [n, { name, file }] of assets.entries()) {
    const found = await content.findFile(file, fullName)
    if (assetBaseUrl === '' || 'missing' in found) {
      const why = 'missing' in found ? found.missing : 'needs --asset-base-url'
      report.addLoss('release_assets', 1, `${fullName}: ${name} of ${tag}: ${why}`)
      continue
    }
    const path = `${index}/${n + 1}/${urlName(name)}`
    await linkOrCopy(found.file, join(directory, path))
    // GitLab rejects a second link with the same name.
    let unique = name
    for (let n = 2; links.has(unique); n++) unique = `${name} (${n})`
    links.set(unique, {
      url: `${assetBaseUrl}${fullName}_assets/${path}`,
      name: unique,
      link_type: 'other',
      ...timestamps(createdAt),
    })
  }
  return [...links.values()]
}
