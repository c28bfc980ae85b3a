import { list, oneOf } from '../lib/json-shape.ts'
import {
  anyText,
  type FieldsOf,
  flag,
  ifSaid,
  optional,
  orElse,
  part,
  textOrNull,
  timeOrNone,
} from './field-shapes.ts'
import { id, login, orNone, person, repositoryName, storedPath } from './read-addresses.ts'
import type { Links } from './record-addresses.ts'
import { addressInArchive } from './record-links.ts'
import type { Label, Milestone, Repository, Topic } from './repository.ts'

export function readRepository(field: FieldsOf): Repository {
  return {
    owner: field('owner', login),
    name: field('name', anyText),
    description: field('description', textOrNull),
    website: field('website', textOrNull),
    private: field('private', flag),
    hasIssues: field('has_issues', optional(flag)),
    hasWiki: field('has_wiki', optional(flag)),
    hasDownloads: field('has_downloads', optional(flag)),
    archived: field('is_archived', optional(flag)),
    labels: field('labels', orElse(list(label), [])),
    collaborators: field('collaborators', orElse(list(collaborator), [])),
    topics: field('repository_topics', optional(list(topic))),
    defaultBranch: field('default_branch', textOrNull),
    createdAt: field('created_at', anyText),
    git: field('git_url', storedPath),
    wiki: field('wiki_url', ifSaid(orNone(storedPath))),
  }
}

const label = part(
  (field): Label => ({
    name: field('name', anyText),
    color: field('color', anyText),
    description: field('description', textOrNull),
    createdAt: field('created_at', timeOrNone),
  }),
)

const collaborator = part((field) => ({
  login: field('user', login),
  permission: field('permission', anyText),
}))

const topic = part((field): Topic => {
  const createdAt = field('created_at', timeOrNone)
  return {
    name: field('topic_name', anyText),
    creator: field('creator', person),
    createdAt,
    updatedAt: field('updated_at', orElse(anyText, createdAt)),
  }
})

export function writeRepository(repository: Repository, links: Links) {
  const fullName = `${repository.owner}/${repository.name}`
  const url = links.repository(fullName)
  return {
    type: 'repository',
    url,
    owner: links.person(repository.owner),
    name: repository.name,
    description: repository.description,
    website: repository.website,
    private: repository.private,
    has_issues: repository.hasIssues,
    has_wiki: repository.hasWiki,
    has_downloads: repository.hasDownloads,
    is_archived: repository.archived,
    labels: repository.labels.map(({ name, color, description, createdAt }) => ({
      url: links.label(fullName, name),
      name,
      color,
      description,
      created_at: createdAt,
    })),
    collaborators: repository.collaborators.map(({ login, permission }) => ({
      user: links.person(login),
      permission,
    })),
    created_at: repository.createdAt,
    git_url: addressInArchive(repository.git),
    default_branch: repository.defaultBranch,
    webhooks: [],
    page: null,
    public_keys: [],
    repository_topics: repository.topics?.map(({ name, creator, createdAt, updatedAt }) => ({
      topic_url: null,
      topic_name: name,
      repository: url,
      creator: links.person(creator),
      state: 'created',
      created_at: createdAt,
      updated_at: updatedAt,
    })),
    wiki_url: repository.wiki == null ? repository.wiki : addressInArchive(repository.wiki),
  }
}

export function readMilestone(field: FieldsOf): Milestone {
  const createdAt = field('created_at', anyText)
  return {
    repository: field('repository', repositoryName),
    number: field('url', id),
    author: field('user', person),
    title: field('title', anyText),
    description: field('description', textOrNull),
    state: field('state', oneOf('open', 'closed')),
    dueOn: field('due_on', textOrNull),
    createdAt,
    updatedAt: field('updated_at', orElse(anyText, createdAt)),
    closedAt: field('closed_at', textOrNull),
  }
}

export function writeMilestone(milestone: Milestone, links: Links) {
  return {
    type: 'milestone',
    url: links.milestone(milestone.repository, milestone.number),
    repository: links.repository(milestone.repository),
    user: links.person(milestone.author),
    title: milestone.title,
    description: milestone.description,
    state: milestone.state,
    due_on: milestone.dueOn,
    created_at: milestone.createdAt,
    updated_at: milestone.updatedAt,
    closed_at: milestone.closedAt,
  }
}
