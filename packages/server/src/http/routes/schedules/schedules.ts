import { EXTENSION } from '@godwit/contract/schemas/schema'
import * as wire from '@godwit/contract/schemas/types'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyRequest } from 'fastify'
import { audited, inAuditedTransaction } from '../../../accounts/audit-log.ts'
import { aboutMigration, DEFAULT_OPTIONS } from '../../../migrations/migration.ts'
import {
  changeSchedule,
  createSchedule,
  type ScheduleInput,
} from '../../../schedules/change-schedule.ts'
import { protectedArchivesOf, releaseArchive } from '../../../schedules/keep-archives.ts'
import { runNow } from '../../../schedules/run-schedule.ts'
import { countRuns, lastRuns, listRuns } from '../../../schedules/run-store.ts'
import type { Schedule } from '../../../schedules/schedule-store.ts'
import * as scheduleStore from '../../../schedules/schedule-store.ts'
import * as openapi from '../../description/operation.ts'
import { sendJson, sendJsonWithEtag } from '../../middleware/json-response.ts'
import { parsePaging, sendPage } from '../../middleware/pagination.ts'
import {
  actorOf,
  requireFound,
  requireId,
  requireViewer,
  type WithQuery,
} from '../../middleware/request.ts'
import { nameOf, optionsOf } from '../../rendering/migration-json.ts'
import { type AddScopedRoutes, scopeOf } from '../../scopes/scoped-path.ts'
import type { ApiDependencies } from '../../server-dependencies.ts'
import { scheduleJson, scheduleRunJson } from './schedule-json.ts'

type ById = WithQuery & { Params: { schedule_id: string } }

const routes = openapi.routes('Schedules', { config: { resource: 'Schedule' } })({
  'schedules/list': {
    summary: "List the caller's schedules",
    description: `Oldest first. ${EXTENSION}`,
    responses: openapi.pageResponses('schedule', 'schedules', 'x-total-count'),
  },
  'schedules/get': {
    summary: 'Get a schedule, its next run and its last run',
    description: EXTENSION,
    responses: openapi.recordResponses('The schedule.', 'schedule'),
  },
  'schedules/create': {
    summary: 'Create a schedule',
    description: `Starts a migration every day or every week: of the listed repositories, or with \`all\` of every repository that exists when it runs. The runs act as the account that creates the schedule, with its permissions at the time of the run. A run is \`skipped\` if the previous one has not ended. If a run can no longer migrate a repository that an earlier archive contains, it lists the repository as skipped, so that the migration is partial. After a downtime of the service, one run replaces all missed runs. ${EXTENSION}`,
    body: wire.scheduleRequestSchema,
    responses: {
      201: openapi.recordResponse('Created.', 'schedule', 'location'),
    },
  },
  'schedules/update': {
    summary: 'Change, pause or resume a schedule',
    description: `Omitted fields do not change. Runs that were due while the schedule was paused are skipped, and not made up for later. ${EXTENSION}`,
    body: wire.scheduleChangeSchema,
    responses: {
      200: openapi.recordResponse('The changed schedule.', 'schedule'),
    },
  },
  'schedules/delete': {
    summary: 'Delete a schedule',
    description: `Its migrations are kept. Their archives expire like those of other migrations, including protected ones. ${EXTENSION}`,
    responses: { 204: openapi.DONE },
  },
  'schedules/list-runs': {
    summary: 'List the runs of a schedule',
    description: `Newest first, including runs that were skipped or could not start a migration. Old runs without an archive are deleted. ${EXTENSION}`,
    responses: openapi.pageResponses('schedule-run', 'schedule-runs', 'x-total-count'),
  },
  'schedules/release-archive': {
    summary: 'Delete a protected archive',
    description: `Deletes an archive that the schedule keeps beyond \`keep\`, because no newer archive contains some of its repositories. The response is 404 for other archives. ${EXTENSION}`,
    responses: { 204: openapi.DONE },
  },
  'schedules/run': {
    summary: 'Run a schedule now',
    description: `Starts the migration on behalf of the caller, not of the schedule's creator. Also works while the schedule is paused. Does not change the time of the next run. ${EXTENSION}`,
    responses: {
      201: openapi.recordResponse('Started.', 'schedule-run'),
      422: openapi.errorResponse('invalid'),
    },
  },
})

