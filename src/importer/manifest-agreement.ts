import type { ManifestGit, ManifestRepository } from '../archive/manifest.ts'
import { statedRefs } from '../sources/directory/snapshot/stated-refs.ts'
import type { Examination, Found } from '../sources/source.ts'
import type { SegmentRun } from './unpack-archive.ts'

const MAX_TOLD = 10

/** Where a repository is not what the manifest says of it, each in a line without its name. */
export function disagreements(
  said: ManifestRepository,
  { repository, wiki }: Examination,
): string[] {
  return [
    ...gitDisagreements(said, repository),
    ...(said.wiki && wiki ? gitDisagreements(said.wiki, wiki).map((line) => `wiki: ${line}`) : []),
    ...(said.wiki && !wiki ? ['its wiki is missing'] : []),
    ...(wiki && !said.wiki ? ['it has a wiki that the manifest does not name'] : []),
    ...differences(
      'LFS object',
      new Map(said.lfs.map(({ oid, size }) => [oid, `${size} bytes`])),
      new Map(
        repository.lfsObjects.map(({ path, size }) => [path.split('/').at(-1)!, `${size} bytes`]),
      ),
    ),
  ]
}

/** Whether the entries of the repository are, byte for byte, those that its segment was made of. */
export function runDisagreement({ segment }: ManifestRepository, run: SegmentRun): string[] {
  if (run.plainLength !== segment.plain_length)
    return [`it has ${run.plainLength} bytes of tar, not ${segment.plain_length}`]
  return run.crc32 === segment.crc32 ? [] : ['its bytes are not those it was exported with (CRC)']
}

function gitDisagreements(said: ManifestGit, found: Found): string[] {
  if (said.object_format !== found.objectFormat)
    return [`its objects are ${found.objectFormat}, not ${said.object_format}`]
  const { head, refs, symrefs } = statedRefs(found)
  return [
    ...(head === said.head ? [] : [`HEAD is ${head}, and the manifest says ${said.head}`]),
    ...differences('ref', oidsOf(said.refs), oidsOf(refs)),
    ...differences('symbolic ref', targetsOf(said.symrefs), targetsOf(symrefs)),
  ]
}

const oidsOf = (refs: ManifestGit['refs']) => new Map(refs.map(({ name, oid }) => [name, oid]))
const targetsOf = (symrefs: ManifestGit['symrefs']) =>
  new Map(symrefs.map(({ name, target }) => [name, target]))

function differences(
  what: string,
  said: ReadonlyMap<string, string>,
  found: ReadonlyMap<string, string>,
): string[] {
  const lines: string[] = []
  for (const [name, value] of said) {
    const there = found.get(name)
    if (there === undefined) lines.push(`the ${what} ${name} is missing`)
    else if (there !== value) lines.push(`${name} is ${there}, and the manifest says ${value}`)
  }
  for (const name of found.keys())
    if (!said.has(name)) lines.push(`the manifest does not name the ${what} ${name}`)
  const more = lines.length - MAX_TOLD
  return more > 0 ? [...lines.slice(0, MAX_TOLD), `and ${more} more like these`] : lines
}
