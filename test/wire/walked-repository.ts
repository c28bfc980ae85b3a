/** What a client finds that follows the addresses of a repository's record. */
export interface WalkedRepository {
  full_name: string
  has_parent: boolean
  owner: { login: string; has_age: boolean }
  /** The text of its licence; null where it has none. */
  license: string | null
  /** What its own file says. */
  license_file: string | null
  branches: [name: string, sha: string][]
  tags: [name: string, sha: string][]
  topics: string[]
  languages: Record<string, number>
  collaborators: [login: string, isAdmin: boolean][]
}
