import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { ifExists } from '@godwit/lib/errno'

/** The encodings of which the build may have written a copy of a file, the smallest first. */
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
  /** Absent if there is a copy in gzip, from which it is restored for the few clients without gzip: 2 MB less in memory. */
  bytes?: Buffer
  encoded: Partial<Record<Encoding, Buffer>>
  digest: string
  /** Whether the name of the file changes with its content. */
  isImmutable: boolean
}

export interface Dashboard {
  page: DashboardFile
  /** The page at `/docs`. */
  docs: DashboardFile
  /** The other files by path, such as `assets/index-4f1c.js`. */
  files: ReadonlyMap<string, DashboardFile>
}

/**
 * Reads the built pages into memory, or returns undefined if there are none. Only these files are served, so a path cannot leave the
 * directory, and an upgrade of the files under a running service never mixes two builds.
 */
export async function readDashboard(directory: string): Promise<Dashboard | undefined> {
  const files = new Map([
    ...(await readFiles(directory, '')),
    ...(await readFiles(join(directory, 'assets'), 'assets/')),
  ])
  const page = files.get('index.html')
  const docs = files.get('docs.html')
  files.delete('index.html')
  files.delete('docs.html')
  return page && docs && { page, docs, files }
}

async function readFiles(
  directory: string,
  prefix: string,
): Promise<[path: string, DashboardFile][]> {
  const entries = (await ifExists(readdir(directory, { withFileTypes: true }), 'ENOENT')) ?? []
  const names = new Set(entries.filter((entry) => entry.isFile()).map(({ name }) => name))
  const served = [...names].filter((name) => TYPES[extname(name)] !== undefined)
  return Promise.all(
    served.map(async (name) => {
      const bytes = await readFile(join(directory, name))
      const encoded: DashboardFile['encoded'] = {}
      for (const [encoding, suffix] of Object.entries(ENCODINGS))
        if (names.has(name + suffix))
          encoded[encoding as Encoding] = await readFile(join(directory, name + suffix))
      const digest = createHash('sha256').update(bytes).digest('base64url')
      const file = { type: TYPES[extname(name)]!, encoded, digest, isImmutable: prefix !== '' }
      return [`${prefix}${name}`, encoded.gzip ? file : { ...file, bytes }]
    }),
  )
}
