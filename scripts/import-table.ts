export interface Folder {
  /** The folders that this one may import from, in the order of the table. */
  imports: readonly string[]
  /**
   * The entry files, also in the folders below, which other folders may import. Without this list they may import every file.
   */
  entries?: readonly string[]
  /** The folders directly below this one do not import each other. */
  hasSeparateFolders?: boolean
}

const FORMATS = ['gitea-dump', 'github-archive', 'gitlab-export', 'html'].map(
  (format) => `src/formats/${format}`,
)

/**
 * The allowed imports, including imports of types, of each folder (or single file). A file belongs to the longest path that
 * contains it. Folders that are not listed, such as test/stories and bench, may import everything, and so may the tests beside
 * the code.
 */
export const FOLDERS: Readonly<Record<string, Folder>> = {
  'src/main.ts': { imports: ['src/commands'], entries: [] },
  'src/commands': {
    imports: [
      ...['src/service', 'src/client', 'src/exporter', 'src/importer/compare/read-host.ts'],
      ...['src/importer/finish', 'src/importer', ...FORMATS, 'src/formats', 'src/migrations'],
      ...['src/repositories', 'src/accounts'],
      ...['src/sources/directory', 'src/sources/forge', 'src/sources/github', 'src/sources'],
      ...['src/archive', 'src/blobs', 'src/db', 'src/git', 'src/settings', 'src/wire', 'src/lib'],
    ],
    entries: ['program.ts', 'report-failure.ts'],
  },
  'src/service': {
    imports: [
      ...['src/http', 'src/http/pages', 'src/http/routes', 'src/http/rendering'],
      ...['src/http/credentials', 'src/exporter', 'src/schedules', 'src/migrations'],
      'src/webhooks',
      ...['src/repositories', 'src/accounts', 'src/queue', 'src/sources/directory'],
      ...['src/sources/forge', 'src/sources', 'src/blobs', 'src/db', 'src/git', 'src/lib'],
    ],
  },
  'src/settings': { imports: ['src/lib'] },
  'src/http': {
    imports: [
      ...['src/http/openapi', 'src/http/pages', 'src/http/routes', 'src/http/scopes'],
      ...['src/http/server-dependencies.ts', 'src/http/rendering', 'src/http/middleware'],
      ...['src/wire', 'src/lib'],
    ],
    entries: [
      'server.ts',
      'credentials/archive-links.ts',
      'credentials/clone-tokens.ts',
      'pages/dashboard-files.ts',
      'rendering/rendering.ts',
      'routes/service/proxy-probe.ts',
      'routes/sessions/oidc-client.ts',
      'routes/webhooks/webhook-json.ts',
    ],
  },
  'src/http/openapi': {
    imports: [
      ...['src/http/pages', 'src/http/routes', 'src/http/rendering', 'src/http/description'],
      ...['src/http/middleware', 'src/schedules', 'src/webhooks', 'src/migrations'],
      ...['src/repositories', 'src/accounts', 'src/wire'],
    ],
    entries: ['describe-api.ts'],
  },
  'src/http/pages': {
    imports: [
      ...['src/http/server-dependencies.ts', 'src/http/description', 'src/http/middleware'],
      ...['src/repositories', 'src/wire', 'src/lib'],
    ],
  },
  'src/http/routes': {
    imports: [
      ...['src/http/scopes', 'src/http/server-dependencies.ts', 'src/http/rendering'],
      ...['src/http/credentials', 'src/http/description', 'src/http/middleware'],
      ...['src/schedules', 'src/webhooks', 'src/migrations', 'src/repositories', 'src/accounts'],
      ...['src/queue', 'src/sources', 'src/archive', 'src/blobs', 'src/db', 'src/git'],
      ...['src/wire', 'src/lib'],
    ],
    hasSeparateFolders: true,
  },
  'src/http/scopes': {
    imports: [
      ...['src/http/server-dependencies.ts', 'src/http/description', 'src/http/middleware'],
      ...['src/repositories', 'src/accounts', 'src/db', 'src/lib'],
    ],
  },
  'src/http/server-dependencies.ts': {
    imports: [
      ...['src/http/rendering', 'src/http/credentials', 'src/http/middleware'],
      ...['src/schedules', 'src/accounts', 'src/blobs', 'src/lib'],
    ],
  },
  'src/http/rendering': {
    imports: [
      ...['src/http/credentials', 'src/http/middleware', 'src/migrations', 'src/repositories'],
      ...['src/accounts', 'src/sources', 'src/db', 'src/wire', 'src/lib'],
    ],
  },
  'src/http/credentials': { imports: ['src/accounts'] },
  'src/http/description': { imports: ['src/wire'] },
  'src/http/middleware': {
    imports: [
      ...['src/migrations', 'src/repositories', 'src/accounts', 'src/sources', 'src/archive'],
      ...['src/blobs', 'src/db', 'src/git', 'src/wire', 'src/lib'],
    ],
  },
  'src/exporter': {
    imports: [
      ...['src/formats/github-archive', 'src/migrations', 'src/repositories', 'src/accounts'],
      'src/queue',
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
      ...['blob-store-owner.ts', 'read-digest.ts', 'scratch.ts', 'segment-threads.ts'],
    ],
  },
  'src/importer': {
    imports: [
      ...[...FORMATS, 'src/formats', 'src/sources', 'src/records', 'src/archive', 'src/git'],
      'src/lib',
    ],
    entries: [
      ...['check-archive.ts', 'compare/compare.ts', 'compare/comparison-page.ts', 'convert.ts'],
      ...['compare/read-archive.ts', 'list-people.ts', 'restore-archive.ts'],
      ...['summarize-archive.ts', 'verify-archive.ts'],
    ],
  },
  'src/importer/compare/read-host.ts': {
    imports: ['src/importer', 'src/formats', 'src/sources', 'src/records', 'src/lib'],
  },
  'src/importer/finish': {
    imports: [
      ...['src/formats/gitea-dump', 'src/formats', 'src/sources/forge', 'src/sources/http'],
      ...['src/sources', 'src/lib'],
    ],
    entries: ['finish-dump.ts'],
  },
  // Formats have only records and git in common.
  'src/formats': {
    imports: [
      ...['src/sources/directory/snapshot', 'src/sources', 'src/records', 'src/archive'],
      ...['src/git', 'src/lib'],
    ],
  },
  'src/formats/gitea-dump': {
    imports: ['src/formats', 'src/sources', 'src/records', 'src/git', 'src/lib'],
    entries: [
      ...['choose-destinations.ts', 'dump-reviews.ts', 'finish-records.ts', 'rewrite-links.ts'],
      'write-gitea-dump.ts',
    ],
  },
  'src/formats/github-archive': {
    imports: ['src/formats', 'src/sources', 'src/records', 'src/archive', 'src/lib'],
    entries: ['read-github-archive.ts', 'segment-contents.ts', 'write-github-archive.ts'],
  },
  'src/formats/gitlab-export': {
    imports: ['src/formats', 'src/sources', 'src/records', 'src/archive', 'src/git', 'src/lib'],
    entries: ['constants.ts', 'read-gitlab-export.ts', 'write-gitlab-export.ts'],
  },
  'src/formats/html': {
    imports: ['src/formats', 'src/sources', 'src/records', 'src/git', 'src/lib'],
    entries: ['html.ts', 'write-html.ts'],
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
      ...['src/sources/directory/metadata', 'src/sources/directory/snapshot'],
      ...['src/sources/directory/files', 'src/sources', 'src/git', 'src/lib'],
    ],
    entries: ['git-directory.ts'],
  },
  'src/sources/directory/metadata': {
    imports: ['src/sources/directory/files', 'src/sources', 'src/git', 'src/lib'],
    entries: ['head-tree.ts', 'repository-metadata.ts', 'change-token.ts'],
  },
  'src/sources/directory/snapshot': {
    imports: ['src/sources/directory/files', 'src/sources', 'src/git', 'src/lib'],
    entries: [
      ...['examine.ts', 'lfs-objects.ts', 'snapshot-warning.ts'],
      ...['take-snapshot.ts', 'verified-copy.ts'],
    ],
  },
  'src/sources/directory/files': { imports: ['src/sources', 'src/git', 'src/lib'] },
  // Knows no host.
  'src/sources/http': { imports: ['src/sources', 'src/records', 'src/lib'] },
  'src/sources/forge': {
    imports: ['src/sources/http', 'src/sources', 'src/records', 'src/lib'],
    entries: [
      ...['attachment-links.ts', 'client/known-forge.ts', 'connect-forge.ts'],
      ...['discussions/forge-discussions.ts', 'forge-token.ts', 'open-forge.ts'],
      'target-server.ts',
    ],
  },
  'src/sources/github': {
    imports: ['src/sources/forge', 'src/sources/http', 'src/sources', 'src/records'],
    entries: ['open-github.ts'],
  },
  'src/records': { imports: ['src/lib'] },
  'src/archive': { imports: ['src/lib'] },
  'src/blobs': {
    imports: ['src/archive', 'src/lib'],
    entries: ['blob-store.ts', 'disk.ts', 's3.ts', 'watch-errors.ts'],
  },
  'src/db': { imports: ['schema', 'src/lib'] },
  'src/git': {
    imports: ['src/lib'],
    entries: [
      ...['commits-and-refs.ts', 'description.ts', 'git-process.ts', 'git.ts'],
      'installed-git.ts',
    ],
  },
  'src/wire': { imports: [] },
  'src/lib': { imports: [] },
  schema: { imports: [], entries: ['0001-tables.ts', 'steps.ts'] },
  'web/src': { imports: ['src/client', 'src/wire', 'src/lib'] },
  'test/wire': { imports: ['test'] },
}

const STORES = [
  ...['src/db', 'src/accounts', 'src/repositories', 'src/migrations', 'src/webhooks', 'src/queue'],
]

/** The folders that, with those below them, may import each of these packages and Node modules. Every folder may import the others. */
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
  'markdown-it': ['src/formats/html'],
  'spdx-license-list': ['src/sources/directory/metadata', 'src/http', 'src/commands'],
  'openid-client': ['src/service'],
  'node:child_process': ['src/git', 'test/wire'],
  'node:sqlite': ['src/db', 'src/commands', 'src/lib'],
}
