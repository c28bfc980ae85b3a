export interface Folder {
  /** The folders that this one may import from, in the order of the table. */
  imports: readonly string[]
  /** The entry files, which other folders may import. Without this list they may import every file. */
  entries?: readonly string[]
}

/**
 * The allowed imports, including imports of types, of each folder (or single file). A file belongs to the longest path that
 * contains it. Folders that are not listed, such as test/stories and bench, may import everything, and so may the tests beside
 * the code.
 */
export const FOLDERS: Readonly<Record<string, Folder>> = {
  'src/main.ts': { imports: ['src/commands'], entries: [] },
  'src/commands': {
    imports: [
      ...[
        'src/service',
        'src/client',
        'src/exporter',
        'src/importer',
        'src/formats',
        'src/migrations',
      ],
      ...['src/repositories', 'src/accounts', 'src/sources/directory', 'src/sources/forge'],
      ...['src/sources', 'src/archive', 'src/blobs', 'src/db', 'src/git', 'src/settings'],
      ...['src/wire', 'src/lib'],
    ],
    entries: ['program.ts', 'report-failure.ts'],
  },
  'src/service': {
    imports: [
      ...['src/http', 'src/exporter', 'src/schedules', 'src/migrations', 'src/webhooks'],
      ...['src/repositories', 'src/accounts', 'src/queue', 'src/sources/directory'],
      ...['src/sources/forge', 'src/sources', 'src/blobs', 'src/db', 'src/git', 'src/lib'],
    ],
  },
  'src/settings': { imports: ['src/lib'] },
  'src/http': {
    imports: [
      ...['src/schedules', 'src/webhooks'],
      ...['src/migrations', 'src/repositories', 'src/accounts', 'src/queue', 'src/sources'],
      ...['src/archive', 'src/blobs', 'src/db', 'src/git', 'src/wire', 'src/lib'],
    ],
    entries: [
      'server.ts',
      'routes/clones/clone-tokens.ts',
      'rendering.ts',
      'routes/migrations/archive-download.ts',
      'pages/dashboard-files.ts',
      'routes/service/proxy-probe.ts',
      'routes/sessions/oidc-client.ts',
      'routes/webhooks/webhook-json.ts',
    ],
  },
  'src/exporter': {
    imports: [
      ...['src/formats', 'src/migrations', 'src/repositories', 'src/accounts', 'src/queue'],
      ...[
        'src/sources/forge',
        'src/sources',
        'src/records',
        'src/archive',
        'src/blobs',
        'src/db',
        'src/lib',
      ],
    ],
    entries: [
      ...['check-segments.ts', 'export-archive.ts', 'export-migration.ts', 'make-segment.ts'],
      ...['own-store.ts', 'read-digest.ts', 'scratch.ts', 'segment-threads.ts', 'sweep.ts'],
    ],
  },
  'src/importer': {
    imports: [
      ...['src/formats', 'src/sources/forge', 'src/sources', 'src/records', 'src/archive'],
      ...['src/blobs', 'src/git', 'src/lib'],
    ],
    entries: [
      ...['check-archive.ts', 'compare/compare.ts', 'compare/comparison-page.ts', 'convert.ts'],
      ...['finish/finish-dump.ts', 'list-people.ts', 'restore-archive.ts', 'summarize-archive.ts'],
      'verify-archive.ts',
    ],
  },
  'src/formats': {
    imports: [
      ...['src/sources/directory', 'src/sources', 'src/records', 'src/archive', 'src/blobs'],
      ...['src/git', 'src/lib'],
    ],
  },
  'src/client': {
    imports: ['src/wire', 'src/lib'],
    entries: [
      ...['download-archive.ts', 'errors.ts', 'gitlab-api.ts', 'migrations-api.ts'],
      ...['watch-migration.ts', 'paths.ts', 'responses.ts'],
    ],
  },
  'src/schedules': {
    imports: [
      ...['src/migrations', 'src/repositories', 'src/accounts', 'src/sources', 'src/db'],
      'src/lib',
    ],
  },
  'src/migrations': {
    imports: [
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
  'src/webhooks': { imports: ['src/accounts', 'src/queue', 'src/db', 'src/lib'] },
  'src/repositories': {
    imports: ['src/accounts', 'src/sources/forge', 'src/sources', 'src/db', 'src/lib'],
  },
  'src/accounts': { imports: ['src/db', 'src/lib'] },
  'src/queue': { imports: ['src/db', 'src/lib'] },
  'src/sources': { imports: ['src/records', 'src/git', 'src/lib'] },
  'src/sources/directory': {
    imports: [
      ...['src/sources/directory/facts', 'src/sources/directory/snapshot'],
      ...['src/sources/directory/files', 'src/sources', 'src/git', 'src/lib'],
    ],
    entries: ['git-directory.ts'],
  },
  'src/sources/directory/facts': {
    imports: ['src/sources/directory/files', 'src/sources', 'src/git', 'src/lib'],
    entries: ['head-tree.ts', 'repository-facts.ts', 'repository-stamp.ts'],
  },
  'src/sources/directory/snapshot': {
    imports: ['src/sources/directory/files', 'src/sources', 'src/git', 'src/lib'],
    entries: [
      ...['examine.ts', 'lfs-objects.ts', 'scratch-repository.ts', 'snapshot-warning.ts'],
      'take-snapshot.ts',
    ],
  },
  'src/sources/directory/files': { imports: ['src/sources', 'src/git', 'src/lib'] },
  'src/sources/forge': {
    imports: ['src/sources', 'src/records', 'src/lib'],
    entries: [
      'attachment-links.ts',
      ...['client/confirm-absence.ts', 'client/forge-address.ts', 'client/forge-client.ts'],
      ...['client/forge-pages.ts', 'client/forge-values.ts', 'client/forge-version.ts'],
      ...['client/http-response.ts', 'client/known-forge.ts', 'client/open-file.ts'],
      'connect-forge.ts',
      'forge-token.ts',
      'open-host.ts',
    ],
  },
  'src/records': { imports: ['src/lib'] },
  'src/archive': { imports: ['src/blobs', 'src/lib'] },
  'src/blobs': {
    imports: ['src/lib'],
    entries: ['blob-store.ts', 'disk.ts', 's3.ts', 'watch-errors.ts'],
  },
  'src/db': { imports: ['schema', 'src/lib'] },
  'src/git': { imports: ['src/lib'], entries: ['git-process.ts', 'git.ts', 'installed-git.ts'] },
  'src/wire': { imports: [] },
  'src/lib': { imports: [] },
  schema: { imports: [], entries: ['0001-tables.ts', 'step.ts', 'steps.ts'] },
  'web/src': { imports: ['src/client', 'src/wire', 'src/lib'] },
  'test/wire': { imports: ['test'] },
}

const STORES = [
  ...['src/db', 'src/accounts', 'src/repositories', 'src/migrations', 'src/webhooks', 'src/queue'],
]

/** The folders that may import each of these packages and Node modules. Every folder may import the others. */
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
  'markdown-it': ['src/formats'],
  'spdx-license-list': ['src/sources/directory/facts', 'src/http', 'src/commands'],
  'openid-client': ['src/service'],
  'node:child_process': ['src/git', 'test/wire'],
  'node:sqlite': ['src/db', 'src/commands', 'src/lib'],
}
