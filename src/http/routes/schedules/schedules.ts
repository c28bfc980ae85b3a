import type { FastifyRequest } from 'fastify'
import { NotFound } from '../../../migrations/errors.ts'
import { DEFAULT_OPTIONS } from '../../../migrations/migration.ts'
import {
  changeSchedule,
  createSchedule,
  type ScheduleInput,
} from '../../../schedules/change-schedule.ts'
import { protectedArchivesOf, releaseArchive } from '../../../schedules/keep-archives.ts'
import { runNow } from '../../../schedules/run-schedule.ts'
import { countRuns, lastRuns, listRuns } from '../../../schedules/run-store.ts'
import type { Schedule } from '../../../schedules/schedule.ts'
import {
  countSchedules,
  deleteSchedule,
  findSchedule,
  listSchedules,
} from '../../../schedules/schedule-store.ts'
import { scheduleChangeSchema, scheduleRequestSchema } from '../../../wire/schedule.ts'
import { EXTENSION } from '../../../wire/schema.ts'
import type * as wire from '../../../wire/types.ts'
import type { Operation } from '../../description/operation.ts'
import {
  DONE,
  errorResponse,
  IF_NONE_MATCH,
  notFound,
  PAGE_PARAMETERS,
  pageResponses,
  parameter,
  recordResponse,
  recordResponses,
} from '../../description/operation.ts'
import { requireViewer } from '../../middleware/authenticate.ts'
import { sendJson, sendJsonWithEtag } from '../../middleware/json-response.ts'
import { parsePaging, sendPage } from '../../middleware/pagination.ts'
import { requireFound, requireId } from '../../middleware/path-parameters.ts'
import { auditAction, auditMigration } from '../../middleware/request-log.ts'
import type { ApiParts } from '../../server-parts.ts'
import { optionsOf } from '../migrations/migration-json.ts'
import { type AddMigrationRoutes, scopeOf } from '../migrations/migration-paths.ts'
import { scheduleAddress, scheduleJson, scheduleRunJson } from './schedule-json.ts'

interface ById {
  Params: { schedule_id: string }
  Querystring: Record<string, unknown>
}

const config = { resource: 'Schedule' } as const

/** Migrations that start every day or every week. GitHub has no such operations, so no preview is required. */
export const schedules: AddMigrationRoutes = (app, parts, migrationsPath) => {
  addReads(app, parts, migrationsPath)
  addChanges(app, parts, migrationsPath)
  addRuns(app, parts, migrationsPath)
}

const listOperation = {
  operationId: 'schedules/list',
  tags: ['Schedules'],
  summary: "List the caller's schedules",
  description: `Oldest first. ${EXTENSION}`,
  parameters: PAGE_PARAMETERS,
  responses: pageResponses('schedule', 'schedules', 'x-total-count'),
} satisfies Operation

const getOperation = {
  operationId: 'schedules/get',
  tags: ['Schedules'],
  summary: 'Get a schedule, its next run and its last',
  description: EXTENSION,
  parameters: [parameter('schedule-id'), IF_NONE_MATCH],
  responses: { ...recordResponses('The schedule.', 'schedule'), 404: notFound },
} satisfies Operation

const addReads: AddMigrationRoutes = (app, parts, { path, describe }) => {
  const { db, rendering } = parts
  const { addresses } = rendering

  app.get<{ Querystring: Record<string, unknown> }>(
    `${path}/schedules`,
    { config, schema: describe(listOperation) },
    async (request, reply) => {
      const scope = scopeOf(request)
      const all = await listSchedules(db, scope, parsePaging(request.query))
      const total = await countSchedules(db, scope)
      const body = await schedulesJson(parts, all)
      return sendPage(request, reply, addresses, { total, body })
    },
  )

  app.get<ById>(
    `${path}/schedules/:schedule_id`,
    { config, schema: describe(getOperation) },
    async (request, reply) => {
      const body = await fullScheduleJson(parts, await scheduleInPath(parts, request))
      return sendJsonWithEtag(request, reply, body)
    },
  )
}

