import { copyFileSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `node scripts/complete-compiled.ts DIR [NAME]` adds to the packages that were compiled to DIR/NAME what the compiler does not write: the
 * files that their code reads, and package.json, with the compiled files as its entries. The package NAME is for others: it contains the
 * other packages in DIR.
 */
const [compiled = '', published] = process.argv.slice(2)
const { engines } = readManifest('.')
const names = readdirSync(compiled)
for (const name of names) {
  const [from, to] = [join('packages', name), join(compiled, name)]
  // The dashboard is built, not compiled.
  if (name !== 'dashboard')
    for (const asset of globSync('src/**/*.{css,js,json,sh}', { cwd: from }))
      copyFileSync(join(from, asset), join(to, asset))
  const manifest = compiledManifest(readManifest(from))
  const bundled = names.filter((each) => each !== name).map((each) => `@godwit/${each}`)
  const all = name === published ? { ...manifest, bundleDependencies: bundled } : manifest
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(all, undefined, 2)}\n`)
}

interface Manifest {
  private?: boolean
  engines?: Record<string, string>
  exports?: Record<string, string>
  devDependencies?: Record<string, string>
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

function compiledManifest({ private: _, devDependencies: __, ...manifest }: Manifest) {
  const exports = Object.entries(manifest.exports ?? {}).map(([entry, file]) => [
    entry,
    file.replace(/\.ts$/, '.js'),
  ])
  return { ...manifest, engines, exports: Object.fromEntries(exports) }
}
