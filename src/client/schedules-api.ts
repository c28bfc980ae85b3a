import type { ScheduleChange, ScheduleRequest } from '../wire/types.ts'
import type { ApiCalls, Resource } from './api-calls.ts'
import { scheduleResponse, scheduleRunResponse } from './responses.ts'

/** Schedules: migrations that are started every day or every week. Only Godwit servers have them. */
export function schedulesApi(calls: ApiCalls) {
  function schedules(repositories: readonly string[] = []): Resource {
    const { url, org } = calls.server
    const where = org === undefined ? '' : `no organization ${org} of which you are an owner, or `
    const missing = `${url} has ${where}no schedules: only Godwit servers have them`
    return { path: calls.paths.schedules, missing, repositories }
  }

  const schedule = (id: number, subpath = ''): Resource => ({
    path: `${calls.paths.schedule}${subpath}`,
    parameters: { schedule_id: id },
    missing: `${calls.notFoundMessage(`schedule ${id}`)}: \`godwit schedule list${calls.orgFlag}\` shows all`,
  })

  return {
    list: () => calls.listAll(schedules(), scheduleResponse),
    show: (id: number) => calls.call('GET', schedule(id), scheduleResponse),
    runs: (id: number) => calls.listAll(schedule(id, '/runs'), scheduleRunResponse),
    add: (body: ScheduleRequest) =>
      calls.call('POST', schedules(body.repositories), scheduleResponse, body),
    change(id: number, body: ScheduleChange) {
      const resource = { ...schedule(id), repositories: body.repositories ?? [] }
      return calls.call('PATCH', resource, scheduleResponse, body)
    },
    remove: (id: number) => calls.request('DELETE', schedule(id)),
    run: (id: number) => calls.call('POST', schedule(id, '/runs'), scheduleRunResponse),
    /** Deletes a protected archive, which the schedule keeps in addition to its newest ones. */
    release(id: number, migrationId: number) {
      const resource = schedule(id, '/protected-archives/{migration_id}')
      const missing = `schedule ${id} has no protected archive of migration ${migrationId}: \`godwit schedule show ${id}${calls.orgFlag}\` lists them`
      return calls.request('DELETE', { ...resource, missing }, { migration_id: migrationId })
    },
  }
}