const createOperation = {
  operationId: 'schedules/create',
  tags: ['Schedules'],
  summary: 'Create a schedule',
  description: `Starts a migration of the repositories every day or every week. It runs as the account that creates it: each run asks anew what that account may migrate. A run that is still going when the next is due makes that one \`skipped\`. A run that lacks a repository of an earlier archive lists it as skipped, so that its migration is partial. Runs that were missed while the service was down are made up for by one run. ${EXTENSION}`,
  body: scheduleRequestSchema,
  responses: {
    201: recordResponse('Created.', 'schedule', 'location'),
    413: errorResponse('too-large'),
    422: errorResponse('invalid'),
  },
} satisfies Operation

const updateOperation = {
  operationId: 'schedules/update',
  tags: ['Schedules'],
  summary: 'Change, pause or resume a schedule',
  description: `Fields that are not sent stay as they are. What was due while it was paused is not made up for. ${EXTENSION}`,
  parameters: [parameter('schedule-id')],
  body: scheduleChangeSchema,
  responses: {
    200: recordResponse('The schedule as it is now.', 'schedule'),
    404: notFound,
    413: errorResponse('too-large'),
    422: errorResponse('invalid'),
  },
} satisfies Operation

const deleteOperation = {
  operationId: 'schedules/delete',
  tags: ['Schedules'],
  summary: 'Delete a schedule',
  description: `Its migrations stay, and their archives expire like any others, also protected ones. ${EXTENSION}`,
  parameters: [parameter('schedule-id')],
  responses: { 204: DONE, 404: notFound },
} satisfies Operation

const addChanges: AddMigrationRoutes = (app, parts, { path, describe }) => {
  const { db, log, rendering } = parts

  app.post<{ Body: wire.ScheduleRequest }>(
    `${path}/schedules`,
    { config, schema: describe(createOperation) },
    async (request, reply) => {
      const { account } = requireViewer(request)
      const settings = newScheduleOf(request.body)
      const signal = await parts.starts.begin(request, reply)
      const made = await createSchedule({ ...parts, signal }, scopeOf(request), account, settings)
      auditAction(log, request, 'schedule.create', auditFields(made))
      reply.code(201).header('location', scheduleAddress(made, rendering.addresses))
      return sendJson(reply, scheduleJson(made, {}, rendering.addresses))
    },
  )

  app.patch<ById & { Body: wire.ScheduleChange }>(
    `${path}/schedules/:schedule_id`,
    { config, schema: describe(updateOperation) },
    async (request, reply) => {
      const { account } = requireViewer(request)
      const signal = await parts.starts.begin(request, reply)
      const changed = await changeSchedule(
        { ...parts, signal },
        scopeOf(request),
        account,
        idOf(request),
        scheduleChangeOf(request.body),
      )
      const fields = Object.keys(request.body)
      auditAction(log, request, 'schedule.update', { ...auditFields(changed), fields })
      return sendJson(reply, await fullScheduleJson(parts, changed))
    },
  )

  app.delete<ById>(
    `${path}/schedules/:schedule_id`,
    { config, schema: describe(deleteOperation) },
    async (request, reply) => {
      const scope = scopeOf(request)
      const id = idOf(request)
      if (!(await deleteSchedule(db, scope, id))) throw new NotFound()
      auditAction(log, request, 'schedule.delete', { schedule: id, owner: scope.owner.login })
      return reply.code(204).send()
    },
  )
}

const listRunsOperation = {
  operationId: 'schedules/list-runs',
  tags: ['Schedules'],
  summary: 'List the runs of a schedule',
  description: `Newest first, with those that were skipped or could not start a migration. Old runs without an archive are forgotten. ${EXTENSION}`,
  parameters: [parameter('schedule-id'), ...PAGE_PARAMETERS],
  responses: { ...pageResponses('schedule-run', 'schedule-runs', 'x-total-count'), 404: notFound },
} satisfies Operation

const releaseArchiveOperation = {
  operationId: 'schedules/release-archive',
  tags: ['Schedules'],
  summary: 'Release a protected archive',
  description: `Deletes an archive that the schedule keeps beyond \`keep\`, because no newer one holds some of its repositories. Answers 404 for any other archive. ${EXTENSION}`,
  parameters: [parameter('schedule-id'), parameter('migration-id')],
  responses: { 204: DONE, 404: notFound },
} satisfies Operation

