import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  MANIFEST_PATH,
  type Manifest,
  type ManifestGit,
  parseManifest,
} from '../../packages/archive/src/tar/manifest.ts'
import { git } from './sample-repositories.ts'

/** The value of HEAD, and a line for each ref: its name, its object id, and its peeled object id. */
export interface RefState {
  head: string
  refs: string[]
}

export function refStateOf(dir: string): RefState {
  const listed = git(dir, ['for-each-ref', '--format=%(refname) %(objectname) %(symref)'])
  return {
    head: readFileSync(join(dir, 'HEAD'), 'utf8').trim(),
    refs: listed.split('\n').flatMap((line) => (line === '' ? [] : [decodeUtf8(line.trimEnd())])),
  }
}

export function readManifest(unpacked: string): Manifest {
  return parseManifest(readFileSync(join(unpacked, MANIFEST_PATH), 'utf8'))
}

/** Asserts that every object is present and valid, that the refs are the given ones, and that the manifest agrees. */
export function assertArchiveHolds(
  unpacked: string,
  expected: Readonly<Record<string, RefState>>,
): Manifest {
  const manifest = readManifest(unpacked)
  const byName = new Map(
    manifest.repositories.flatMap(({ full_name, wiki, ...git }): [string, ManifestGit][] => [
      [full_name, git],
      ...(wiki ? [[`${full_name}.wiki`, wiki] as [string, ManifestGit]] : []),
    ]),
  )
  assert.deepEqual([...byName.keys()].sort(), Object.keys(expected).sort())
  for (const [name, state] of Object.entries(expected)) {
    const dir = join(unpacked, 'repositories', `${name}.git`)
    assertIntact(dir)
    assert.deepEqual(refStateOf(dir), state, name)
    assert.deepEqual(refStateInManifest(byName.get(name)!), state, `${name} in the manifest`)
  }
  return manifest
}

function assertIntact(dir: string): void {
  git(dir, ['fsck', '--full', '--strict', '--no-dangling'])
}

function refStateInManifest({ head, refs, symrefs }: ManifestGit): RefState {
  const oids = new Map(refs.map(({ name, oid }) => [name, oid]))
  const targets = new Map(symrefs.map(({ name, target }) => [name, target]))
  const oidOf = (name: string): string => {
    const target = targets.get(name)
    return oids.get(name) ?? (target === undefined ? 'nothing' : oidOf(target))
  }
  const names = [...oids.keys(), ...targets.keys()].sort((a, b) =>
    Buffer.compare(Buffer.from(a), Buffer.from(b)),
  )
  return {
    head: head.startsWith('refs/') ? `ref: ${head}` : head,
    refs: names.map((name) => `${name} ${oidOf(name)} ${targets.get(name) ?? ''}`.trimEnd()),
  }
}

const decodeUtf8 = (latin1: string): string => Buffer.from(latin1, 'latin1').toString('utf8')
