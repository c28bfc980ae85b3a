/** One room of the house: what it may use, and what of it others may use. */
export interface Room {
  /** Rooms, from the top down as they are listed here. */
  uses: readonly string[]
  /** The files that others may import; without it all are open. */
  door?: readonly string[]
}

/**
 * Who may import whom, types included. A room is a folder, or one file; a file belongs to the longest name that fits. What is
 * not listed (stories, measurements) may use everything, and so may the tests that stand beside the code.
 */
export const ROOMS: Readonly<Record<string, Room>> = {
  'src/main.ts': { uses: ['src/commands'], door: [] },
  'src/commands': {
    uses: [
      ...[
        'src/service',
        'src/client',
        'src/exporter',
        'src/importer',
        'src/records',
        'src/migrations',
      ],
      ...['src/repositories', 'src/accounts', 'src/sources/directory', 'src/sources/forge'],
      ...['src/sources', 'src/archive', 'src/blobs', 'src/db', 'src/git', 'src/settings'],
      ...['src/wire', 'src/lib'],
    ],
    door: ['program.ts', 'report-failure.ts'],
  },
  'src/service': {
    uses: [
      ...['src/http', 'src/exporter', 'src/schedules', 'src/migrations', 'src/webhooks'],
      ...['src/repositories', 'src/accounts', 'src/queue', 'src/sources/directory'],
      ...['src/sources/forge', 'src/sources', 'src/blobs', 'src/db', 'src/git', 'src/settings'],
      'src/lib',
    ],
  },
  'src/settings': { uses: ['src/lib'] },
  'src/http': {
    uses: [
      ...['src/schedules', 'src/webhooks'],
      ...['src/migrations', 'src/repositories', 'src/accounts', 'src/queue', 'src/sources'],
      ...['src/archive', 'src/blobs', 'src/db', 'src/git', 'src/wire', 'src/lib'],
    ],
    door: [
      'server.ts',
      'routes/clones/clone-tokens.ts',
      'middleware/timestamps.ts',
      'routes/migrations/archive-download.ts',
      'pages/dashboard-files.ts',
      'service/proxy-probe.ts',
      'routes/webhooks/webhook-json.ts',
    ],
  },
  'src/exporter': {
    uses: [
      ...['src/migrations', 'src/repositories', 'src/accounts', 'src/queue', 'src/sources/forge'],
      ...['src/sources', 'src/records', 'src/archive', 'src/blobs', 'src/db', 'src/lib'],
    ],
    door: [
      ...['check-segments.ts', 'export-archive.ts', 'export-migration.ts', 'make-segment.ts'],
      ...['obtain-segment.ts', 'scratch.ts', 'sweep.ts'],
    ],
  },
  'src/importer': {
    uses: [
      ...['src/sources/directory', 'src/sources', 'src/records', 'src/archive', 'src/blobs'],
      ...['src/git', 'src/lib'],
    ],
    door: [
      ...['check-archive.ts', 'people.ts'],
      ...[
        'restore-archive.ts',
        'targets/gitea-dump.ts',
        'summarize-archive.ts',
        'verify-archive.ts',
      ],
    ],
  },
  'src/client': {
    uses: ['src/wire', 'src/lib'],
    door: [
      ...['download-archive.ts', 'errors.ts', 'migrations-api.ts', 'watch-migration.ts'],
      ...['paths.ts', 'responses.ts'],
    ],
  },
  'src/schedules': {
    uses: [
      ...['src/migrations', 'src/repositories', 'src/accounts', 'src/sources', 'src/blobs'],
      ...['src/db', 'src/lib'],
    ],
  },
  'src/migrations': {
    uses: [
      ...[
        'src/webhooks',
        'src/repositories',
        'src/accounts',
        'src/queue',
        'src/sources',
        'src/blobs',
        'src/db',
      ],
      'src/lib',
    ],
  },
  'src/webhooks': { uses: ['src/accounts', 'src/queue', 'src/db', 'src/lib'] },
  'src/repositories': {
    uses: ['src/accounts', 'src/sources/forge', 'src/sources', 'src/db', 'src/lib'],
  },
  'src/accounts': { uses: ['src/db'] },
  'src/queue': { uses: ['src/db', 'src/lib'] },
  'src/sources': { uses: ['src/records', 'src/git', 'src/lib'] },
  'src/sources/directory': {
    uses: [
      ...['src/sources/directory/facts', 'src/sources/directory/snapshot'],
      ...['src/sources/directory/files', 'src/sources', 'src/git', 'src/lib'],
    ],
    door: ['git-directory.ts'],
  },
  'src/sources/directory/facts': {
    uses: ['src/sources/directory/files', 'src/sources', 'src/git', 'src/lib'],
    door: ['head-tree.ts', 'repository-facts.ts', 'repository-stamp.ts'],
  },
  'src/sources/directory/snapshot': {
    uses: ['src/sources/directory/files', 'src/sources', 'src/git', 'src/lib'],
    door: [
      ...['examine.ts', 'lfs-objects.ts', 'scratch-repository.ts', 'snapshot-warning.ts'],
      'take-snapshot.ts',
    ],
  },
  'src/sources/directory/files': { uses: ['src/sources', 'src/git', 'src/lib'] },
  'src/sources/forge': {
    uses: ['src/sources', 'src/records', 'src/lib'],
    door: ['attachment-links.ts', 'client/forge-address.ts', 'connect-forge.ts', 'forge-token.ts'],
  },
  'src/records': { uses: ['src/lib'] },
  'src/archive': { uses: ['src/blobs', 'src/lib'] },
  'src/blobs': {
    uses: ['src/lib'],
    door: ['blob-store.ts', 'disk.ts', 's3.ts', 'watch-errors.ts'],
  },
  'src/db': { uses: ['schema', 'src/lib'] },
  'src/git': { uses: ['src/lib'], door: ['git.ts', 'git-end.ts', 'installed-git.ts'] },
  'src/wire': { uses: [] },
  'src/lib': { uses: [] },
  schema: { uses: [], door: ['step.ts', 'steps.ts'] },
  'web/src': { uses: ['src/client', 'src/wire', 'src/lib'] },
  'test/wire': { uses: ['test'] },
}

const STORES = [
  ...['src/db', 'src/accounts', 'src/repositories', 'src/migrations', 'src/webhooks', 'src/queue'],
]

/** Packages and modules of Node that are for some rooms alone. What is not listed is for all. */
export const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  fastify: ['src/http'],
  'prom-client': ['src/http'],
  '@octokit/openapi-types': ['src/http'],
  pino: ['src/http', 'src/service'],
  commander: ['src/commands'],
  kysely: [...STORES, 'src/http', 'schema'],
  pg: ['src/db', 'src/http'],
  'pg-boss': ['src/queue'],
  '@aws-sdk': ['src/blobs'],
  '@octokit/core': ['src/client', 'web/src'],
  '@octokit/plugin-paginate-rest': ['src/client', 'web/src'],
  'linguist-languages': ['src/sources/directory/facts'],
  'spdx-license-list': ['src/sources/directory/facts', 'src/http', 'src/commands'],
  'node:child_process': ['src/git', 'test/wire'],
  'node:sqlite': ['src/db', 'src/commands', 'src/lib'],
}
