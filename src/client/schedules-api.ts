import type { ScheduleChange, ScheduleRequest } from '../wire/types.ts'
import type { ApiCalls, Resource } from './api-calls.ts'
import type { ApiPaths } from './paths.ts'
import { scheduleResponse, scheduleRunResponse } from './responses.ts'
import type { Server } from './send-request.ts'

/** Schedules: migrations that are started every day or every week. Only Godwit servers have them. */
export class SchedulesApi {
  readonly #calls: ApiCalls
  readonly #server: Server
  readonly #paths: ApiPaths

  constructor(server: Server, calls: ApiCalls, paths: ApiPaths) {
    this.#server = server
    this.#calls = calls
    this.#paths = paths
  }

  list() {
    return this.#calls.all(this.#all(), scheduleResponse)
  }

  show(id: number) {
    return this.#calls.one('GET', this.#one(id), scheduleResponse)
  }

  runs(id: number) {
    return this.#calls.all(this.#one(id, '/runs'), scheduleRunResponse)
  }

  add(body: ScheduleRequest) {
    const resource = { ...this.#all(), repositories: body.repositories }
    return this.#calls.one('POST', resource, scheduleResponse, body)
  }

  change(id: number, body: ScheduleChange) {
    const { repositories = [] } = body
    return this.#calls.one('PATCH', { ...this.#one(id), repositories }, scheduleResponse, body)
  }

  async remove(id: number): Promise<void> {
    await this.#calls.request('DELETE', this.#one(id))
  }

  run(id: number) {
    return this.#calls.one('POST', this.#one(id, '/runs'), scheduleRunResponse)
  }

  /** Deletes an archive that the schedule keeps in addition to its number of archives. */
  async release(id: number, migrationId: number): Promise<void> {
    const resource = this.#one(id, '/protected-archives/{migration_id}')
    const missing = `schedule ${id} has no protected archive of migration ${migrationId}: \`godwit schedule show ${id}\` lists them`
    await this.#calls.request('DELETE', { ...resource, missing }, { migration_id: migrationId })
  }

  #all(): Resource {
    const { url, org } = this.#server
    const where = org === undefined ? '' : `no organization ${org} of which you are an owner, or `
    const missing = `${url} has ${where}no schedules: only Godwit servers have them`
    return { path: this.#paths.schedules, missing }
  }

  #one(id: number, below = ''): Resource {
    const { url, org } = this.#server
    const list = `godwit schedule list${org === undefined ? '' : ` --org ${org}`}`
    return {
      path: `${this.#paths.schedule}${below}`,
      parameters: { schedule_id: id },
      missing: `${url} has no schedule ${id} for ${org ?? 'this account'}: \`${list}\` shows all`,
    }
  }
}
