/** Where the API and the host's own pages are: the only things beside facts that the wire's JSON is made from. */
export interface AddressOptions {
  /** Of the API, without a trailing slash. */
  baseUrl: string
  /** Templates with `{owner}` and `{name}`. */
  webUrl: string
  cloneUrl: string
  sshUrl: string
}

interface RepositoryAddresses {
  api: string
  html: string
  clone: string
  ssh: string
  git: string
}

export interface Addresses {
  api: string
  documentation: string
  userHtml(login: string): string
  avatar(accountId: number): string
  repository(owner: string, name: string): RepositoryAddresses
  /** The same for clients that put a prefix before every path, and follow no address without it. */
  under(prefix: string): Addresses
}

export function addressesFrom(options: AddressOptions, prefix = ''): Addresses {
  const { baseUrl, webUrl, cloneUrl, sshUrl } = options
  const api = `${baseUrl}${prefix}`
  // A person's page is the part of the template that does not depend on the repository.
  const userTemplate = webUrl.split('{name}')[0]!.replace(/\/$/, '')
  const webOrigin = new URL(fill(webUrl, 'owner', 'name')).origin
  return {
    api,
    documentation: `${baseUrl}/docs`,
    userHtml: (login) => fill(userTemplate, login, ''),
    avatar: (accountId) => `${webOrigin}/avatars/u/${accountId}?v=4`,
    repository(owner, name) {
      const clone = fill(cloneUrl, owner, name)
      return {
        api: `${api}/repos/${owner}/${name}`,
        html: fill(webUrl, owner, name),
        clone,
        ssh: fill(sshUrl, owner, name),
        git: clone.replace(/^[a-z+]+:/, 'git:'),
      }
    },
    under: (other) => addressesFrom(options, other),
  }
}

function fill(template: string, owner: string, name: string): string {
  return template.replaceAll('{owner}', owner).replaceAll('{name}', name)
}
