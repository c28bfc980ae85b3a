import { copyFileSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `node scripts/complete-compiled.ts DIR` adds to the packages that the compiler wrote to DIR/NAME what it does not write: the files
 * that their code reads, and package.json, with the compiled files as its entries.
 */
const [compiled = ''] = process.argv.slice(2)
for (const name of readdirSync(compiled)) {
  const folder = join('packages', name)
  const assets = globSync('src/**/*.{css,js,json,sh}', { cwd: folder })
  for (const asset of assets) copyFileSync(join(folder, asset), join(compiled, name, asset))
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  writeFileSync(
    join(compiled, name, 'package.json'),
    `${JSON.stringify(compiledManifest(manifest), undefined, 2)}\n`,
  )
}

interface Manifest {
  private?: boolean
  exports?: Record<string, string>
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  bundleDependencies?: string[]
}

/** A package for others contains the packages of Godwit that it needs. */
function compiledManifest({ private: _, devDependencies: __, ...manifest }: Manifest): Manifest {
  const exports = Object.entries(manifest.exports ?? {}).map(([entry, file]) => [
    entry,
    file.replace(/\.ts$/, '.js'),
  ])
  const own = Object.keys(manifest.dependencies ?? {}).filter((each) => each.startsWith('@godwit/'))
  return { ...manifest, exports: Object.fromEntries(exports), bundleDependencies: own }
}
