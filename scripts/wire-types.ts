import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { compile } from 'json-schema-to-typescript'
import { schemas } from '../src/http/description/components.ts'

/**
 * `node scripts/wire-types.ts`: writes the types of the wire anew, from the schemas of our own /openapi.json. With --check it
 * writes nothing and fails where the types that are there are not those of the schemas.
 */
const FILE = new URL('../src/wire/types.ts', import.meta.url)
const BANNER =
  '/** The records of the wire. Written by scripts/wire-types.ts from the schemas of /openapi.json: change those. */'

async function wireTypes(): Promise<string> {
  const definitions = JSON.parse(
    JSON.stringify(schemas).replaceAll('#/components/schemas/', '#/definitions/'),
  )
  const types = await compile({ definitions }, 'wire', {
    additionalProperties: false,
    bannerComment: BANNER,
    declareExternallyReferenced: true,
    format: false,
    unreachableDefinitions: true,
  })
  const own = types.replace(/export interface Wire \{[^}]*\}/, '').replaceAll(MENTION, '')
  const plain = own.replaceAll(/\/\*\*\n \*\/\n/g, '').replaceAll(/\n \*\n \*\//g, '\n */')
  return formatted(plain.replaceAll(/\/\*\*\n *\* (.*)\n *\*\//g, '/** $1 */'))
}

/** Where in the schema a type stands, which the generator says of each. */
const MENTION =
  /(?: \*\n)? \* This interface was referenced by `\w+`'s JSON-Schema\n \* via the `definition` "[\w-]+"\.\n/g

function formatted(text: string): string {
  const biome = ['format', '--stdin-file-path=types.ts']
  const { stdout, stderr, status } = spawnSync('biome', biome, { input: text, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout
}

const types = await wireTypes()
if (process.argv.includes('--check')) {
  if ((await readFile(FILE, 'utf8')) !== types) {
    console.error('src/wire/types.ts is not current: run node scripts/wire-types.ts')
    process.exitCode = 1
  }
} else await writeFile(FILE, types)
