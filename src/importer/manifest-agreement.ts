import type { ManifestGit, ManifestRepository } from '../archive/manifest.ts'
import type { Examination, Found } from '../sources/directory/snapshot/examine.ts'
import { readable } from '../sources/directory/snapshot/examine-refs.ts'
import { resolvingSymrefs } from '../sources/directory/snapshot/snapshot-scratch.ts'
import type { Run } from './unpack-archive.ts'

const MOST_TOLD = 10

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
export function runDisagreement({ segment }: ManifestRepository, run: Run): string[] {
  if (run.plainLength !== segment.plain_length)
    return [`it has ${run.plainLength} bytes of tar, not ${segment.plain_length}`]
  return run.crc32 === segment.crc32 ? [] : ['its bytes are not those it was exported with (CRC)']
}

function gitDisagreements(said: ManifestGit, found: Found): string[] {
  if (said.object_format !== found.objectFormat)
    return [`its objects are ${found.objectFormat}, not ${said.object_format}`]
  const head = 'oid' in found.head ? found.head.oid : readable(found.head.target)
  const oids = found.refs.flatMap((ref): [string, string][] =>
    'oid' in ref ? [[readable(ref.name), ref.oid]] : [],
  )
  const targets = resolvingSymrefs(found.refs).map(({ name, target }): [string, string] => [
    readable(name),
    readable(target),
  ])
  return [
    ...(head === said.head ? [] : [`HEAD is ${head}, and the manifest says ${said.head}`]),
    ...differences('ref', new Map(said.refs.map(({ name, oid }) => [name, oid])), new Map(oids)),
    ...differences(
      'symbolic ref',
      new Map(said.symrefs.map(({ name, target }) => [name, target])),
      new Map(targets),
    ),
  ]
}

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
  const more = lines.length - MOST_TOLD
  return more > 0 ? [...lines.slice(0, MOST_TOLD), `and ${more} more like these`] : lines
}