const runOperation = {
  operationId: 'schedules/run',
  tags: ['Schedules'],
  summary: 'Run a schedule now',
  description: `Starts the migration on behalf of the caller, not of the schedule's creator. Also works while the schedule is paused. Does not change the time of the next run. ${EXTENSION}`,
  parameters: [parameter('schedule-id')],
  responses: {
    201: recordResponse('Started.', 'schedule-run'),
    404: notFound,
    422: errorResponse('invalid'),
  },
} satisfies Operation

const addRuns: AddMigrationRoutes = (app, parts, { path, describe }) => {
  const { db, log, rendering } = parts
  const { addresses } = rendering

  app.get<ById>(
    `${path}/schedules/:schedule_id/runs`,
    { config, schema: describe(listRunsOperation) },
    async (request, reply) => {
      const schedule = await scheduleInPath(parts, request)
      const runs = await listRuns(db, schedule, parsePaging(request.query))
      const total = await countRuns(db, schedule)
      return sendPage(request, reply, addresses, { total, body: runs.map(scheduleRunJson) })
    },
  )

  app.delete<ById & { Params: { migration_id: string } }>(
    `${path}/schedules/:schedule_id/protected-archives/:migration_id`,
    { config, schema: describe(releaseArchiveOperation) },
    async (request, reply) => {
      const schedule = await scheduleInPath(parts, request)
      const migration = requireId(request.params.migration_id)
      await releaseArchive(parts, schedule, migration, () => {
        auditAction(log, request, 'schedule.release', { ...auditFields(schedule), migration })
      })
      return reply.code(204).send()
    },
  )

  app.post<ById>(
    `${path}/schedules/:schedule_id/runs`,
    { config, schema: describe(runOperation) },
    async (request, reply) => {
      const schedule = await scheduleInPath(parts, request)
      await parts.starts.begin(request, reply)
      const run = await runNow(parts, schedule, {
        by: requireViewer(request).account,
        onCommitted(migration) {
          auditAction(log, request, 'schedule.run', auditFields(schedule))
          auditMigration(log, request, 'migration.start', migration)
        },
      })
      return sendJson(reply.code(201), scheduleRunJson(run))
    },
  )
}

type ReadParts = Pick<ApiParts, 'db' | 'rendering'>

const auditFields = ({ id, owner }: Schedule) => ({ schedule: id, owner: owner.login })

async function schedulesJson(
  { db, rendering }: ReadParts,
  schedules: readonly Schedule[],
): Promise<wire.Schedule[]> {
  const ids = schedules.map(({ id }) => id)
  const runs = await lastRuns(db, ids)
  const archives = await protectedArchivesOf(db, ids)
  return schedules.map((each) => {
    const history = { lastRun: runs.get(each.id), protectedArchives: archives.get(each.id) }
    return scheduleJson(each, history, rendering.addresses)
  })
}

const fullScheduleJson = async (parts: ReadParts, schedule: Schedule): Promise<wire.Schedule> =>
  (await schedulesJson(parts, [schedule]))[0]!

async function scheduleInPath({ db }: ReadParts, request: FastifyRequest<ById>): Promise<Schedule> {
  return requireFound(await findSchedule(db, scopeOf(request), idOf(request)))
}

const idOf = ({ params }: FastifyRequest<ById>): number => requireId(params.schedule_id)

/** Converts the body of a change, which was validated by its schema. */
function scheduleChangeOf(body: wire.ScheduleChange): ScheduleInput {
  const { repositories, every, weekday, at, time_zone: timeZone, keep, paused: isPaused } = body
  return {
    ...(repositories && { repositories }),
    ...(every && { every }),
    ...(weekday !== undefined && { weekday }),
    ...(at !== undefined && { at }),
    ...(timeZone !== undefined && { timeZone }),
    ...(keep !== undefined && { keep }),
    ...(isPaused !== undefined && { isPaused }),
    options: optionsOf(body),
  }
}

function newScheduleOf(body: wire.ScheduleRequest) {
  const settings = scheduleChangeOf(body)
  return { ...settings, options: { ...DEFAULT_OPTIONS, ...settings.options } }
}
