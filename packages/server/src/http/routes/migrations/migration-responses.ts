import { memoize } from '@godwit/lib/memoize'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Account } from '../../../accounts/account.ts'
import type { Db } from '../../../db/database.ts'
import type { Migration } from '../../../migrations/migration.ts'
import { type Page, referencesOfPage } from '../../../migrations/repository-list-store.ts'
import type { CloneTokens } from '../../credentials/clone-tokens.ts'
import type { ConcurrencyLimit } from '../../middleware/concurrency-limit.ts'
import {
  type Body,
  isLargeResponse,
  sendBody,
  sendIfNotModified,
  splitAtRepositories,
} from '../../middleware/json-response.ts'
import type { Paging } from '../../middleware/pagination.ts'
import { requireViewer } from '../../middleware/request.ts'
import { migrationJson } from '../../rendering/migration-json.ts'
import { type RenderOptions, repositoryRenderer } from '../../rendering/rendered-repositories.ts'
import type { Rendering } from '../../rendering/rendering.ts'

/** How many repositories are rendered between two calls of `nextTurn`. */
const BATCH_SIZE = 50
/** Without this cache, a status without repositories takes a fifth more CPU time, and one of ten repositories a tenth more. */
const MAX_CACHED_MIGRATIONS = 5000

interface ResponseDependencies {
  db: Db
  rendering: Rendering
  cloneTokens: CloneTokens
  largeResponseLimit: ConcurrencyLimit
}

interface MigrationOptions {
  /** The owner's account as it is now, on which the URLs depend. */
  owner: Account
  /** Whether the list of repositories is empty. */
  isBrief: boolean
}

type MigrationResponses = ReturnType<typeof migrationResponses>

/** What routes of migrations need beside the dependencies of all API routes. */
export interface MigrationDependencies {
  migrationResponses: MigrationResponses
}

/**
 * Returns functions that render migrations and repositories for the caller and send them. A response with an ETag is rendered only if the
 * client does not have it yet.
 */
export function migrationResponses({
  db,
  rendering,
  cloneTokens,
  largeResponseLimit,
}: ResponseDependencies) {
  const { renderingVersion } = rendering
  const renderRepositories = repositoryRenderer(db, rendering.addresses)

  /** A change of anything in the text, except the URLs, increases the migration's version. */
  const textAround = memoize(
    MAX_CACHED_MIGRATIONS,
    ({ migration, owner }: { migration: Migration; owner: Account }) => {
      const brief = JSON.stringify(migrationJson(migration, [], rendering, owner))
      return { brief, ...splitAtRepositories(brief) }
    },
    ({ migration: { guid, version }, owner: { type, login } }) =>
      `${guid} ${version} ${type} ${login}`,
  )

  /** Returns functions that each render a batch of a page of the repositories of a migration. */
  function repositoriesBody(
    migration: Migration,
    { offset, limit }: Page,
    options: RenderOptions,
  ): Body {
    const end = Math.min(offset + limit, migration.repositoryCount)
    const count = Math.max(0, Math.ceil((end - offset) / BATCH_SIZE))
    return Array.from({ length: count }, (_, batch) => async () => {
      const first = offset + batch * BATCH_SIZE
      const page = { offset: first, limit: Math.min(BATCH_SIZE, end - first) }
      const pieces = await renderRepositories(options, await referencesOfPage(db, migration, page))
      if (batch === 0) pieces[0] = pieces[0]!.subarray(','.length)
      return pieces
    })
  }

  function migrationBody(
    request: FastifyRequest,
    migration: Migration,
    { owner, isBrief, repositoryCount }: MigrationOptions & { repositoryCount: number },
  ): Body {
    const { brief, before, after } = textAround({ migration, owner })
    if (isBrief) return [brief]
    const all = { offset: 0, limit: migration.repositoryCount }
    const isCached = !isLargeResponse(repositoryCount)
    const options = { form: 'extended', tokenOf: tokensOf(request), isCached } as const
    return [before, ...repositoriesBody(migration, all, options), after]
  }

  const tokensOf = (request: FastifyRequest) => cloneTokens.for(requireViewer(request))

  /** Sends a migration without an ETag. */
  function sendNewMigration(reply: FastifyReply, migration: Migration, options: MigrationOptions) {
    const repositoryCount = options.isBrief ? 0 : migration.repositoryCount
    const body = migrationBody(reply.request, migration, { ...options, repositoryCount })
    return sendBody(reply, body, { repositoryCount, largeResponseLimit })
  }

  return {
    sendNewMigration,

    sendMigration(reply: FastifyReply, migration: Migration, options: MigrationOptions) {
      const { owner, isBrief } = options
      // The guid instead of the id, because ids are unique only within one database.
      const { guid, version } = migration
      const etagParts = [
        renderingVersion,
        'migration',
        guid,
        version,
        isBrief,
        owner.type,
        owner.login,
      ]
      if (sendIfNotModified(reply, etagParts)) return reply
      return sendNewMigration(reply, migration, options)
    },

    /** Sends a page of the migrations of the scope, which has `total`. */
    sendMigrations(
      reply: FastifyReply,
      migrations: readonly Migration[],
      { owner, isBrief, total }: MigrationOptions & { total: number },
    ) {
      const versions = migrations.flatMap(({ guid, version }) => [guid, version])
      const form = isBrief ? 'brief migrations' : 'migrations'
      const etagParts = [renderingVersion, form, total, owner.type, owner.login, ...versions]
      if (sendIfNotModified(reply, etagParts)) return reply
      const counts = migrations.map((each) => (isBrief ? 0 : each.repositoryCount))
      const repositoryCount = counts.reduce((sum, count) => sum + count, 0)
      const items = migrations.flatMap((migration, at) => [
        at === 0 ? '' : ',',
        ...migrationBody(reply.request, migration, { owner, isBrief, repositoryCount }),
      ])
      return sendBody(reply, ['[', ...items, ']'], { repositoryCount, largeResponseLimit })
    },

    /** Sends a page of the repositories of a migration. */
    sendRepositories(reply: FastifyReply, migration: Migration, paging: Paging) {
      // Without the version, because the repository list of a migration never changes.
      const etagParts = [
        renderingVersion,
        'repositories',
        migration.guid,
        paging.page,
        paging.perPage,
      ]
      if (sendIfNotModified(reply, etagParts)) return reply
      const options = { form: 'plain', tokenOf: tokensOf(reply.request), isCached: true } as const
      const body = ['[', ...repositoriesBody(migration, paging, options), ']']
      return sendBody(reply, body, { repositoryCount: paging.perPage, largeResponseLimit })
    },
  }
}
