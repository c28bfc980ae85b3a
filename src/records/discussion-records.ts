import { list } from '../lib/json-shape.ts'
import { anyText, type FieldsOf, orElse, textOrNull } from './field-shapes.ts'
import type { Discussion, DiscussionCategory } from './issue.ts'
import { reactions } from './reaction-records.ts'
import { categoryName, id, labelName, orNone, person, repositoryName } from './read-addresses.ts'

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

export function readDiscussionCategory(field: FieldsOf): DiscussionCategory {
  return {
    repository: field('repository', repositoryName),
    name: field('name', anyText),
    emoji: field('emoji', textOrNull),
    description: field('description', textOrNull),
  }
}
