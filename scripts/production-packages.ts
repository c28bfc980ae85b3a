import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/**
 * What runs in production, as it is installed: a path in node_modules on each line, or with `--copyright` the file that a
 * Debian package has for the licences of what is in it.
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
  return [...new Set(paths)].filter((path) => path.startsWith('node_modules/')).sort()
}

/** Each licence's own text is in the package beside its code. */
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
    const place = `usr/lib/godwit/${path}`
    return [
      '',
      `Files: ${place}/*`,
      `Copyright: the authors of ${name} ${version}`,
      `License: ${license}`,
    ]
  })
  const license = ['', `License: ${own.license}`, ...texts.map((line) => ` ${line.trim() || '.'}`)]
  return [...head, ...others, ...license].join('\n')
}

const packages = productionPackages().filter((path) =>
  existsSync(join(PROJECT, path, 'package.json')),
)
console.log(process.argv.includes('--copyright') ? copyright(packages) : packages.join('\n'))
