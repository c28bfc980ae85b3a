import type { Write } from '@godwit/archive/tar/copy-archive'
import type { FetchRequest } from '@godwit/hosts/source'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { HttpError } from '../../middleware/http-errors.ts'
import type { ReceivedBody } from '../../middleware/request-bodies.ts'
import type {
  CloneDependencies,
  CloneRequest,
  ReadableRepository,
  Serving,
} from './clone-request.ts'
import { findReadable, gitErrorHandler, serveCounted } from './clone-request.ts'
import { addLfsRoutes } from './lfs.ts'

const pushNotAllowed = () =>
  new HttpError(403, 'This address is for cloning and fetching only. It does not accept pushes.')
const unknownGitService = () =>
  new HttpError(
    403,
    'Only git clone and git fetch over smart HTTP are served here (git 1.6.6 or newer).',
  )
const cloneRequestTooLarge = () =>
  new HttpError(413, 'The request is too large: at most 16 MiB, uncompressed.')
const notUploadPackRequest = () =>
  new HttpError(415, 'The content type must be application/x-git-upload-pack-request.')

const NO_CACHE = {
  'cache-control': 'no-cache, max-age=0, must-revalidate',
  expires: 'Fri, 01 Jan 1980 00:00:00 GMT',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
}

/**
 * Serves `git clone`, `fetch` and `ls-remote` by git's smart HTTP protocol, and downloads of LFS objects, at `OWNER/NAME.git` or
 * without `.git`.
 */
export function addCloneRoutes(app: FastifyInstance, dependencies: CloneDependencies): void {
  app.register(async (git) => {
    git.setErrorHandler(gitErrorHandler(dependencies.log))
    git.removeAllContentTypeParsers()
    // The routes read the body themselves, each with its own limit.
    git.addContentTypeParser('*', (_request, _payload, done) => done(null))
    git.addHook('onRequest', async (request, reply) => {
      reply.headers(NO_CACHE).header('x-request-id', request.id)
      dependencies.forwarding.check(request)
    })
    addRoutes(git, dependencies)
    git.register(async (lfs) => addLfsRoutes(lfs, dependencies))
  })
}

/** The limit applies to the uncompressed body: about 300,000 refs and commits of 50 bytes. Git's own limit is 10 MiB. */
const CLONE_BODY = {
  maxBytes: 16 * 1024 * 1024,
  tooLarge: cloneRequestTooLarge,
  acceptsGzip: true,
}

function addRoutes(git: FastifyInstance, dependencies: CloneDependencies): void {
  git.get<CloneRequest>(
    '/:owner/:name/info/refs',
    { exposeHeadRoute: false },
    async (request, reply) => {
      const { service } = request.query
      if (service === 'git-receive-pack') throw pushNotAllowed()
      if (service !== 'git-upload-pack') throw unknownGitService()
      return serve(request, reply)
    },
  )

  git.post<CloneRequest>('/:owner/:name/git-upload-pack', async (request, reply) => {
    const type = request.headers['content-type']?.trim().toLowerCase()
    if (type !== 'application/x-git-upload-pack-request') throw notUploadPackRequest()
    return serve(request, reply, () => dependencies.readBody(request, CLONE_BODY))
  })

  git.post('/:owner/:name/git-receive-pack', async () => {
    throw pushNotAllowed()
  })

  /** `read` reads the body of the request. An advertisement has none. */
  async function serve(
    request: FastifyRequest<CloneRequest>,
    reply: FastifyReply,
    read?: () => Promise<ReceivedBody>,
  ): Promise<FastifyReply> {
    const phase = read ? 'request' : 'advertisement'
    const readable = await findReadable(dependencies, request, reply)
    return serveCounted(dependencies, request, reply, readable.repository, async (serving) => {
      const body = await read?.()
      try {
        await serving.withSlot(async () => {
          serving.markAsStream()
          await sendGitOutput(serving, reply, { ...readable, phase, body })
        })
      } finally {
        body?.release()
      }
    })
  }
}

interface ServedClone extends ReadableRepository {
  phase: FetchRequest['phase']
  body: ReceivedBody | undefined
}

async function sendGitOutput(
  { source, client }: Serving,
  reply: FastifyReply,
  { repository, isWiki, phase, body }: ServedClone,
): Promise<void> {
  const protocolVersion = protocolVersionOf(reply.request)
  const ended = new AbortController()
  const signal = AbortSignal.any([client.signal, ended.signal])
  const git = await source.serveFetch(repository, { phase, isWiki, protocolVersion, signal })
  // Git may exit before it has read all of its input. Then its exit status is the error.
  git.stdin.on('error', () => {})
  git.stdin.end(body?.bytes, () => body?.release())
  let write: Write | undefined
  const begin = async (): Promise<Write> => {
    const kind = phase === 'advertisement' ? 'advertisement' : 'result'
    write = client.begin(reply.type(`application/x-git-upload-pack-${kind}`))
    // Version 2 of the protocol has no service line.
    if (kind === 'advertisement' && protocolVersion < 2) await write(SERVICE_LINE)
    return write
  }
  try {
    for await (const bytes of git.stdout) await (write ?? (await begin()))(bytes)
    await git.done
    // An empty output is a valid response: git's first request only tests its credentials.
    if (!write) await begin()
    reply.raw.end()
  } finally {
    ended.abort()
    await git.done.catch(() => {})
  }
}

const SERVICE_LINE = Buffer.from('001e# service=git-upload-pack\n0000')

/** Returns the highest version in the header, like git. */
function protocolVersionOf({ headers }: FastifyRequest): 0 | 1 | 2 {
  const parameters = String(headers['git-protocol'] ?? '').split(':')
  return parameters.includes('version=2') ? 2 : parameters.includes('version=1') ? 1 : 0
}
