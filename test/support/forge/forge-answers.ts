import type { DeepScene } from './deep-seed.ts'
import type { Target } from './forge-seeder.ts'

/** The responses of a forge that `deep-seed.ts` has filled, without values that differ from run to run. */
export interface ForgeAnswers {
  version: string
  /** Status and body by request. */
  answers: Record<string, { status: number; body?: unknown }>
  /** Those of `DESCRIBED` that the forge's description of its API has. */
  described: string[]
}

/** Returns requests that only read, followed by requests that change the scene or are refused. */
function requestsFor(scene: DeepScene): [method: string, path: string, body?: object][] {
  const { path, organization, ann, bob, pulls, comment, issue } = scene
  const get = (...paths: string[]) => paths.map((each): [string, string] => ['GET', each])
  const of = (name: string) => `/repos/${organization}/${name}`
  const nobody = `${organization}-nobody`
  return [
    ...get(
      path,
      of('mirror'),
      of('attic'),
      of('starter'),
      of('after'),
      of('before'),
      of('nothing'),
    ),
    ...get(`/repos/${bob}/widgets`, `/users/${ann}`, `/orgs/${organization}`),
    ...get(`/orgs/${organization}/teams`, `/orgs/${organization}/labels`),
    ...['labels', 'milestones?state=all', 'releases', 'branch_protections', 'collaborators'].map(
      (list): [string, string] => ['GET', `${path}/${list}`],
    ),
    ...get(`${path}/teams`, `${path}/topics`, `${path}/branches/none`, `${path}/issues/9999`),
    ...get(`${path}/issues?state=all&limit=3&page=2`, `${path}/issues/${issue}/reactions`),
    // The issues with milestones, files and states.
    ...[1, 2, 3, 4, 5, 6].flatMap((n) => get(`${path}/issues/${scene.issueCount + n}`)),
    ...get(`${path}/issues/${issue}/comments`, `${path}/issues/comments/${comment.id}`),
    ...get(`${path}/issues/comments/${comment.id}/reactions`),
    ...[...Object.values(pulls), scene.mergedPull, scene.openPull].flatMap((number) =>
      get(`${path}/pulls/${number}`, `${path}/pulls/${number}/reviews`),
    ),
    ['PUT', `${path}/teams/core-team`],
    ['PUT', `${path}/teams/nobodies`],
    ['PUT', `${path}/topics/fresh`],
    ['POST', `${path}/issues/${issue}/deadline`, { due_date: '2031-01-01T07:00:00Z' }],
    ['PATCH', `${path}/issues/${issue}`, { due_date: '2031-01-02T07:00:00Z', body: 'new text' }],
    ['PATCH', `${path}/issues/${issue}`, { assignees: [nobody] }],
    ['PATCH', `${path}/issues/comments/${comment.id}`, { body: 'new text' }],
    ['PATCH', path, { default_branch: 'none' }],
    ['PUT', `${path}/collaborators/${nobody}`, { permission: 'read' }],
    ['PUT', `${path}/collaborators/${bob}`, { permission: 'read' }],
    ['GET', `${path}/collaborators/${bob}`],
    ['DELETE', `${path}/collaborators/${bob}`],
    ['POST', `${path}/branch_protections`, { branch_name: 'main', rule_name: 'main' }],
    ['POST', `${path}/branch_protections`, { branch_name: 'next', rule_name: 'next' }],
    ['PATCH', `${path}/branch_protections/next`, { required_approvals: 2 }],
    ['DELETE', `${path}/branch_protections/next`],
    ['POST', `${of('attic')}/issues`, { title: 'too late' }],
    ['PATCH', `${of('attic')}/issues/1`, { body: 'still possible' }],
    ['PUT', `${of('attic')}/topics`, { topics: ['old'] }],
    [
      'POST',
      `${path}/issues/${issue}/dependencies`,
      { owner: organization, repo: 'widgets', index: 2 },
    ],
    ['POST', `${path}/issues/${issue}/pin`],
    ['GET', `${path}/issues/${issue}/assets`],
  ]
}

/** Requests that Godwit looks for in the description to decide what it can do. */
const DESCRIBED = [
  ...['assets', 'dependencies', 'deadline', 'pin', 'lock', 'labels'].map(
    (name) => `post /repos/{owner}/{repo}/issues/{index}/${name}`,
  ),
  'put /repos/{owner}/{repo}/issues/{index}/lock',
  'post /repos/{owner}/{repo}/issues/comments/{id}/assets',
  'post /repos/{owner}/{repo}/releases/{id}/assets',
  'get /repos/{owner}/{repo}/issues/{index}/timeline',
  'patch /repos/{owner}/{repo}/issues/{index}',
  'patch /repos/{owner}/{repo}/issues/comments/{id}',
  'patch /repos/{owner}/{repo}/pulls/{index}',
  'patch /repos/{owner}/{repo}/releases/{id}',
  'patch /repos/{owner}/{repo}/branch_protections/{name}',
  'post /repos/{owner}/{repo}/branch_protections',
  'put /repos/{owner}/{repo}/collaborators/{collaborator}',
  'put /repos/{owner}/{repo}/teams/{team}',
  'put /repos/{owner}/{repo}/topics',
  'patch /repos/{owner}/{repo}',
  'post /admin/users/{username}/rename',
  'post /repos/{owner}/{repo}/wiki/new',
]

