import { EXTENSION, uri } from '@godwit/contract/schemas/schema'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyRequest } from 'fastify'
import { audited, recordAccess } from '../../../accounts/audit-log.ts'
import { isComposing } from '../../../blobs/blob-store.ts'
import * as archiveStore from '../../../migrations/archive-store.ts'
import { aboutMigration, type Migration } from '../../../migrations/migration.ts'
import { migrationOwner } from '../../../migrations/migration-store.ts'
import { FRESH_IF_AVAILABLE } from '../../../repositories/refresh-permissions.ts'
import * as openapi from '../../description/operation.ts'
import { archiveDamaged, HttpError } from '../../middleware/http-errors.ts'
import { sendJson } from '../../middleware/json-response.ts'
import { actorOf } from '../../middleware/request.ts'
import { type ArchiveLink, archiveLinkJson, archiveNameOf } from '../../rendering/migration-json.ts'
import { type AddScopedRoutes, scopeOf } from '../../scopes/scoped-path.ts'
import type { ServerDependencies } from '../../server-dependencies.ts'
import { ARCHIVE_TYPE } from './archive-download.ts'
import { type ById, migrationInPath, summaryInPath } from './migration-paths.ts'

/** How many repositories the error message names if the owner may no longer read them. */
const MAX_NAMED = 3

const accessRevoked = (names: readonly string[]) =>
  new HttpError(
    403,
    `You may no longer read these repositories in the archive: ${names.join(', ')}. Start a migration without them.`,
  )

/**
 * Returns a link to the archive that expires no later than the archive: to the blob store if it holds the archive as one
 * object, otherwise to this server. Refuses if the owner may no longer read a repository of the archive, or if a segment
 * is damaged.
 */
async function createArchiveLink(
  dependencies: ServerDependencies,
  request: FastifyRequest,
  migration: Migration,
): Promise<ArchiveLink> {
  const { db, blobs, links, permissionsRefresher, now } = dependencies
  const { id, guid, archiveKey, archiveExpiresAt } = migration
  const at = now()
  if (archiveExpiresAt === null || archiveExpiresAt <= at) throw new NotFound()
  // By the current login: after a rename, the former login may belong to another account of the forge.
  await permissionsRefresher?.refresh((await migrationOwner(db, id))!, FRESH_IF_AVAILABLE)
  const missing = await archiveStore.noLongerReadable(db, migration, MAX_NAMED)
  if (missing.length > 0) throw accessRevoked(missing)
  const secondsLeft = Math.max(1, Math.floor((archiveExpiresAt - at) / 1000))
  const seconds = Math.min(links.seconds, secondsLeft)
  const expiresAt = at + seconds * 1000
  const bucket = archiveKey !== null && isComposing(blobs) ? blobs : undefined
  const damaged = bucket ? [] : await archiveStore.damagedRepositoriesIn(db, migration)
  if (damaged.length > 0) throw archiveDamaged(damaged)
  await recordAccess(dependencies, actorOf(request), 'archive.link', aboutMigration(migration))
  if (!bucket) return { url: links.sign(guid, at, seconds), expiresAt }
  const url = await bucket.presign(archiveKey!, {
    filename: archiveNameOf(migration),
    contentType: ARCHIVE_TYPE,
    expiresInSeconds: seconds,
  })
  return { url, expiresAt }
}

const routes = openapi.routes('Archives')({
  'migrations/get-archive-for-authenticated-user': {
    summary: 'Get a link to the archive of a migration',
    responses: {
      302: {
        description:
          'A link that expires, after five minutes by default. It is a credential: anyone who has it can download the archive.',
        ...openapi.withHeaders('location'),
        content: { 'text/plain': { schema: uri } },
      },
      410: openapi.errorResponse('archive-damaged'),
    },
  },
  'migrations/delete-archive-for-authenticated-user': {
    summary: 'Delete the archive of a migration',
    description: 'The migration itself is kept.',
    responses: { 204: openapi.DONE },
  },
  'migrations/get-archive-link': {
    summary: 'Get a link to the archive of a migration as JSON',
    description: `The target of the redirect as JSON. Browsers hide the redirect from scripts. ${EXTENSION}`,
    responses: {
      200: openapi.recordResponse(
        'A link that expires, after five minutes by default.',
        'archive-link',
      ),
      410: openapi.errorResponse('archive-damaged'),
    },
  },
})

/** The operations on an archive that GitHub has too. */
export const addArchive: AddScopedRoutes = (app, dependencies, { path, previewOptions }) => {
  const { db } = dependencies
  const url = `${path}/:migration_id/archive`
  const getOptions = previewOptions(routes['migrations/get-archive-for-authenticated-user'])
  app.get<ById>(url, getOptions, async (request, reply) => {
    const link = await createArchiveLink(dependencies, request, await migrationInPath(db, request))
    // Some clients read the link from the body.
    reply.code(302).header('location', link.url).type('text/plain; charset=utf-8')
    return reply.send(link.url)
  })

  const deleteOptions = previewOptions(routes['migrations/delete-archive-for-authenticated-user'])
  app.delete<ById>(url, deleteOptions, async (request, reply) => {
    const migration = await migrationInPath(db, request)
    await audited(dependencies, actorOf(request), (record) =>
      archiveStore.deleteArchive(dependencies, scopeOf(request), migration.id, (tx) =>
        record(tx, 'migration.delete_archive', aboutMigration(migration)),
      ),
    )
    return reply.code(204).send()
  })
}

export const addArchiveLink: AddScopedRoutes = (app, dependencies, { path, options }) => {
  const url = `${path}/:migration_id/archive/link`
  app.get<ById>(url, options(routes['migrations/get-archive-link']), async (request, reply) => {
    const summary = await summaryInPath(dependencies.db, request)
    const link = await createArchiveLink(dependencies, request, summary)
    return sendJson(reply.header('cache-control', 'no-store'), archiveLinkJson(summary, link))
  })
}
