import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { ifExists } from '../../lib/errno.ts'

/** Encodings that the build may have written beside a file, the smaller first. */
const ENCODINGS = { br: '.br', gzip: '.gz' } as const
export type Encoding = keyof typeof ENCODINGS

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

export interface DashboardFile {
  type: string
  bytes: Buffer
  encoded: Partial<Record<Encoding, Buffer>>
  digest: string
  /** Its name changes with its content. */
  isImmutable: boolean
}

export interface Dashboard {
  page: DashboardFile
  /** The description of the API, for people. */
  docs: DashboardFile
  /** By path below the root, `assets/index-4f1c.js`. */
  files: ReadonlyMap<string, DashboardFile>
}

/**
 * The built page, read once: whatever is asked for later is looked up by name among what was found, so there is no path to
 * escape by, and an upgrade under a running service never mixes two builds. Undefined where nothing was built.
 */
export async function readDashboard(directory: string): Promise<Dashboard | undefined> {
  const files = new Map([
    ...(await readFilesOf(directory, '')),
    ...(await readFilesOf(join(directory, 'assets'), 'assets/')),
  ])
  const page = files.get('index.html')
  const docs = files.get('docs.html')
  files.delete('index.html')
  files.delete('docs.html')
  return page && docs && { page, docs, files }
}

async function readFilesOf(
  directory: string,
  prefix: string,
): Promise<[path: string, DashboardFile][]> {
  const names = new Set(await filesIn(directory))
  const shown = [...names].filter((name) => TYPES[extname(name)] !== undefined)
  return Promise.all(
    shown.map(async (name) => {
      const bytes = await readFile(join(directory, name))
      const encoded: DashboardFile['encoded'] = {}
      for (const [encoding, suffix] of Object.entries(ENCODINGS)) {
        if (!names.has(name + suffix)) continue
        encoded[encoding as Encoding] = await readFile(join(directory, name + suffix))
      }
      const digest = createHash('sha256').update(bytes).digest('base64url')
      const type = TYPES[extname(name)]!
      return [`${prefix}${name}`, { type, bytes, encoded, digest, isImmutable: prefix !== '' }]
    }),
  )
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await ifExists(readdir(directory, { withFileTypes: true }), 'ENOENT')
  return entries?.filter((entry) => entry.isFile()).map(({ name }) => name) ?? []
}
