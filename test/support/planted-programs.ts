import { appendFileSync, chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Config keys that make some git command run a program. */
const KEYS_THAT_RUN = [
  'core.fsmonitor',
  'core.sshCommand',
  'core.gitProxy',
  'core.pager',
  'core.editor',
  'core.askPass',
  'core.alternateRefsCommand',
  'credential.helper',
  'diff.external',
  'diff.trap.command',
  'diff.trap.textconv',
  'merge.trap.driver',
  'filter.trap.clean',
  'filter.trap.smudge',
  'filter.trap.process',
  'gpg.program',
  'gpg.ssh.program',
  'gpg.x509.program',
  'http.proxy',
  'interactive.diffFilter',
  'lfs.customtransfer.trap.path',
  'lfs.extension.trap.clean',
  'remote.origin.receivepack',
  'remote.origin.uploadpack',
  'remote.origin.vcs',
  'sequence.editor',
  'tar.tar.command',
  'trailer.trap.command',
  'uploadpack.packObjectsHook',
  'web.browser',
]

/** Aliases and pagers: their value is a command line that starts with `!`. */
const COMMANDS_THAT_RUN = [
  ...['cat-file', 'config', 'for-each-ref', 'ls-tree', 'pack-objects', 'rev-list', 'index-pack'],
].flatMap((command) => [`alias.${command}`, `pager.${command}`])

const HOOKS = [
  'applypatch-msg commit-msg fsmonitor-watchman post-checkout post-commit post-index-change post-merge post-receive',
  'post-rewrite post-update pre-auto-gc pre-commit pre-push pre-rebase pre-receive proc-receive push-to-checkout',
  'reference-transaction sendemail-validate update',
].flatMap((names) => names.split(' '))

export interface PlantedPrograms {
  /** Adds all hooks and config keys to a bare repository. */
  plantIn(dir: string): void
  /** Writes a program that records that it ran. */
  program(name: string): string
  /** Returns the names of all programs that have run. */
  programsRun(): string[]
}

/** Makes repositories whose config and hooks name programs that record when they run. */
export function plantPrograms(base: string): PlantedPrograms {
  const [programs, canaries] = [join(base, 'programs'), join(base, 'canaries')]
  for (const folder of [programs, canaries]) mkdirSync(folder, { recursive: true })

  function program(name: string): string {
    const file = join(programs, name.replaceAll(/[^\w-]/g, '-'))
    writeFileSync(file, `#!/bin/sh\n: > '${join(canaries, name)}'\n`)
    chmodSync(file, 0o755)
    return file
  }

  const hooksPath = join(base, 'hooks-elsewhere')
  mkdirSync(hooksPath)
  for (const hook of HOOKS) writeHook(join(hooksPath, hook), program(`core.hooksPath ${hook}`))

  return {
    program,
    programsRun: () => readdirSync(canaries),
    plantIn(dir) {
      const settings = [
        ...KEYS_THAT_RUN.map((key) => setting(key, program(key))),
        ...COMMANDS_THAT_RUN.map((key) => setting(key, `!${program(key)}`)),
        setting('core.hooksPath', hooksPath),
        setting('remote.origin.url', `ext::${program('remote.origin.url')}`),
        setting('protocol.allow', 'always'),
        setting('protocol.ext.allow', 'always'),
        setting('url.ext::.insteadOf', 'https://'),
        setting('submodule.vendored.update', `!${program('submodule update')}`),
        setting('submodule.vendored.url', `ext::${program('submodule url')}`),
        setting('init.templateDir', hooksPath),
        setting('gc.auto', '1'),
      ].join('')
      appendFileSync(join(dir, 'config'), settings)
      mkdirSync(join(dir, 'hooks'), { recursive: true })
      for (const hook of HOOKS) writeHook(join(dir, 'hooks', hook), program(`hook ${hook}`))
      mkdirSync(join(dir, 'info'), { recursive: true })
      writeFileSync(join(dir, 'info/attributes'), '* filter=trap diff=trap merge=trap\n')
    },
  }
}

function setting(key: string, value: string): string {
  const [section, ...rest] = key.split('.')
  const name = rest.pop()
  const subsection = rest.length > 0 ? ` "${rest.join('.')}"` : ''
  return `[${section}${subsection}]\n\t${name} = ${JSON.stringify(value)}\n`
}

function writeHook(file: string, program: string): void {
  writeFileSync(file, `#!/bin/sh\nexec '${program}'\n`)
  chmodSync(file, 0o755)
}
