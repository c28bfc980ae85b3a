import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Db } from '../../../db/database.ts'
import type { RepositoryFacts } from '../../../repositories/facts.ts'
import { factsForViewer } from '../../../repositories/facts-for-viewer.ts'
import {
  findVisibleRepository,
  type VisibleRepository,
} from '../../../repositories/visible-repository.ts'
import type { AskedRefs, Source } from '../../../sources/source.ts'
import type * as wire from '../../../wire/types.ts'
import { answerPage } from '../../answer-page.ts'
import { answerIfChanged } from '../../middleware/json-answer.ts'
import { setLinkHeader } from '../../middleware/link-header.ts'
import { found } from '../../middleware/named-in-path.ts'
import { pagingOf } from '../../middleware/paging.ts'
import type { Rendering } from '../../rendering.ts'
import type { CloneTokens } from '../clones/clone-tokens.ts'
import { answerRepositories } from './answer-repositories.ts'
import * as operations from './one-repository-operations.ts'
import { repositoryCollaborators } from './repository-collaborators.ts'
import { type InPath, repositoryInPath } from './repository-in-path.ts'
import { type RepositoryViews, repositoryViews } from './repository-views.ts'
import {
  branchJson,
  type Forebears,
  fullRepositoryJson,
  isProtected,
  licenseContentJson,
  tagJson,
} from './repository-views-json.ts'

interface Parts {
  db: Db
  rendering: Rendering
  source: Source | undefined
  log: Logger
  cloneTokens: CloneTokens
}

/** Public ones are for everybody, as a clone of them is. */
const config = { anonymous: true }

const path = '/repos/:owner/:repo'

/** One repository as the catalogue has it now, and what its own refs and files tell. */
export function oneRepository(app: FastifyInstance, parts: Parts): void {
  const views = repositoryViews(parts)
  record(app, parts)
  branchesAndTags(app, parts, views)
  topics(app, parts)
  files(app, parts, views)
  repositoryCollaborators(app, parts)
}

function record(app: FastifyInstance, { db, rendering, cloneTokens }: Parts): void {
  app.get<InPath>(path, { config, schema: operations.getRepository }, async (request, reply) => {
    const seen = await repositoryInPath(db, request)
    const facts = await factsOf(db, seen)
    const forebears = await forebearsOf(db, request, seen)
    const { parent, source } = forebears
    const { viewer } = request
    return answerRepositories(request, reply, {
      body: fullRepositoryJson(facts, forebears, rendering.addresses),
      shown: [facts, parent, source].filter((each) => each !== undefined),
      tokenOf: viewer ? cloneTokens.for(viewer) : undefined,
    })
  })
}

function branchesAndTags(
  app: FastifyInstance,
  { db, rendering }: Parts,
  views: RepositoryViews,
): void {
  const { addresses } = rendering
  app.get<InPath>(
    `${path}/branches`,
    { config, schema: operations.listBranches },
    async (request, reply) => {
      const { entry } = await repositoryInPath(db, request)
      const { defaultBranch } = entry.facts
      const is = protectedIn(request.query)
      const isOneProtected = isProtected(entry, defaultBranch)
      if (is === true && !isOneProtected)
        return answerPage(request, reply, addresses, { total: 0, body: [] })
      const asked = {
        ...(is === true && { only: defaultBranch }),
        ...(is === false && isOneProtected && { except: defaultBranch }),
      }
      const { total, refs } = await views.refs(entry, {
        kind: 'branches',
        ...windowOf(request),
        ...asked,
      })
      const body = refs.map((ref) => branchJson(entry, ref, addresses))
      return answerPage(request, reply, addresses, { total, body })
    },
  )

  app.get<InPath>(
    `${path}/tags`,
    { config, schema: operations.listTags },
    async (request, reply) => {
      const { entry } = await repositoryInPath(db, request)
      const { total, refs } = await views.refs(entry, { kind: 'tags', ...windowOf(request) })
      const body = refs.map((ref) => tagJson(entry, ref, addresses))
      return answerPage(request, reply, addresses, { total, body })
    },
  )
}

function topics(app: FastifyInstance, { db, rendering }: Parts): void {
  const { addresses } = rendering
  app.get<InPath>(
    `${path}/topics`,
    { config, schema: operations.listTopics },
    async (request, reply) => {
      const { entry } = await repositoryInPath(db, request)
      const { topics: all } = entry.facts
      const paging = pagingOf(request.query)
      setLinkHeader(request, reply, { addresses, paging, total: all.length })
      const body: wire.Topics = { names: all.slice(paging.offset, paging.offset + paging.limit) }
      return answerIfChanged(request, reply, body, { alsoMadeFrom: [all.length] })
    },
  )
}

function files(app: FastifyInstance, { db, rendering }: Parts, views: RepositoryViews): void {
  app.get<InPath>(
    `${path}/languages`,
    { config, schema: operations.listLanguages },
    async (request, reply) => {
      const { entry } = await repositoryInPath(db, request)
      return answerIfChanged(request, reply, await views.languages(entry))
    },
  )

  app.get<InPath>(
    `${path}/license`,
    { config, schema: operations.getLicenseFile },
    async (request, reply) => {
      const { entry } = await repositoryInPath(db, request)
      const file = found(await views.licenseFile(entry))
      return answerIfChanged(request, reply, licenseContentJson(entry, file, rendering.addresses))
    },
  )
}

function windowOf({ query }: FastifyRequest<InPath>): Pick<AskedRefs, 'offset' | 'limit'> {
  const { offset, limit } = pagingOf(query)
  return { offset, limit }
}

/** Whether only protected branches are asked for, or only others; undefined for all. */
function protectedIn({ protected: asked }: Record<string, unknown>): boolean | undefined {
  return asked === 'true' ? true : asked === 'false' ? false : undefined
}

async function factsOf(db: Db, { entry, as }: VisibleRepository): Promise<RepositoryFacts> {
  const [facts] = await factsForViewer(db, as, [entry])
  return facts!
}

/** A longer line of forks would be a circle. */
const MAX_STEPS = 10

/** A forebear that the viewer may not read ends the line. */
async function forebearsOf(
  db: Db,
  { viewer }: FastifyRequest,
  { entry }: VisibleRepository,
): Promise<Forebears> {
  const line: VisibleRepository[] = []
  let { forkOf } = entry.facts
  while (forkOf !== null && line.length < MAX_STEPS) {
    const [owner = '', name = ''] = forkOf.split('/')
    const seen = await findVisibleRepository(db, viewer, { owner, name })
    if (!seen || seen.entry.id === entry.id) break
    line.push(seen)
    forkOf = seen.entry.facts.forkOf
  }
  const [parent] = line
  const source = line.at(-1)
  if (!parent || !source) return {}
  return { parent: await factsOf(db, parent), source: await factsOf(db, source) }
}
