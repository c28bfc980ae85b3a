/** What a client finds when it follows the URLs of a repository record. */
export interface WalkedRepository {
  full_name: string
  has_parent: boolean
  owner: { login: string; has_age: boolean }
  /** The text of its licence; null if it has none. */
  license: string | null
  /** The content of its licence file. */
  license_file: string | null
  branches: [name: string, sha: string][]
  tags: [name: string, sha: string][]
  topics: string[]
  languages: Record<string, number>
  collaborators: [login: string, isAdmin: boolean][]
}
