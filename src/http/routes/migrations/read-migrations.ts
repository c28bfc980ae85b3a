import type { FastifyInstance, FastifyRequest } from 'fastify'
import { batchesOf } from '../../../lib/batches.ts'
import { nextTurn } from '../../../lib/turns.ts'
import type { Migration } from '../../../migrations/migration.ts'
import { countMigrations, listMigrations } from '../../../migrations/migration-store.ts'
import {
  knownReferences,
  type Page,
  pageOfReferences,
  type SnapshotPart,
} from '../../../migrations/snapshot-store.ts'
import type { Operation } from '../../description/operation.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { answerWithEtag, type Listed, type Piece } from '../../middleware/json-answer.ts'
import { setLinkHeader } from '../../middleware/link-header.ts'
import { pagingOf } from '../../middleware/paging.ts'
import type { ApiParts } from '../../server-parts.ts'
import type { CloneTokenOf } from '../clones/clone-tokens.ts'
import { RENDERED_AT_ONCE, type ReadRendered } from '../repositories/rendered-repositories.ts'
import type { RepositoryForm } from '../repositories/repository-text.ts'
import * as operations from './github-migrations-operations.ts'
import { CALLER_PATH, type MigrationsPath } from './migration-paths.ts'
import { migrationsText } from './migration-text.ts'
import { type ById, namedMigration, namedMigrationToRead, scopeOf } from './named-migration.ts'

type Query = Record<string, unknown>

/** The reads that clients poll. A validator names the migration by its guid: another database has other ones. */
export function readMigrations(app: FastifyInstance, parts: ApiParts, place: MigrationsPath): void {
  listAll(app, parts, place)
  status(app, parts, place)
  listRepositories(app, parts, place)
}

function listAll(
  app: FastifyInstance,
  parts: ApiParts,
  { path, config, describe, hasBriefList }: MigrationsPath,
): void {
  const { db, rendering, text } = parts
  app.get<{ Querystring: Query }>(
    path,
    { config, schema: describe(operations.listMigrations) },
    async (request, reply) => {
      const scope = scopeOf(request)
      const paging = pagingOf(request.query)
      const migrations = await listMigrations(db, scope, paging)
      const total = await countMigrations(db, scope)
      const isBrief = hasBriefList && excludesRepositories(request.query)
      const { addresses, edition } = rendering
      setLinkHeader(request, reply, { addresses, paging, total })
      const shown = { form: 'extended', tokenOf: tokensFor(parts, request) } as const
      const versions = migrations.flatMap(({ guid, version }) => [guid, version])
      return answerWithEtag(request, reply, {
        etagParts: [edition, isBrief ? 'brief migrations' : 'migrations', total, ...versions],
        large: parts.largeAnswers,
        repositoryCount: isBrief
          ? 0
          : migrations.reduce((sum, each) => sum + each.repositoryCount, 0),
        body: () =>
          migrationsText(migrations, (each) =>
            text(each, isBrief ? undefined : repositories(parts, each, shown)),
          ),
      })
    },
  )
}

function status(
  app: FastifyInstance,
  parts: ApiParts,
  { path, config, describe }: MigrationsPath,
): void {
  const { db, rendering, text } = parts
  const { edition } = rendering
  app.get<ById>(
    `${path}/:migration_id`,
    { config, schema: describe(operations.getMigration) },
    async (request, reply) => {
      const isBrief = excludesRepositories(request.query)
      const known = isBrief ? undefined : await namedMigrationToRead(db, request, { offset: 0 })
      const migration = known?.migration ?? (await namedMigration(db, request))
      const { guid, version, repositoryCount } = migration
      return answerWithEtag(request, reply, {
        etagParts: [edition, 'migration', guid, version, isBrief],
        large: parts.largeAnswers,
        repositoryCount: isBrief ? 0 : repositoryCount,
        body: () => {
          const tokenOf = tokensFor(parts, request)
          const shown = { form: 'extended', tokenOf, known } as const
          return text(migration, known && repositories(parts, migration, shown))
        },
      })
    },
  )
}

function listRepositories(app: FastifyInstance, parts: ApiParts, place: MigrationsPath): void {
  const { db, rendering } = parts
  const { addresses, edition } = rendering
  const paths: Record<string, Operation> = {
    [`${place.path}/:migration_id/repositories`]: place.describe(operations.listRepositories),
  }
  // What clients of some years ago call.
  if (place === CALLER_PATH) {
    paths['/user/:migration_id/repositories'] = operations.listRepositoriesByFormerPath
  }
  for (const [path, schema] of Object.entries(paths)) {
    app.get<ById>(path, { config: place.config, schema }, async (request, reply) => {
      const paging = pagingOf(request.query)
      const known = await namedMigrationToRead(db, request, paging)
      const { guid, repositoryCount: total } = known.migration
      setLinkHeader(request, reply, { addresses, paging, total })
      const tokenOf = tokensFor(parts, request)
      const page = { form: 'plain', tokenOf, page: paging, known } as const
      return answerWithEtag(request, reply, {
        // The snapshot never changes, so neither does any page of it.
        etagParts: [edition, 'repositories', guid, paging.page, paging.perPage],
        large: parts.largeAnswers,
        repositoryCount: paging.perPage,
        body: () => ['[', repositories(parts, known.migration, page), ']'],
      })
    })
  }
}

const tokensFor = ({ cloneTokens }: ApiParts, request: FastifyRequest) =>
  cloneTokens.for(viewerOf(request))

interface Shown {
  form: RepositoryForm
  tokenOf: CloneTokenOf | undefined
  /** All of them unless told. */
  page?: Page
  known?: SnapshotPart | undefined
}

function repositories(
  { db, rendered }: ApiParts,
  migration: Migration,
  { form, tokenOf, page = { offset: 0, limit: migration.repositoryCount }, known }: Shown,
): Listed {
  const shown = { form, tokenOf }
  async function* inBatches(read: ReadRendered): AsyncGenerator<readonly Piece[]> {
    for await (const references of pageOfReferences(db, migration, page, known)) {
      for (const some of batchesOf(references, RENDERED_AT_ONCE)) {
        await nextTurn()
        yield await read(shown, some)
      }
    }
  }
  return {
    // So many would only drive out what others ask for.
    inBatches: () => inBatches(rendered.readOnce),
    async whole() {
      const all = known && knownReferences(migration, page, known)
      if (all && all.length <= RENDERED_AT_ONCE) return rendered.read(shown, all)
      return (await Array.fromAsync(inBatches(rendered.read))).flat()
    },
  }
}

/** Comma-joined, repeated, or with brackets: all three are in use. Values that are not known are ignored. */
function excludesRepositories(query: Query): boolean {
  return namesRepositories(query.exclude) || namesRepositories(query['exclude[]'])
}

function namesRepositories(sent: unknown): boolean {
  if (typeof sent === 'string')
    return sent === 'repositories' || sent.split(',').includes('repositories')
  return Array.isArray(sent) && sent.some(namesRepositories)
}
