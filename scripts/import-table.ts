export interface Folder {
  /** The folders of the same package that this one may import from. */
  imports: readonly string[]
  /** The entry files, which other folders may import. Without this list they may import every file. */
  entries?: readonly string[]
}

/** Writes the names of folders as paths from the root of the checkout. */
function inPackage(name: string, folders: Readonly<Record<string, Folder>>) {
  const pathOf = (folder: string) =>
    folder === '' ? `packages/${name}/src` : `packages/${name}/src/${folder}`
  return Object.fromEntries(
    Object.entries(folders).map(([folder, { imports, ...rest }]) => [
      pathOf(folder),
      { imports: imports.map(pathOf), ...rest },
    ]),
  )
}

/**
 * The allowed imports, including imports of types, between the folders of a package; '' has the files of the package itself. A file
 * belongs to the longest folder that contains it. Which package may import which is in each package.json: its dependencies, and in
 * `exports` the entries that others may import. Tests may import everything.
 */
export const FOLDERS: Readonly<Record<string, Folder>> = {
  ...inPackage('git', {
    'index.ts': { imports: ['snapshot', ''] },
    '': { imports: [] },
    files: { imports: [''] },
    snapshot: { imports: ['files', ''] },
  }),
  ...inPackage('archive', {
    '': { imports: ['compare', 'formats/*', 'formats', 'records', 'tar'] },
    compare: { imports: ['formats/*', 'formats', 'records', 'tar'] },
    // Formats have only records and git in common.
    'formats/*': { imports: ['formats', 'records', 'tar'] },
    formats: { imports: ['records', 'tar'] },
    records: { imports: [] },
    tar: { imports: [] },
  }),
  ...inPackage('hosts', {
    'index.ts': { imports: ['finish', 'github', 'forge', 'directory', ''] },
    '': { imports: [] },
    finish: { imports: ['forge', 'http', ''] },
    github: { imports: ['forge', 'http', ''], entries: ['open-github.ts'] },
    forge: { imports: ['http', ''] },
    // Knows no host.
    http: { imports: [''] },
    directory: { imports: [''], entries: ['git-directory.ts'] },
  }),
  ...inPackage('contract', {
    'index.ts': { imports: ['client'] },
    client: { imports: ['schemas'] },
    schemas: { imports: [] },
  }),
  ...inPackage('server', {
    service: {
      imports: [
        ...['http/pages', 'http/routes/*', 'http/rendering', 'http/credentials', 'http'],
        ...['exporter', 'schedules', 'migrations', 'webhooks', 'repositories', 'accounts'],
        ...['queue', 'blobs', 'db'],
      ],
    },
    http: {
      imports: [
        ...['http/openapi', 'http/pages', 'http/routes/*', 'http/scopes'],
        ...['http/server-dependencies.ts', 'http/middleware'],
      ],
      entries: ['server.ts'],
    },
    'http/openapi': {
      imports: [
        ...['http/pages', 'http/routes/*', 'http/rendering', 'http/description'],
        ...['http/middleware', 'schedules', 'webhooks', 'migrations', 'repositories', 'accounts'],
      ],
      entries: ['describe-api.ts'],
    },
    'http/pages': {
      imports: [
        ...['http/server-dependencies.ts', 'http/description', 'http/middleware', 'repositories'],
      ],
    },
    // No resource knows another one.
    'http/routes/*': {
      imports: [
        ...['http/scopes', 'http/server-dependencies.ts', 'http/rendering', 'http/credentials'],
        ...['http/description', 'http/middleware', 'schedules', 'webhooks', 'migrations'],
        ...['repositories', 'accounts', 'queue', 'blobs', 'db'],
      ],
    },
    'http/scopes': {
      imports: [
        ...['http/server-dependencies.ts', 'http/description', 'http/middleware'],
        ...['repositories', 'accounts', 'db'],
      ],
    },
    'http/server-dependencies.ts': {
      imports: [
        ...['http/rendering', 'http/credentials', 'http/middleware', 'schedules', 'accounts'],
        'blobs',
      ],
    },
    'http/rendering': {
      imports: [...['http/credentials', 'migrations', 'repositories', 'accounts'], 'db'],
    },
    'http/credentials': { imports: ['accounts'] },
    'http/description': { imports: [] },
    // Knows no resource.
    'http/middleware': {
      imports: ['migrations', 'repositories', 'accounts', 'blobs', 'db'],
    },
    exporter: { imports: ['migrations', 'repositories', 'accounts', 'queue', 'blobs', 'db'] },
    schedules: { imports: ['migrations', 'repositories', 'accounts', 'db'] },
    migrations: { imports: ['webhooks', 'repositories', 'accounts', 'queue', 'blobs', 'db'] },
    webhooks: { imports: ['accounts', 'queue', 'db'] },
    repositories: { imports: ['accounts', 'db'] },
    accounts: { imports: ['db'] },
    queue: { imports: ['db'] },
    blobs: { imports: [] },
    db: { imports: ['schema'] },
    schema: { imports: [] },
  }),
  ...inPackage('cli', {
    '': { imports: ['commands'] },
    commands: { imports: ['settings'] },
    settings: { imports: [] },
  }),
}

const SERVER = 'packages/server/src'

/** The folders that may import each of these packages and Node modules, where package.json cannot say it. */
export const MODULES: Readonly<Record<string, readonly string[]>> = {
  fastify: [`${SERVER}/http`],
  'prom-client': [`${SERVER}/http`],
  pino: [`${SERVER}/http`, `${SERVER}/service`],
  kysely: [
    ...['db', 'schema', 'accounts', 'repositories', 'migrations', 'webhooks', 'queue', 'http'].map(
      (folder) => `${SERVER}/${folder}`,
    ),
  ],
  pg: [`${SERVER}/db`, `${SERVER}/http`],
  'pg-boss': [`${SERVER}/queue`],
  '@aws-sdk': [`${SERVER}/blobs`],
  'openid-client': [`${SERVER}/service`],
  'markdown-it': ['packages/archive/src/formats'],
  'node:child_process': ['packages/git/src'],
  'node:sqlite': [`${SERVER}/db`, 'packages/cli/src/commands', 'packages/lib/src'],
}
