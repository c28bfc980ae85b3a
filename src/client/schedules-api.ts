import type { ScheduleChange, ScheduleRequest } from '../wire/types.ts'
import type { ApiCalls, ErrorContext } from './api-calls.ts'
import type { ApiPaths } from './paths.ts'
import {
  type ScheduleResponse,
  type ScheduleRunResponse,
  scheduleResponse,
  scheduleRunResponse,
} from './responses.ts'
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

  list(): Promise<ScheduleResponse[]> {
    const route = `GET ${this.#paths.schedules}`
    return this.#calls.all(route, {}, this.#listContext(), scheduleResponse)
  }

  show(id: number): Promise<ScheduleResponse> {
    const route = `GET ${this.#paths.schedule}`
    return this.#calls.one(route, { schedule_id: id }, this.#context(id), scheduleResponse)
  }

  runs(id: number): Promise<ScheduleRunResponse[]> {
    const route = `GET ${this.#paths.schedule}/runs`
    return this.#calls.all(route, { schedule_id: id }, this.#context(id), scheduleRunResponse)
  }

  add(body: ScheduleRequest): Promise<ScheduleResponse> {
    const context = { ...this.#listContext(), repositories: body.repositories }
    return this.#calls.one(`POST ${this.#paths.schedules}`, body, context, scheduleResponse)
  }

  change(id: number, body: ScheduleChange): Promise<ScheduleResponse> {
    const parameters = { schedule_id: id, ...body }
    const { repositories } = body
    const context = { ...this.#context(id), ...(repositories && { repositories }) }
    return this.#calls.one(`PATCH ${this.#paths.schedule}`, parameters, context, scheduleResponse)
  }

  async remove(id: number): Promise<void> {
    const route = `DELETE ${this.#paths.schedule}`
    await this.#calls.request(route, { schedule_id: id }, this.#context(id))
  }

  run(id: number): Promise<ScheduleRunResponse> {
    const route = `POST ${this.#paths.schedule}/runs`
    return this.#calls.one(route, { schedule_id: id }, this.#context(id), scheduleRunResponse)
  }

  /** Deletes an archive that the schedule keeps in addition to its number of archives. */
  async release(id: number, migrationId: number): Promise<void> {
    const route = `DELETE ${this.#paths.schedule}/protected-archives/{migration_id}`
    const missing = `schedule ${id} has no protected archive of migration ${migrationId}: \`godwit schedule show ${id}\` lists them`
    await this.#calls.request(route, { schedule_id: id, migration_id: migrationId }, { missing })
  }

  #listContext = (): ErrorContext => {
    const { url, org } = this.#server
    const where = org === undefined ? '' : `no organization ${org} of which you are an owner, or `
    return { missing: `${url} has ${where}no schedules: only Godwit servers have them` }
  }

  #context = (id: number): ErrorContext => {
    const { url, org } = this.#server
    const list = `godwit schedule list${org === undefined ? '' : ` --org ${org}`}`
    return {
      missing: `${url} has no schedule ${id} for ${org ?? 'this account'}: \`${list}\` shows all`,
    }
  }
}
