import type { Operation } from '../../description/operation.ts'
import { parameter } from '../../description/parameters.ts'
import { notFound } from '../../description/usual-answers.ts'

const WHO =
  'Only for owners of the organization and for site admins; for all others it does not exist.'

/** What the caller may do with things of their own, as it is described for those of an organization. */
export const describedForOrganization = (operation: Operation, operationId: string): Operation => ({
  ...operation,
  operationId,
  summary: `${operation.summary} (organization)`,
  description: [operation.description, WHO].filter((text) => text !== undefined).join(' '),
  parameters: [parameter('org'), ...(operation.parameters ?? [])],
  responses: { 404: notFound, ...operation.responses },
})
