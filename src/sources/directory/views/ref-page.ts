import type { Git } from '../../../git/git.ts'
import type { AskedRefs, ListedRef, RefPage } from '../../source.ts'
import type { RepositoryCall } from '../facts/repository-refs.ts'
import { gitRecords } from '../files/git-records.ts'
import { everySetting, readSettings, type Settings } from '../files/repository-settings.ts'

/** Branches in the order of their names; tags with the newest version first. */
const LISTINGS = {
  branches: { below: 'refs/heads/', sort: 'refname', format: '%(objectname)' },
  tags: {
    below: 'refs/tags/',
    sort: '-version:refname',
    // A tag is asked what it points at; a commit points at nothing.
    format: '%(objectname) %(objecttype) %(*objectname) %(*objecttype)',
  },
} as const

/** All are counted and a page of them is kept, so that a million refs take no more memory than a hundred. */
export async function readRefPage(
  git: Git,
  call: RepositoryCall,
  { kind, offset, limit, only, except }: AskedRefs,
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
  return { ...page, refs: await resolved(git, call, page.refs) }
}

const A_TAG = ''

/** Undefined where it is a tag of something else, which nobody could check out. */
function commitOfTag([oid, type, peeled, peeledType]: string[]): string | undefined {
  if (type === 'commit') return oid
  if (peeledType === 'tag') return A_TAG
  return peeledType === 'commit' ? peeled : undefined
}

/** Tags of tags by one more process: gits before 2.45 take a single step. */
async function resolved(git: Git, call: RepositoryCall, refs: ListedRef[]): Promise<ListedRef[]> {
  const tags = refs.filter(({ commit }) => commit === A_TAG)
  if (tags.length === 0) return refs
  const input = tags.map(({ name }) => `refs/tags/${name}^{commit}\n`).join('')
  const said = await git.text(['cat-file', '--batch-check=%(objectname)'], { ...call, input })
  const lines = said.split('\n')
  const commits = new Map(tags.map(({ name }, at) => [name, lines[at] ?? '']))
  return refs
    .map((ref) => ({ ...ref, commit: commits.get(ref.name) ?? ref.commit }))
    .filter(({ commit }) => /^[0-9a-f]{40,64}$/.test(commit))
}

/** What the repository hides from those who fetch, nobody is shown here either. Of several words on a ref the last counts. */
function hiddenRefs(settings: Settings): (ref: string) => boolean {
  const rules = ['transfer.hiderefs', 'uploadpack.hiderefs']
    .flatMap((key) => everySetting(settings, key))
    .map((rule) => ({
      isHidden: !rule.startsWith('!'),
      prefix: rule.replace(/^!?\^?/, '').replace(/\/+$/, ''),
    }))
  return (ref) =>
    rules.findLast(({ prefix }) => ref === prefix || ref.startsWith(`${prefix}/`))?.isHidden ??
    false
}
