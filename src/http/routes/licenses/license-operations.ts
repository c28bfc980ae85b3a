import { boolean } from '../../../wire/schema.ts'
import { OPTIONAL_TOKEN, type Operation } from '../../description/operation.ts'
import { IF_NONE_MATCH, inQuery, LENIENT, PAGED, parameter } from '../../description/parameters.ts'
import { current, notFound, page } from '../../description/usual-answers.ts'

export const listLicenses = {
  operationId: 'licenses/get-all-commonly-used',
  tags: ['Repositories'],
  summary: 'List the commonly used licences',
  security: OPTIONAL_TOKEN,
  parameters: [inQuery('featured', boolean, `Only those that are used most. ${LENIENT}`), ...PAGED],
  responses: page('license', 'licenses'),
} satisfies Operation

export const getLicense = {
  operationId: 'licenses/get',
  tags: ['Repositories'],
  summary: 'Get a licence and its text',
  description: 'Any licence of the SPDX list.',
  security: OPTIONAL_TOKEN,
  parameters: [parameter('license'), IF_NONE_MATCH],
  responses: { ...current('The licence.', 'license-text'), 404: notFound },
} satisfies Operation
