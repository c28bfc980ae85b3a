import type { IncomingMessage } from 'node:http'
import type { Asset, ForgeData, Issue, Repository, User } from './forge-data.ts'
import type { ForgeResponse } from './responses.ts'
import { addWikiPage } from './writing-routes.ts'

const TOKEN = 'csrf-token'

/** Parses the form of a page or of an upload. Returns an empty form for other content, such as JSON. */
export async function readForm(bytes: Buffer, type: string): Promise<FormData> {
  if (!/^(?:multipart\/form-data|application\/x-www-form-urlencoded)/.test(type))
    return new FormData()
  return new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData()
}

interface Form {
  world: ForgeData
  user: User
  form: FormData
}

type Page = (page: Form, ...names: string[]) => ForgeResponse | undefined | Promise<ForgeResponse>

const emptyPage: ForgeResponse = { body: {} }
const field = (form: FormData, name: string) => String(form.get(name) ?? '')

const onIssue =
  (change: (page: Form, issue: Issue, repository: Repository) => void): Page =>
  (page, owner = '', name = '', number) => {
    const repository = page.world.findRepository(owner, name)
    const issue = repository?.issues.get(Number(number))
    if (!repository || !issue) return undefined
    change(page, issue, repository)
    return emptyPage
  }

/** The forms of Gitea's web pages for actions that older versions do not have in their API. */
const PAGES: readonly [RegExp, Page][] = [
  [
    /^\/user\/settings$/,
    ({ world, user, form }) => {
      if (field(form, 'name') !== user.login) world.rename(user, field(form, 'name'))
      user.fullName = field(form, 'full_name')
      return { status: 302, headers: { location: '/user/settings' } }
    },
  ],
  [
    /^\/([^/]+)\/([^/]+)\/issues\/attachments$/,
    async ({ world, form }) => {
      const file = form.get('file')
      if (!(file instanceof File)) return { status: 500 }
      const asset = world.createAsset(file.name, Buffer.from(await file.arrayBuffer()))
      world.uploads.set(asset.uuid, asset)
      return { body: { uuid: asset.uuid } }
    },
  ],
  [
    /^\/([^/]+)\/([^/]+)\/issues\/(\d+)\/content$/,
    onIssue(({ world, form }, issue) => {
      issue.body = field(form, 'content')
      issue.updated = world.clock()
      takeUploads(world, form, issue.assets)
    }),
  ],
  [
    /^\/([^/]+)\/([^/]+)\/comments\/(\d+)$/,
    ({ world, form }, owner = '', name = '', id) => {
      const repository = world.findRepository(owner, name)
      const comment = repository && world.findComment(repository, Number(id))?.comment
      if (!comment) return undefined
      comment.body = field(form, 'content')
      comment.updated = world.clock()
      takeUploads(world, form, comment.assets)
      return emptyPage
    },
  ],
  [
    /^\/([^/]+)\/([^/]+)\/issues\/(\d+)\/lock$/,
    onIssue((_, issue) => {
      issue.isLocked = true
    }),
  ],
  [
    /^\/([^/]+)\/([^/]+)\/issues\/(\d+)\/dependency\/add$/,
    onIssue(({ world, form }, issue) => {
      const id = Number(field(form, 'newDependency'))
      for (const { issues } of world.repositories.values())
        for (const each of issues.values()) if (each.id === id) issue.dependencies.push(each)
    }),
  ],
  [
    /^\/([^/]+)\/([^/]+)\/wiki\/_new$/,
    ({ world, user, form }, owner = '', name = '') => {
      const repository = world.findRepository(owner, name)
      if (!repository) return undefined
      const page = { title: field(form, 'title'), bytes: Buffer.from(field(form, 'content')) }
      const by = { login: user.login, at: world.clock() }
      addWikiPage(world, repository, { ...page, by })
      return { status: 302, headers: { location: `/${owner}/${name}/wiki` } }
    },
  ],
]

/** Attaches the uploaded files that the form names, and removes the attached files that it does not name. */
function takeUploads(world: ForgeData, form: FormData, assets: Asset[]): void {
  const named = form.getAll('files[]').map(String)
  const kept = assets.filter(({ uuid }) => named.includes(uuid))
  assets.splice(
    0,
    assets.length,
    ...kept,
    ...named.flatMap((uuid) => world.uploads.get(uuid) ?? []),
  )
  for (const uuid of named) world.uploads.delete(uuid)
}

/** Handles requests of a browser: signing in, and forms with the session's cookie and CSRF token. */
export async function handlePage(
  world: ForgeData,
  path: string,
  request: IncomingMessage,
): Promise<ForgeResponse | undefined> {
  if (/^\/(?:api|attachments)\//.test(path) || path.includes('.git/')) return undefined
  if (request.method === 'GET' && /^\/user\/(?:login|settings)$/.test(path))
    return { body: {}, headers: { 'set-cookie': `_csrf=${TOKEN}; Path=/; HttpOnly` } }
  const handler = PAGES.find(([pattern]) => pattern.test(path))
  const isSignIn = path === '/user/login'
  if (request.method !== 'POST' || !(handler || isSignIn)) return undefined
  const bytes = Buffer.concat(await request.toArray())
  const form = await readForm(bytes, request.headers['content-type'] ?? '')
  if (request.headers['x-csrf-token'] !== TOKEN && field(form, '_csrf') !== TOKEN)
    return { status: 400, body: { message: 'Bad Request: invalid CSRF token' } }
  if (isSignIn) {
    const login = field(form, 'user_name')
    if (!world.users.has(login.toLowerCase())) return { body: {} }
    return {
      status: 302,
      headers: { location: '/', 'set-cookie': `i_like_gitea=${login}; Path=/; HttpOnly` },
    }
  }
  const login = /i_like_gitea=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? ''
  const user = world.users.get(login.toLowerCase())
  if (!user) return { status: 302, headers: { location: '/user/login' } }
  const [pattern, page] = handler!
  const names = pattern.exec(path)!.slice(1).map(decodeURIComponent)
  return (await page({ world, user, form }, ...names)) ?? { status: 404, body: {} }
}