export async function askForge(target: Target, scene: DeepScene): Promise<ForgeAnswers> {
  const authorization = `token ${target.token}`
  const administrator = await fetch(`${target.url}/api/v1/user`, { headers: { authorization } })
  const { login } = (await administrator.json()) as { login: string }
  const clean = cleaner(target, scene, login)
  const answers: ForgeAnswers['answers'] = {}
  for (const [method, path, body] of requestsFor(scene)) {
    const response = await fetch(`${target.url}/api/v1${path}`, {
      ...{ method, redirect: 'manual' },
      headers: { authorization, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json')
    const key = [method, path, ...(body ? [JSON.stringify(body)] : [])].join(' ')
    answers[clean(key) as string] = {
      status: response.status,
      ...(isJson && text ? { body: clean(JSON.parse(text)) } : {}),
    }
  }
  const description = await fetch(`${target.url}/swagger.v1.json`)
  const { paths } = (await description.json()) as { paths: Record<string, object> }
  const described = DESCRIBED.filter((request) => {
    const [method = '', path = ''] = request.split(' ')
    return method in (paths[path] ?? {})
  })
  const version = await fetch(`${target.url}/api/v1/version`, { headers: { authorization } })
  return { ...((await version.json()) as { version: string }), answers, described }
}

/** Replaces addresses, ids, times, hashes and the random prefix of the names. */
function cleaner({ url }: Target, { seeder, comment, issue }: DeepScene, administrator: string) {
  const cleanText = (text: string) =>
    text
      .replaceAll(url, 'URL')
      .replaceAll(seeder.prefix, 'x')
      .replaceAll(`comments/${comment.id}`, 'comments/ID')
      .replaceAll(/#issuecomment-\d+/g, '#issuecomment-ID')
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{9}(?:[0-9a-f]{3})/g, 'UUID')
      .replaceAll(/[0-9a-f]{40}/g, 'SHA')
      .replaceAll(/20[12]\d-[01]\d-[0-3]\dT[\d:.]+Z/g, 'TIME')
      .replaceAll(/"index":\d+/g, `"index":${issue}`)
  const clean = (value: unknown, name = ''): unknown => {
    if (value === administrator) return 'ADMINISTRATOR'
    if (typeof value === 'string') return cleanText(value)
    if (typeof value === 'number') return /(?:^|_)id$/.test(name) && value > 0 ? 'ID' : value
    if (Array.isArray(value)) return value.map((each) => clean(each, name))
    if (!isObject(value)) return value
    // People and repositories are compared by their own requests, so here their name is enough.
    const summary = name && (['login', 'full_name'] as const).find((key) => value[key])
    if (summary) return clean(value[summary])
    const shown = Object.entries(value).filter(([key]) => !IGNORED.has(key))
    return Object.fromEntries(shown.map(([key, inner]) => [key, clean(inner, key)]))
  }
  return clean
}

/** Fields that Godwit does not read, so the fake forge need not have them. */
const IGNORED = new Set(
  [
    'size ssh_url open_issues closed_issues stars_count forks_count watchers_count open_issues_count open_pr_counter release_counter internal_tracker',
    'has_projects ignore_whitespace_conflicts allow_merge_commits allow_rebase allow_rebase_explicit allow_squash_merge',
    'default_merge_style avatar_url mirror_interval last_login restricted active followers_count following_count',
    'starred_repos_count tarball_url zipball_url diff_url patch_url documentation_url url',
  ].flatMap((names) => names.split(' ')),
)

/** Fields that the fake forge also sends for versions that lack them, or whose values differ from those of a real forge. */
const NOT_COMPARED = new Set(
  'email language mergeable official stale repo_admin_change_team_access message errors'.split(' '),
)

/** Returns where the answers of the fake forge differ from those of a real one. */
export function differences(real: unknown, fake: unknown, path = ''): string[] {
  if (Array.isArray(real) && Array.isArray(fake)) {
    if (real.length !== fake.length) return [`${path}: ${fake.length} instead of ${real.length}`]
    return real.flatMap((each, index) => differences(each, fake[index], `${path}[${index}]`))
  }
  if (isObject(real) && isObject(fake)) {
    const names = new Set([...Object.keys(real), ...Object.keys(fake)])
    return [...names].flatMap((name) => {
      const at = `${path}.${name}`
      if (!(name in fake)) return [`${at} is missing`]
      if (!(name in real)) return NOT_COMPARED.has(name) ? [] : [`${at} is unknown`]
      return NOT_COMPARED.has(name) ? [] : differences(real[name], fake[name], at)
    })
  }
  const [expected, actual] = [JSON.stringify(real), JSON.stringify(fake)]
  return expected === actual ? [] : [`${path}: ${actual} instead of ${expected}`]
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
