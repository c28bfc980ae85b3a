import {
  appendFileSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Traps } from './booby-traps.ts'
import { looseObject } from './loose-objects.ts'
import { bare, commit, git, makeWiki } from './odd-repositories.ts'

interface Scene {
  traps: Traps
  /** A private repository of somebody else. */
  another: string
}

interface HostileKind {
  make(dir: string, scene: Scene): void
  /** Why it is skipped; where none is given it is exported. */
  refusal?: RegExp
}

function plain(dir: string): string {
  bare(dir)
  return commit(dir, 'refs/heads/main', 'plain')
}

const packedRef = (name: string) => (dir: string) => {
  const oid = plain(dir)
  writeFileSync(join(dir, 'packed-refs'), `${oid} ${name}\n`, 'latin1')
}

/** A tree that no honest git writes. */
function treeOf(dir: string, entries: [mode: string, name: string, oid: string][]): string {
  const bytes = entries.flatMap(([mode, name, oid]) => [
    Buffer.from(`${mode} ${name}\0`),
    Buffer.from(oid, 'hex'),
  ])
  return git(
    dir,
    ['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'],
    Buffer.concat(bytes),
  )
}

/** What an owner who means harm, or has met some, may have on the host. Names are those of the repositories. */
export const HOSTILE_REPOSITORIES: Readonly<Record<string, HostileKind>> = {
  trapped: {
    make(dir, { traps }) {
      plain(dir)
      traps.plantIn(dir)
      makeWiki(dir.replace(/\.git$/, '.wiki.git'))
      traps.plantIn(dir.replace(/\.git$/, '.wiki.git'))
    },
  },
  'trapped-by-include': {
    make(dir, { traps }) {
      plain(dir)
      const more = `${dir}.more`
      bare(more)
      traps.plantIn(more)
      appendFileSync(join(dir, 'config'), `[include]\n\tpath = ${more}/config\n`)
    },
  },
  'trapped-promisor': {
    make(dir, { traps }) {
      plain(dir)
      traps.plantIn(dir)
      rmSync(looseObject(dir, git(dir, ['rev-parse', 'main:file.txt'])))
      appendFileSync(
        join(dir, 'config'),
        '[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\tpromisor = true\n',
      )
    },
    refusal: /a partial clone, which has only some of the objects/,
  },
  'trapped-borrower': {
    make(dir, { traps, another }) {
      plain(dir)
      traps.plantIn(dir)
      writeFileSync(join(dir, 'objects/info/alternates'), `${another}/objects\n`)
    },
  },
  'linked-objects': {
    make(dir, { another }) {
      bare(dir)
      rmSync(join(dir, 'objects'), { recursive: true })
      symlinkSync(join(another, 'objects'), join(dir, 'objects'))
    },
  },
  'linked-description': {
    make(dir, { another }) {
      plain(dir)
      rmSync(join(dir, 'description'))
      symlinkSync(join(another, 'description'), join(dir, 'description'))
    },
    refusal: /description is not a file of its own/,
  },
  'head-out': {
    make(dir) {
      plain(dir)
      writeFileSync(join(dir, 'HEAD'), 'ref: ../../../../etc/passwd\n')
    },
    refusal: /HEAD (names|points to)/,
  },
  'control-characters': { make: packedRef('refs/heads/a\x01b'), refusal: /packed-refs/ },
  'a-way-up': { make: packedRef('refs/heads/../../../evil'), refusal: /packed-refs/ },
  'a-ref-outside': { make: packedRef('/etc/passwd'), refusal: /packed-refs/ },
  'refs-without-end': {
    make(dir) {
      packedRef('refs/heads/one')(dir)
      truncateSync(join(dir, 'packed-refs'), 65 * 1024 * 1024)
    },
    refusal: /packed-refs is too large/,
  },
  'endless-attributes': {
    make(dir) {
      plain(dir)
      appendFileSync(
        join(dir, 'config'),
        '[core]\n\tattributesFile = /dev/zero\n\texcludesFile = /dev/zero\n[mailmap]\n\tfile = /dev/zero\n',
      )
      rmSync(join(dir, 'info/attributes'), { force: true })
      mkdirSync(join(dir, 'info'), { recursive: true })
      symlinkSync('/dev/zero', join(dir, 'info/attributes'))
    },
  },
  'endless-config': {
    make(dir) {
      plain(dir)
      appendFileSync(join(dir, 'config'), '[include]\n\tpath = /dev/zero\n')
    },
    refusal: /its config includes what is not a file/,
  },
  'endless-lender': {
    make(dir) {
      plain(dir)
      const lender = `${dir}.lender`
      mkdirSync(join(lender, 'info'), { recursive: true })
      symlinkSync('/dev/zero', join(lender, 'info/alternates'))
      writeFileSync(join(dir, 'objects/info/alternates'), `${lender}\n`)
    },
    refusal: /the objects that it borrows\/info\/alternates is neither/,
  },
  'names-of-options': { make: packedRef('refs/heads/--upload-pack=touch') },
  submodules: {
    make(dir) {
      bare(dir)
      const blob = (text: string) => git(dir, ['hash-object', '-w', '--stdin'], text)
      const modules = blob(
        '[submodule "../../hooks"]\n\tpath = --upload-pack=touch\n\turl = -u./payload\n\tupdate = !touch\n',
      )
      const inner = treeOf(dir, [['100755', 'post-checkout', blob('#!/bin/sh\n')]])
      const tree = treeOf(dir, [
        ['100644', '..', blob('x')],
        ['40000', '.git', inner],
        ['120000', '.gitmodules', modules],
        ['100644', 'a\nb', blob('x')],
        ['160000', 'vendored', '1'.repeat(40)],
      ])
      git(dir, ['update-ref', 'refs/heads/main', git(dir, ['commit-tree', tree], 'tricks')])
    },
  },
  'hidden-in-lfs': {
    make(dir, { another }) {
      plain(dir)
      symlinkSync(join(another, 'lfs'), join(dir, 'lfs'))
    },
    refusal: /lfs is a symbolic link/,
  },
  worktree: {
    make(dir, { another }) {
      plain(dir)
      writeFileSync(join(dir, 'commondir'), `${another}\n`)
    },
    refusal: /worktree of another repository/,
  },
  'a-config-of-another-time': {
    make(dir) {
      plain(dir)
      rmSync(join(dir, 'config'))
      mkdirSync(join(dir, 'config'))
    },
    refusal: /a directory where a file should be/,
  },
}

/** Directories that no repository can be served from, by the name they have below an owner. */
export const HOSTILE_NAMES = [
  'sp ace.git',
  'line\nend.git',
  'bell\x07.git',
  '..git',
  'ü.git',
  '.git',
]
