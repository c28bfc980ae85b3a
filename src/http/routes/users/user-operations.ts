import { OPTIONAL_TOKEN, type Operation } from '../../description/operation.ts'
import { IF_NONE_MATCH, parameter } from '../../description/parameters.ts'
import { current, notFound } from '../../description/usual-answers.ts'

export const getCurrentUser = {
  operationId: 'users/get-authenticated',
  tags: ['Caller'],
  summary: 'Get the current account',
  parameters: [IF_NONE_MATCH],
  responses: current('The account of the token.', 'current-user'),
} satisfies Operation

export const getUser = {
  operationId: 'users/get-by-username',
  tags: ['Repositories'],
  summary: 'Get a person or an organization',
  description:
    'Without a token: only owners of public repositories. An organization is also 404 for those who are no members and may read none of its repositories.',
  security: OPTIONAL_TOKEN,
  parameters: [parameter('username'), IF_NONE_MATCH],
  responses: { ...current('The account.', 'current-user'), 404: notFound },
} satisfies Operation