/** Adds schedules, which start migrations every day or every week. GitHub has none, so no preview media type is required. */
export const addScheduleRoutes: AddScopedRoutes = (app, dependencies, { path, options }) => {
  const { db, rendering, startLimit } = dependencies
  const { addresses } = rendering
  const list = `${path}/schedules`
  const one = `${list}/:schedule_id`

  app.get(list, options(routes['schedules/list']), async (request, reply) => {
    const scope = scopeOf(request)
    const schedules = await scheduleStore.listSchedules(db, scope, parsePaging(request.query))
    const total = await scheduleStore.countSchedules(db, scope)
    return sendPage(reply, addresses, { total, body: await schedulesJson(dependencies, schedules) })
  })

  app.get<ById>(one, options(routes['schedules/get']), async (request, reply) => {
    const body = await fullScheduleJson(dependencies, await scheduleInPath(dependencies, request))
    return sendJsonWithEtag(reply, body)
  })

  type Create = { Body: wire.ScheduleRequest }
  app.post<Create>(list, options(routes['schedules/create']), async (request, reply) => {
    const { account } = requireViewer(request)
    const { every, at, time_zone: timeZone } = request.body
    const timing = { every, at, timeZone }
    const given = scheduleInputOf(request.body)
    const input = { ...given, ...timing, options: { ...DEFAULT_OPTIONS, ...given.options } }
    const scope = scopeOf(request)
    const signal = await startLimit.begin(request, reply)
    const schedule = await audited(dependencies, actorOf(request), (record) =>
      createSchedule({ ...dependencies, signal }, scope, account, input, (tx, id) =>
        record(tx, 'schedule.create', aboutSchedule({ id, ...scope })),
      ),
    )
    const body = scheduleJson(schedule, {}, addresses)
    return sendJson(reply.code(201).header('location', body.url), body)
  })

  type Change = ById & { Body: wire.ScheduleChange }
  app.patch<Change>(one, options(routes['schedules/update']), async (request, reply) => {
    const { account } = requireViewer(request)
    const signal = await startLimit.begin(request, reply)
    const scope = scopeOf(request)
    const id = idOf(request)
    const input = scheduleInputOf(request.body)
    const about = aboutSchedule({ id, ...scope }, { fields: Object.keys(request.body) })
    const changed = await audited(dependencies, actorOf(request), (record) =>
      changeSchedule({ ...dependencies, signal }, scope, account, id, input, (tx) =>
        record(tx, 'schedule.update', about),
      ),
    )
    return sendJson(reply, await fullScheduleJson(dependencies, changed))
  })

  app.delete<ById>(one, options(routes['schedules/delete']), async (request, reply) => {
    const scope = scopeOf(request)
    const id = idOf(request)
    await inAuditedTransaction(dependencies, actorOf(request), async (tx, record) => {
      if (!(await scheduleStore.deleteSchedule(tx, scope, id))) throw new NotFound()
      await record(tx, 'schedule.delete', aboutSchedule({ id, ...scope }))
    })
    return reply.code(204).send()
  })

  const runsOptions = options(routes['schedules/list-runs'])
  app.get<ById>(`${one}/runs`, runsOptions, async (request, reply) => {
    const schedule = await scheduleInPath(dependencies, request)
    const runs = await listRuns(db, schedule, parsePaging(request.query))
    const total = await countRuns(db, schedule)
    return sendPage(reply, addresses, { total, body: runs.map(scheduleRunJson) })
  })

  app.delete<ById & { Params: { migration_id: string } }>(
    `${one}/protected-archives/:migration_id`,
    options(routes['schedules/release-archive']),
    async (request, reply) => {
      const schedule = await scheduleInPath(dependencies, request)
      const migration = requireId(request.params.migration_id)
      await audited(dependencies, actorOf(request), (record) =>
        releaseArchive(dependencies, schedule, migration, (tx) =>
          record(tx, 'schedule.release', aboutSchedule(schedule, { migration })),
        ),
      )
      return reply.code(204).send()
    },
  )

  const runOptions = options(routes['schedules/run'])
  app.post<ById>(`${one}/runs`, runOptions, async (request, reply) => {
    const schedule = await scheduleInPath(dependencies, request)
    await startLimit.begin(request, reply)
    const run = await audited(dependencies, actorOf(request), (record) =>
      runNow(dependencies, schedule, {
        by: requireViewer(request).account,
        async alsoWrite(tx, migration) {
          await record(tx, 'schedule.run', aboutSchedule(schedule))
          await record(tx, 'migration.start', aboutMigration(migration))
        },
      }),
    )
    return sendJson(reply.code(201), scheduleRunJson(run))
  })
}

const aboutSchedule = ({ id, owner }: Pick<Schedule, 'id' | 'owner'>, more = {}) => ({
  subject: `schedule ${id}`,
  owner,
  details: { schedule: id, ...more },
})

async function schedulesJson({ db, rendering }: ApiDependencies, schedules: readonly Schedule[]) {
  const ids = schedules.map(({ id }) => id)
  const runs = await lastRuns(db, ids)
  const archives = await protectedArchivesOf(db, ids)
  return schedules.map((each) => {
    const history = { lastRun: runs.get(each.id), protectedArchives: archives.get(each.id) }
    return scheduleJson(each, history, rendering.addresses)
  })
}

const fullScheduleJson = async (
  dependencies: ApiDependencies,
  schedule: Schedule,
): Promise<wire.Schedule> => (await schedulesJson(dependencies, [schedule]))[0]!

const scheduleInPath = async ({ db }: ApiDependencies, request: FastifyRequest<ById>) =>
  requireFound(await scheduleStore.findSchedule(db, scopeOf(request), idOf(request)))

const idOf = ({ params }: FastifyRequest<ById>): number => requireId(params.schedule_id)

/** Converts the body of a request, which was validated by its schema. Omitted fields stay omitted. */
function scheduleInputOf(body: wire.ScheduleChange): ScheduleInput {
  const { repositories, every, weekday, at, time_zone: timeZone, keep } = body
  const { all: isForAll, paused: isPaused } = body
  const input = { name: nameOf(body), isForAll, repositories, every, weekday, at, timeZone, keep }
  const sent = Object.entries({ ...input, isPaused }).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(sent), options: optionsOf(body) }
}
