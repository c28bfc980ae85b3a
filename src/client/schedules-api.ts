import type { ScheduleChange, ScheduleRequest } from '../wire/types.ts'
import type { ApiCalls, ErrorContext } from './api-calls.ts'
import {
  type ScheduleResponse,
  type ScheduleRunResponse,
  scheduleResponse,
  scheduleRunResponse,
} from './responses.ts'
import type { Server } from './server.ts'

/** Migrations that are started every day or every week. Only Godwit has them. */
export class SchedulesApi {
  readonly #calls: ApiCalls
  readonly #server: Server
  readonly #all: string
  readonly #one: string

  constructor(server: Server, calls: ApiCalls, migrations: string) {
    this.#server = server
    this.#calls = calls
    this.#all = `${migrations}/schedules`
    this.#one = `${this.#all}/{schedule_id}`
  }

  list(): Promise<ScheduleResponse[]> {
    return this.#calls.all(`GET ${this.#all}`, {}, this.#ofAll(), scheduleResponse)
  }

  show(id: number): Promise<ScheduleResponse> {
    return this.#calls.one(`GET ${this.#one}`, numbered(id), this.#ofOne(id), scheduleResponse)
  }

  runs(id: number): Promise<ScheduleRunResponse[]> {
    return this.#calls.all(
      `GET ${this.#one}/runs`,
      numbered(id),
      this.#ofOne(id),
      scheduleRunResponse,
    )
  }

  add(body: ScheduleRequest): Promise<ScheduleResponse> {
    const context = { ...this.#ofAll(), repositories: body.repositories }
    return this.#calls.one(`POST ${this.#all}`, body, context, scheduleResponse)
  }

  change(id: number, body: ScheduleChange): Promise<ScheduleResponse> {
    const asked = { ...numbered(id), ...body }
    const { repositories } = body
    const context = { ...this.#ofOne(id), ...(repositories && { repositories }) }
    return this.#calls.one(`PATCH ${this.#one}`, asked, context, scheduleResponse)
  }

  async remove(id: number): Promise<void> {
    await this.#calls.request(`DELETE ${this.#one}`, numbered(id), this.#ofOne(id))
  }

  run(id: number): Promise<ScheduleRunResponse> {
    const asked = numbered(id)
    return this.#calls.one(`POST ${this.#one}/runs`, asked, this.#ofOne(id), scheduleRunResponse)
  }

  /** Deletes an archive that the schedule keeps beyond its number. */
  async release(id: number, migrationId: number): Promise<void> {
    const asked = { ...numbered(id), migration_id: migrationId }
    const missing = `schedule ${id} has no protected archive of migration ${migrationId}: \`godwit schedule show ${id}\` lists them`
    await this.#calls.request(`DELETE ${this.#one}/protected-archives/{migration_id}`, asked, {
      missing,
    })
  }

  #ofAll = (): ErrorContext => {
    const { url, org } = this.#server
    const where = org === undefined ? '' : `no organization ${org} of which you are an owner, or `
    return { missing: `${url} has ${where}no schedules: only Godwit servers have them` }
  }

  #ofOne = (id: number): ErrorContext => {
    const { url, org } = this.#server
    const list = `godwit schedule list${org === undefined ? '' : ` --org ${org}`}`
    return {
      missing: `${url} has no schedule ${id} for ${org ?? 'this account'}: \`${list}\` shows all`,
    }
  }
}

const numbered = (id: number) => ({ schedule_id: id })
