import { gitRecords, type RepositoryCall } from '@godwit/git/files/git-records'
import { readSettings, type Settings, settingValues } from '@godwit/git/files/repository-settings'
import type { Git } from '@godwit/git/git'
import type { ListedRef, RefPage, RefQuery } from '../source.ts'

/** Branches are in the order of their names, tags with the newest version first. */
const LISTINGS = {
  branches: { below: 'refs/heads/', sort: 'refname', format: '%(objectname)' },
  tags: {
    below: 'refs/tags/',
    sort: '-version:refname',
    // For an annotated tag, the fields with an asterisk are those of the object that it names.
    format: '%(objectname) %(objecttype) %(*objectname) %(*objecttype)',
  },
} as const

/** Counts all refs but holds only one page of them in memory. Rejects with Unreadable. */
export async function readRefPage(
  git: Git,
  call: RepositoryCall,
  { kind, offset, limit, only, except }: RefQuery,
): Promise<RefPage> {
  const { below, sort, format } = LISTINGS[kind]
  const isHidden = hiddenRefs(await readSettings(git, call.dir, call.signal))
  const args = [
    'for-each-ref',
    `--sort=${sort}`,
    `--format=%(refname) ${format}`,
    only === undefined ? below : `${below}${only}`,
  ]
  const page: RefPage = { total: 0, refs: [] }
  for await (const line of gitRecords(git, args, '\n', call)) {
    const [ref = '', ...objects] = line.split(' ')
    const name = ref.slice(below.length)
    if (isHidden(ref) || name === except || (only !== undefined && name !== only)) continue
    const commit = kind === 'branches' ? objects[0] : commitOfTag(objects)
    if (commit === undefined) continue
    if (page.total >= offset && page.refs.length < limit) page.refs.push({ name, commit })
    page.total++
  }
  return { ...page, refs: await resolveTags(git, call, page.refs) }
}

/** A placeholder for the commit of a tag of a tag, until it is resolved. */
const UNRESOLVED = ''

/** Returns undefined for a tag of a tree or blob, which cannot be checked out. */
function commitOfTag([oid, type, peeled, peeledType]: string[]): string | undefined {
  if (type === 'commit') return oid
  if (peeledType === 'tag') return UNRESOLVED
  return peeledType === 'commit' ? peeled : undefined
}

/** Resolves tags of tags with one more process: before version 2.45, `for-each-ref` follows only one tag. */
async function resolveTags(
  git: Git,
  call: RepositoryCall,
  refs: ListedRef[],
): Promise<ListedRef[]> {
  const tags = refs.filter(({ commit }) => commit === UNRESOLVED)
  if (tags.length === 0) return refs
  const input = tags.map(({ name }) => `refs/tags/${name}^{commit}\n`).join('')
  const output = await git.text(['cat-file', '--batch-check=%(objectname)'], { ...call, input })
  const lines = output.split('\n')
  const commits = new Map(tags.map(({ name }, index) => [name, lines[index] ?? '']))
  return refs
    .map((ref) => ({ ...ref, commit: commits.get(ref.name) ?? ref.commit }))
    .filter(({ commit }) => /^[0-9a-f]{40,64}$/.test(commit))
}

/** Returns a predicate for the refs that the repository hides from fetches. The last rule for a ref takes precedence. */
function hiddenRefs(settings: Settings): (ref: string) => boolean {
  const rules = ['transfer.hiderefs', 'uploadpack.hiderefs']
    .flatMap((key) => settingValues(settings, key))
    .map((rule) => ({
      isHidden: !rule.startsWith('!'),
      prefix: rule.replace(/^!?\^?/, '').replace(/\/+$/, ''),
    }))
  return (ref) =>
    rules.findLast(({ prefix }) => ref === prefix || ref.startsWith(`${prefix}/`))?.isHidden ??
    false
}
