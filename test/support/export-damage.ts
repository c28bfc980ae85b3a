import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { looseObjectPath } from './loose-objects.ts'
import {
  commit,
  git,
  incompressible,
  initBare,
  onlyPack,
  packedHistory,
} from './sample-repositories.ts'

interface DamagedKind {
  /** Makes a damaged repository at the path. */
  make(dir: string): void
  /** The reason that its owner is shown. */
  reason: RegExp
}

/** Repositories that cannot be exported completely; tar and local clones copy most of them without an error. */
export const DAMAGED_REPOSITORIES: Readonly<Record<string, DamagedKind>> = {
  shallow: {
    make: (dir) => makePartialClone(dir, ['--depth=1']),
    reason: /a shallow clone, which has only a part of the history/,
  },
  grafted: {
    make(dir) {
      initBare(dir)
      commit(dir, 'refs/heads/main', 'one')
      const tip = commit(dir, 'refs/heads/main', 'two')
      writeFileSync(join(dir, 'info/grafts'), `${tip}\n`)
    },
    reason: /has grafts/,
  },
  promisor: {
    make: (dir) => makePartialClone(dir, ['--filter=blob:none']),
    reason: /a partial clone, which has only some of the objects/,
  },
  'lost-commit': {
    make(dir) {
      initBare(dir)
      commit(dir, 'refs/heads/main', 'one')
      const lost = commit(dir, 'refs/heads/main', 'two')
      commit(dir, 'refs/heads/main', 'three')
      git(dir, ['commit-graph', 'write', '--reachable'])
      rmSync(looseObjectPath(dir, lost))
    },
    reason: /Could not read [0-9a-f]{40}|Failed to traverse parents|bad object/,
  },
  'lost-blob': {
    make(dir) {
      initBare(dir)
      commit(dir, 'refs/heads/main', 'one')
      rmSync(looseObjectPath(dir, git(dir, ['rev-parse', 'main:file.txt'])))
    },
    reason: /missing blob object/,
  },
  'flipped-bit': {
    make(dir) {
      initBare(dir)
      commit(dir, 'refs/heads/main', incompressible(100_000))
      git(dir, ['repack', '-adq'])
      // The middle of the pack is inside the one large blob.
      const file = onlyPack(dir)
      const pack = readFileSync(file)
      pack[pack.length >> 1]! ^= 1
      rmSync(file)
      writeFileSync(file, pack)
    },
    reason: /pack checksum mismatch|packed object [0-9a-f]{40} .*is corrupt/,
  },
  'emptied-object': {
    make(dir) {
      initBare(dir)
      commit(dir, 'refs/heads/main', 'one')
      const file = looseObjectPath(dir, git(dir, ['rev-parse', 'main:file.txt']))
      rmSync(file)
      writeFileSync(file, '')
    },
    reason: /object file is empty/,
  },
}

/** Makes a partial clone of a repository beside it. */
function makePartialClone(dir: string, part: readonly string[]): void {
  const origin = `${dir}.origin`
  initBare(origin)
  packedHistory(origin, 'refs/heads/main', 5)
  git(origin, ['config', 'uploadpack.allowFilter', 'true'])
  git(dir, ['clone', '-q', '--bare', ...part, `file://${origin}`, dir])
}
