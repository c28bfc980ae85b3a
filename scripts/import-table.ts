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
      ...['src/wire', 'src/ground'],
    ],
    door: ['program.ts', 'report-failure.ts'],
  },
  'src/service': {
    uses: [
      ...['src/http', 'src/exporter', 'src/schedules', 'src/migrations', 'src/webhooks'],
      ...['src/repositories', 'src/accounts', 'src/queue', 'src/sources/directory'],
      ...['src/sources/forge', 'src/sources', 'src/blobs', 'src/db', 'src/git', 'src/settings'],
      'src/ground',
    ],
  },
  'src/settings': { uses: ['src/ground'] },
  'src/http': {
    uses: [
      ...['src/schedules', 'src/webhooks'],
      ...['src/migrations', 'src/repositories', 'src/accounts', 'src/queue', 'src/sources'],
      ...['src/archive', 'src/blobs', 'src/db', 'src/git', 'src/wire', 'src/ground'],
    ],
    door: [
      'server.ts',
      'clones/clone-tokens.ts',
      'door/timestamps.ts',
      'migrations/archive-link.ts',
      'pages/dashboard-files.ts',
      'service/proxy-probe.ts',
      'webhooks/webhook-payload.ts',
    ],
  },
  'src/exporter': {
    uses: [
      ...['src/migrations', 'src/repositories', 'src/accounts', 'src/queue', 'src/sources/forge'],
      ...['src/sources', 'src/records', 'src/archive', 'src/blobs', 'src/db', 'src/ground'],
    ],
    door: [
      ...[
        'check-repository.ts',
        'check-segments.ts',
        'export-archive.ts',
        'export-migration.ts',
        'make-segment.ts',
      ],
      ...[
        'scratch.ts',
        'segment-maker.ts',
        'segment-messages.ts',
        'segment-threads.ts',
        'sweep.ts',
      ],
    ],
  },
  'src/importer': {
    uses: [
      ...['src/sources/directory', 'src/sources', 'src/records', 'src/archive', 'src/blobs'],
      ...['src/git', 'src/ground'],
    ],
    door: [
      ...['check-archive.ts', 'csv-line.ts', 'list-people.ts', 'people-map.ts'],
      ...[
        'restore-archive.ts',
        'shores/gitea-dump.ts',
        'summarize-archive.ts',
        'verify-archive.ts',
      ],
    ],
  },
  'src/client': {
    uses: ['src/wire', 'src/ground'],
    door: [
      ...['download-archive.ts', 'errors.ts', 'migrations-api.ts', 'watch-migration.ts'],
      'responses.ts',
    ],
  },
  'src/schedules': {
    uses: [
      ...['src/migrations', 'src/repositories', 'src/accounts', 'src/sources', 'src/blobs'],
      ...['src/db', 'src/ground'],
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
      'src/ground',
    ],
  },
  'src/webhooks': { uses: ['src/accounts', 'src/queue', 'src/db', 'src/ground'] },
  'src/repositories': {
    uses: ['src/accounts', 'src/sources/forge', 'src/sources', 'src/db', 'src/ground'],
  },
  'src/accounts': { uses: ['src/db'] },
  'src/queue': { uses: ['src/db', 'src/ground'] },
  'src/sources': { uses: ['src/records', 'src/git', 'src/ground'] },
  'src/sources/directory': {
    uses: [
      ...['src/sources/directory/facts', 'src/sources/directory/snapshot'],
      ...['src/sources/directory/files', 'src/sources', 'src/git', 'src/ground'],
    ],
    door: ['git-directory.ts'],
  },
  'src/sources/directory/facts': {
    uses: ['src/sources/directory/files', 'src/sources', 'src/git', 'src/ground'],
    door: ['head-tree.ts', 'repository-facts.ts', 'repository-refs.ts', 'repository-stamp.ts'],
  },
  'src/sources/directory/snapshot': {
    uses: ['src/sources/directory/files', 'src/sources', 'src/git', 'src/ground'],
    door: [
      ...['examine.ts', 'lfs-shared.ts', 'snapshot-scratch.ts', 'snapshot-warning.ts'],
      'take-snapshot.ts',
    ],
  },
  'src/sources/directory/files': { uses: ['src/sources', 'src/git', 'src/ground'] },
  'src/sources/forge': {
    uses: ['src/sources', 'src/records', 'src/ground'],
    door: ['attachment-links.ts', 'client/forge-address.ts', 'connect-forge.ts', 'forge-token.ts'],
  },
  'src/records': { uses: ['src/ground'] },
  'src/archive': { uses: ['src/blobs', 'src/ground'] },
  'src/blobs': {
    uses: ['src/ground'],
    door: ['blob-store.ts', 'disk.ts', 's3.ts', 'watch-errors.ts'],
  },
  'src/db': { uses: ['schema', 'src/ground'] },
  'src/git': { uses: ['src/ground'], door: ['git.ts', 'git-end.ts', 'installed-git.ts'] },
  'src/wire': { uses: [] },
  'src/ground': { uses: [] },
  schema: { uses: [], door: ['step.ts', 'steps.ts'] },
  'web/src': { uses: ['src/wire', 'src/ground'] },
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
  'node:sqlite': ['src/db', 'src/commands', 'src/ground'],
}
