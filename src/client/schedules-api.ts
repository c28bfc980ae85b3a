import type { ScheduleChange, ScheduleRequest } from '../wire/types.ts'
import type { ApiCalls, Resource } from './api-calls.ts'
import { scheduleResponse, scheduleRunResponse } from './responses.ts'

/** Schedules: migrations that are started every day or every week. Only Godwit servers have them. */
export class SchedulesApi {
  readonly #calls: ApiCalls

  constructor(calls: ApiCalls) {
    this.#calls = calls
  }

  list() {
    return this.#calls.listAll(this.#schedules(), scheduleResponse)
  }

  show(id: number) {
    return this.#calls.call('GET', this.#schedule(id), scheduleResponse)
  }

  runs(id: number) {
    return this.#calls.listAll(this.#schedule(id, '/runs'), scheduleRunResponse)
  }

  add(body: ScheduleRequest) {
    const resource = { ...this.#schedules(), repositories: body.repositories ?? [] }
    return this.#calls.call('POST', resource, scheduleResponse, body)
  }

  change(id: number, body: ScheduleChange) {
    const { repositories = [] } = body
    return this.#calls.call(
      'PATCH',
      { ...this.#schedule(id), repositories },
      scheduleResponse,
      body,
    )
  }

  async remove(id: number): Promise<void> {
    await this.#calls.request('DELETE', this.#schedule(id))
  }

  run(id: number) {
    return this.#calls.call('POST', this.#schedule(id, '/runs'), scheduleRunResponse)
  }

  /** Deletes a protected archive, which the schedule keeps in addition to its newest ones. */
  async release(id: number, migrationId: number): Promise<void> {
    const resource = this.#schedule(id, '/protected-archives/{migration_id}')
    const missing = `schedule ${id} has no protected archive of migration ${migrationId}: \`godwit schedule show ${id}\` lists them`
    await this.#calls.request('DELETE', { ...resource, missing }, { migration_id: migrationId })
  }

  #schedules(): Resource {
    const { url, org } = this.#calls.server
    const where = org === undefined ? '' : `no organization ${org} of which you are an owner, or `
    const missing = `${url} has ${where}no schedules: only Godwit servers have them`
    return { path: this.#calls.paths.schedules, missing }
  }

  #schedule(id: number, subpath = ''): Resource {
    const { paths, orgFlag } = this.#calls
    return {
      path: `${paths.schedule}${subpath}`,
      parameters: { schedule_id: id },
      missing: `${this.#calls.notFoundMessage(`schedule ${id}`)}: \`godwit schedule list${orgFlag}\` shows all`,
    }
  }
}
