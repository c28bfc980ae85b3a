import type { FastifyInstance, FastifyRequest } from 'fastify'
import { NotFound } from '../../../migrations/errors.ts'
import { ORDINARY } from '../../../migrations/migration.ts'
import {
  type AskedSchedule,
  changeSchedule,
  makeSchedule,
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
import type * as wire from '../../../wire/types.ts'
import { answerPage } from '../../answer-page.ts'
import { audit, auditAction } from '../../middleware/audit.ts'
import { viewerOf } from '../../middleware/authenticate.ts'
import { answer, answerIfChanged } from '../../middleware/json-answer.ts'
import { found, idIn } from '../../middleware/named-in-path.ts'
import { pagingOf } from '../../middleware/paging.ts'
import type { ApiParts } from '../../server-parts.ts'
import type { MigrationsPath } from '../migrations/migration-paths.ts'
import { scopeOf } from '../migrations/named-migration.ts'
import { optionsOf } from '../migrations/start-request.ts'
import { scheduleAddress, scheduleJson, scheduleRunJson } from './schedule-json.ts'
import * as operations from './schedules-operations.ts'

interface ById {
  Params: { schedule_id: string }
  Querystring: Record<string, unknown>
}

const config = { resource: 'Schedule' } as const

/** Migrations that are started every day or every week: ours alone, so no preview is asked for. */
export function schedules(app: FastifyInstance, parts: ApiParts, place: MigrationsPath): void {
  reading(app, parts, place)
  changing(app, parts, place)
  running(app, parts, place)
}

function reading(app: FastifyInstance, parts: ApiParts, { path, describe }: MigrationsPath): void {
  const { db, rendering } = parts
  const { addresses } = rendering

  app.get<{ Querystring: Record<string, unknown> }>(
    `${path}/schedules`,
    { config, schema: describe(operations.listSchedules) },
    async (request, reply) => {
      const scope = scopeOf(request)
      const all = await listSchedules(db, scope, pagingOf(request.query))
      const total = await countSchedules(db, scope)
      const body = await jsonOfAll(parts, all)
      return answerPage(request, reply, addresses, { total, body })
    },
  )

  app.get<ById>(
    `${path}/schedules/:schedule_id`,
    { config, schema: describe(operations.getSchedule) },
    async (request, reply) => {
      const body = await jsonOf(parts, await namedSchedule(parts, request))
      return answerIfChanged(request, reply, body)
    },
  )
}

function changing(app: FastifyInstance, parts: ApiParts, { path, describe }: MigrationsPath): void {
  const { db, log, rendering } = parts

  app.post<{ Body: wire.ScheduleRequest }>(
    `${path}/schedules`,
    { config, schema: describe(operations.createSchedule) },
    async (request, reply) => {
      const { account } = viewerOf(request)
      const asked = newScheduleOf(request.body)
      const signal = await parts.starts.begin(request, reply)
      const made = await makeSchedule({ ...parts, signal }, scopeOf(request), account, asked)
      auditAction(log, request, 'schedule.create', aboutOf(made))
      reply.code(201).header('location', scheduleAddress(made, rendering.addresses))
      return answer(reply, scheduleJson(made, {}, rendering.addresses))
    },
  )

  app.patch<ById & { Body: wire.ScheduleChange }>(
    `${path}/schedules/:schedule_id`,
    { config, schema: describe(operations.updateSchedule) },
    async (request, reply) => {
      const { account } = viewerOf(request)
      const asked = askedScheduleOf(request.body)
      const signal = await parts.starts.begin(request, reply)
      const changed = await changeSchedule(
        { ...parts, signal },
        scopeOf(request),
        account,
        idOf(request),
        asked,
      )
      const fields = Object.keys(request.body)
      auditAction(log, request, 'schedule.update', { ...aboutOf(changed), fields })
      return answer(reply, await jsonOf(parts, changed))
    },
  )

  app.delete<ById>(
    `${path}/schedules/:schedule_id`,
    { config, schema: describe(operations.deleteSchedule) },
    async (request, reply) => {
      const scope = scopeOf(request)
      const id = idOf(request)
      if (!(await deleteSchedule(db, scope, id))) throw new NotFound()
      auditAction(log, request, 'schedule.delete', { schedule: id, owner: scope.owner.login })
      return reply.code(204).send()
    },
  )
}

function running(app: FastifyInstance, parts: ApiParts, { path, describe }: MigrationsPath): void {
  const { db, log, rendering } = parts
  const { addresses } = rendering

  app.get<ById>(
    `${path}/schedules/:schedule_id/runs`,
    { config, schema: describe(operations.listRuns) },
    async (request, reply) => {
      const schedule = await namedSchedule(parts, request)
      const runs = await listRuns(db, schedule, pagingOf(request.query))
      const total = await countRuns(db, schedule)
      return answerPage(request, reply, addresses, { total, body: runs.map(scheduleRunJson) })
    },
  )

  app.delete<ById & { Params: { migration_id: string } }>(
    `${path}/schedules/:schedule_id/protected-archives/:migration_id`,
    { config, schema: describe(operations.releaseArchive) },
    async (request, reply) => {
      const schedule = await namedSchedule(parts, request)
      const migration = idIn(request.params.migration_id)
      await releaseArchive(parts, schedule, migration, () => {
        auditAction(log, request, 'schedule.release', { ...aboutOf(schedule), migration })
      })
      return reply.code(204).send()
    },
  )

  app.post<ById>(
    `${path}/schedules/:schedule_id/runs`,
    { config, schema: describe(operations.runSchedule) },
    async (request, reply) => {
      const schedule = await namedSchedule(parts, request)
      await parts.starts.begin(request, reply)
      const run = await runNow(parts, schedule, {
        by: viewerOf(request).account,
        onCommitted(migration) {
          auditAction(log, request, 'schedule.run', aboutOf(schedule))
          audit(log, request, 'migration.start', migration)
        },
      })
      return answer(reply.code(201), scheduleRunJson(run))
    },
  )
}

type Reading = Pick<ApiParts, 'db' | 'rendering'>

const aboutOf = ({ id, owner }: Schedule) => ({ schedule: id, owner: owner.login })

async function jsonOfAll(
  { db, rendering }: Reading,
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

const jsonOf = async (parts: Reading, schedule: Schedule): Promise<wire.Schedule> =>
  (await jsonOfAll(parts, [schedule]))[0]!

async function namedSchedule({ db }: Reading, request: FastifyRequest<ById>): Promise<Schedule> {
  return found(await findSchedule(db, scopeOf(request), idOf(request)))
}

const idOf = ({ params }: FastifyRequest<ById>): number => idIn(params.schedule_id)

/** What a change of a schedule says; its schema has checked it before. */
function askedScheduleOf(body: wire.ScheduleChange): AskedSchedule {
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

/** The same of a new one: what is not said of its options is as usual. */
function newScheduleOf(body: wire.ScheduleRequest) {
  const asked = askedScheduleOf(body)
  return { ...asked, options: { ...ORDINARY, ...asked.options } }
}
