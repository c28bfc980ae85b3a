import { rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import { oneLine } from '../../../lib/one-line.ts'
import type { Milestone } from '../../../records/repository.ts'
import type { DumpContext } from './dump-context.ts'
import { branchRef, type OidsByRef, readOidsByRef } from './pull-heads.ts'
import { yamlJson, yamlList, yamlTime } from './yaml-json.ts'

/** The numbers by which the server knows where a repository came from: GitHub, or any git host. */
const SERVICES = { github: '2', git: '1' }

/** repo.yml, topic.yml, label.yml and milestone.yml. Values of repo.yml must be texts. */
export async function dumpSettings(
  context: DumpContext,
  address: string | undefined,
  target: string,
) {
  const { place, repository, owner, name, labels } = context
  const from = address ?? ''
  const isGitHub = /^https?:\/\/github\.com\//i.test(from)
  await writeFile(
    join(place, 'repo.yml'),
    `${yamlJson({
      name,
      owner,
      description: oneLine(repository.description ?? ''),
      // Only where it begins with the server's own address are accounts known by their numbers.
      original_url: target === '' ? from : `${target}?migrated-from=${encodeURIComponent(from)}`,
      clone_addr: from,
      default_branch: repository.defaultBranch ?? '',
      is_private: String(repository.private),
      service_type: isGitHub ? SERVICES.github : SERVICES.git,
      ...Object.fromEntries(UNITS.map((unit) => [unit, 'true'])),
    })}\n`,
  )
  const topics = (repository.topics ?? []).map((topic) => topic.name)
  // Servers before 1.15.11 fail without it.
  await writeFile(join(place, 'topic.yml'), `${yamlJson({ topics })}\n`)
  const list = yamlList(join(place, 'label.yml'))
  for (const label of labels.values()) list.add(label)
  list.close()
  dumpMilestones(context)
}

const UNITS = ['wiki', 'issues', 'milestones', 'labels', 'releases', 'comments', 'pulls', 'assets']

function dumpMilestones({ place, rows, shelf, text, milestones }: DumpContext): void {
  const list = yamlList(join(place, 'milestone.yml'))
  for (const [, milestone] of rows.all<Milestone>(shelf('milestones')))
    list.add({
      title: milestones.get(milestone.number)!,
      description: text(milestone.description),
      deadline: milestone.dueOn === null ? null : yamlTime(milestone.dueOn),
      created: yamlTime(milestone.createdAt),
      updated: yamlTime(milestone.updatedAt),
      closed: milestone.closedAt === null ? null : yamlTime(milestone.closedAt),
      state: milestone.state,
    })
  list.close()
}

/** Moves the proven repository to git/, with the default branch that its record names. */
export async function placeGit(
  { place, git, repository }: DumpContext,
  from: string,
  signal: AbortSignal,
): Promise<OidsByRef> {
  const dir = join(place, 'git')
  await rename(from, dir)
  const refs = await readOidsByRef(git, dir, signal)
  const branch = branchRef(repository.defaultBranch ?? '')
  if (refs.has(branch)) await writeFile(join(dir, 'HEAD'), `ref: ${branch}\n`, 'latin1')
  return refs
}

const MASTER = 'refs/heads/master'

/**
 * Moves a wiki to wiki/. The server looks for it where other hosts have it, in `git.wiki.git`; and old ones show only a
 * branch `master`.
 */
export async function placeWiki(
  { place, git }: { place: string; git: Git },
  from: string,
  signal: AbortSignal,
): Promise<void> {
  const refs = await readOidsByRef(git, from, signal)
  // An empty one would fail the whole restore.
  if (![...refs.keys()].some((ref) => ref.startsWith('refs/heads/'))) return
  const dir = join(place, 'wiki')
  await rename(from, dir)
  if (!refs.has(MASTER)) {
    const head = await git.text(['symbolic-ref', 'HEAD'], { dir, signal }).catch(() => '')
    const first = [...refs].find(([ref]) => ref.startsWith('refs/heads/'))
    const sha = refs.get(head.trim()) ?? first![1]
    await git.run(['update-ref', MASTER, sha], { dir, signal })
    await writeFile(join(dir, 'HEAD'), `ref: ${MASTER}\n`)
  }
  await symlink('wiki', join(place, 'git.wiki.git'))
}
