import { execFileSync } from 'node:child_process'
import { lstatSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/**
 * Prints the installed production packages, one path in node_modules per line, or with `--copyright` the copyright file of the
 * Debian package.
 */
const PROJECT = join(import.meta.dirname, '..')

interface Manifest {
  name: string
  version: string
  license?: string
}

const manifestOf = (path: string) =>
  JSON.parse(readFileSync(join(PROJECT, path, 'package.json'), 'utf8')) as Manifest

function productionPackages(): string[] {
  const listing = ['ls', '--all', '--parseable', '--omit=dev']
  const listed = execFileSync('npm', listing, { cwd: PROJECT, encoding: 'utf8' })
  const paths = listed.split('\n').map((path) => relative(PROJECT, path))
  // The packages of this repository are links.
  const isInstalled = (path: string) =>
    path.startsWith('node_modules/') &&
    lstatSync(join(PROJECT, path), { throwIfNoEntry: false })?.isDirectory()
  return [...new Set(paths)].filter(isInstalled).sort()
}

/** The text of each licence is in the package, beside its code. */
function copyright(paths: readonly string[]): string {
  const own = manifestOf('.')
  const head = [
    'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/',
    'Upstream-Name: godwit',
    '',
    'Files: *',
    'Copyright: the authors of Godwit',
    `License: ${own.license}`,
  ]
  const texts = readFileSync(join(PROJECT, 'LICENSE'), 'utf8').trim().split('\n')
  const others = paths.flatMap((path) => {
    const { name, version, license = 'see its files' } = manifestOf(path)
    return [
      '',
      `Files: usr/lib/godwit/${path}/*`,
      `Copyright: the authors of ${name} ${version}`,
      `License: ${license}`,
    ]
  })
  const license = ['', `License: ${own.license}`, ...texts.map((line) => ` ${line.trim() || '.'}`)]
  return [...head, ...others, ...license].join('\n')
}

const packages = productionPackages()
console.log(process.argv.includes('--copyright') ? copyright(packages) : packages.join('\n'))
