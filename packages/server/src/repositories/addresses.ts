/** The configured URLs. The JSON of the API is rendered from these and from metadata only. */
interface AddressOptions {
  /** The URL of the API, without a trailing slash. */
  baseUrl: string
  /** Templates with `{owner}` and `{name}`. */
  webUrl: string
  cloneUrl: string
  sshUrl: string
  /** Whether the operator has set `sshUrl`, so that they are served. */
  servesSsh?: boolean
}

export interface Addresses {
  api: string
  documentation: string
  /** The template of the SSH addresses, if the operator has set it. */
  ssh: string | null
  userHtml(login: string): string
  avatar(accountId: number): string
  repository(owner: string, name: string): Record<'api' | 'html' | 'clone' | 'ssh', string>
  /** Returns the addresses with a prefix before the paths of the API, such as `/api/v3`. */
  under(prefix: string): Addresses
}

export function addressesFrom(options: AddressOptions, prefix = ''): Addresses {
  const { baseUrl, webUrl, cloneUrl, sshUrl, servesSsh = false } = options
  const api = `${baseUrl}${prefix}`
  // The page of a user is the part of the template before the name of the repository.
  const userHtml = templateFiller(webUrl.split('{name}')[0]!.replace(/\/$/, ''))
  const html = templateFiller(webUrl)
  const clone = templateFiller(cloneUrl)
  const ssh = templateFiller(sshUrl)
  const webOrigin = new URL(html('owner', 'name')).origin
  return {
    api,
    documentation: `${baseUrl}/docs`,
    ssh: servesSsh ? sshUrl : null,
    userHtml: (login) => userHtml(login, ''),
    avatar: (accountId) => `${webOrigin}/avatars/u/${accountId}?v=4`,
    repository: (owner, name) => ({
      api: `${api}/repos/${owner}/${name}`,
      html: html(owner, name),
      clone: clone(owner, name),
      ssh: ssh(owner, name),
    }),
    under: (other) => addressesFrom(options, other),
  }
}

/** Returns a function that fills in a template. */
const templateFiller = (template: string) => (owner: string, name: string) =>
  template.replaceAll('{owner}', () => owner).replaceAll('{name}', () => name)
