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
  const userHtml = filling(webUrl.split('{name}')[0]!.replace(/\/$/, ''))
  const [html, clone, ssh] = [filling(webUrl), filling(cloneUrl), filling(sshUrl)]
  const git = filling(cloneUrl.replace(/^[a-z+]+:/, 'git:'))
  const webOrigin = new URL(html('owner', 'name')).origin
  return {
    api,
    documentation: `${baseUrl}/docs`,
    userHtml: (login) => userHtml(login, ''),
    avatar: (accountId) => `${webOrigin}/avatars/u/${accountId}?v=4`,
    repository: (owner, name) => ({
      api: `${api}/repos/${owner}/${name}`,
      html: html(owner, name),
      clone: clone(owner, name),
      ssh: ssh(owner, name),
      git: git(owner, name),
    }),
    under: (other) => addressesFrom(options, other),
  }
}

/** Cut once: very many addresses are made of each template. */
function filling(template: string): (owner: string, name: string) => string {
  const pieces = template.split(/(\{owner\}|\{name\})/)
  return (owner, name) => {
    let address = ''
    for (const piece of pieces)
      address += piece === '{owner}' ? owner : piece === '{name}' ? name : piece
    return address
  }
}
