import { list } from '../ground/json-shape.ts'
import { anyText, type FieldsOf, orElse } from './field-shapes.ts'
import type { Discussion, DiscussionCategory } from './issue.ts'
import { reactions, writeReactions } from './reaction-records.ts'
import { categoryName, id, labelName, orNone, person, repositoryName } from './read-addresses.ts'
import type { Links } from './record-addresses.ts'

const textOrNull = orElse(anyText, null)

export function readDiscussion(field: FieldsOf): Discussion {
  const createdAt = field('created_at', anyText)
  return {
    repository: field('repository', repositoryName),
    number: field('url', id),
    author: field('user', person),
    title: field('title', anyText),
    body: field('body', textOrNull),
    labels: field('labels', orElse(list(labelName), [])),
    reactions: field('reactions', reactions),
    category: field('discussion_category', orNone(categoryName)),
    createdAt,
    updatedAt: field('updated_at', orElse(anyText, createdAt)),
  }
}

export function writeDiscussion(discussion: Discussion, links: Links) {
  const { repository } = discussion
  return {
    type: 'discussion',
    url: links.discussion(repository, discussion.number),
    repository: links.repository(repository),
    user: links.person(discussion.author),
    title: discussion.title,
    body: discussion.body,
    labels: discussion.labels.map((name) => links.label(repository, name)),
    reactions: writeReactions(discussion.reactions, 'Discussion', links),
    created_at: discussion.createdAt,
    updated_at: discussion.updatedAt,
    discussion_category: links.discussionCategory(repository, discussion.category),
  }
}

export function readDiscussionCategory(field: FieldsOf): DiscussionCategory {
  return {
    repository: field('repository', repositoryName),
    name: field('name', anyText),
    emoji: field('emoji', textOrNull),
    description: field('description', textOrNull),
  }
}

export function writeDiscussionCategory(category: DiscussionCategory, links: Links) {
  return {
    type: 'discussion_category',
    url: links.discussionCategory(category.repository, category.name),
    repository: links.repository(category.repository),
    name: category.name,
    emoji: category.emoji,
    description: category.description,
  }
}
