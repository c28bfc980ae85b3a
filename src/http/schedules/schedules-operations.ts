import { json, type Operation, one, parameter, several } from '../description/operation.ts'
import { refusal } from '../description/refusals.ts'
import { scheduleBodySchema, scheduleChangeSchema } from './schedule-schema.ts'

const notFound = refusal('not-found')
const notModified = refusal('not-modified')
const own = 'An extension of this server.'
const paged = [parameter('per-page'), parameter('page'), parameter('if-none-match')]

export const createSchedule = {
  operationId: 'schedules/create',
  tags: ['Schedules'],
  summary: 'Create a schedule',
  description: `Starts a migration of the repositories every day or every week. It runs as the account that creates it: each run asks anew what that account may migrate. A run that is still going when the next is due makes that one \`skipped\`. Runs that were missed while the service was down are made up for by one run. ${own}`,
  body: scheduleBodySchema,
  responses: {
    201: json('Created.', { schema: one('schedule'), example: 'schedule', headers: ['location'] }),
    413: refusal('too-large'),
    422: refusal('invalid'),
  },
} satisfies Operation

export const listSchedules = {
  operationId: 'schedules/list',
  tags: ['Schedules'],
  summary: "List the caller's schedules",
  description: `Oldest first. ${own}`,
  parameters: paged,
  responses: {
    200: json('One page of the list.', {
      schema: several('schedule'),
      example: 'schedules',
      headers: ['etag', 'link', 'x-total-count'],
    }),
    304: notModified,
  },
} satisfies Operation

export const getSchedule = {
  operationId: 'schedules/get',
  tags: ['Schedules'],
  summary: 'Get a schedule, its next run and its last',
  description: own,
  parameters: [parameter('schedule-id'), parameter('if-none-match')],
  responses: {
    200: json('The schedule.', { schema: one('schedule'), example: 'schedule', headers: ['etag'] }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const updateSchedule = {
  operationId: 'schedules/update',
  tags: ['Schedules'],
  summary: 'Change, pause or resume a schedule',
  description: `Fields that are not sent stay as they are. What was due while it was paused is not made up for. ${own}`,
  parameters: [parameter('schedule-id')],
  body: scheduleChangeSchema,
  responses: {
    200: json('The schedule as it is now.', { schema: one('schedule'), example: 'schedule' }),
    404: notFound,
    413: refusal('too-large'),
    422: refusal('invalid'),
  },
} satisfies Operation

export const deleteSchedule = {
  operationId: 'schedules/delete',
  tags: ['Schedules'],
  summary: 'Delete a schedule',
  description: `Its migrations stay, and their archives expire like any others. ${own}`,
  parameters: [parameter('schedule-id')],
  responses: { 204: { description: 'Done.' }, 404: notFound },
} satisfies Operation

export const listRuns = {
  operationId: 'schedules/list-runs',
  tags: ['Schedules'],
  summary: 'List the runs of a schedule',
  description: `Newest first, with those that were skipped or could not start a migration. Old runs without an archive are forgotten. ${own}`,
  parameters: [parameter('schedule-id'), ...paged],
  responses: {
    200: json('One page of the list.', {
      schema: several('schedule-run'),
      example: 'schedule-runs',
      headers: ['etag', 'link', 'x-total-count'],
    }),
    304: notModified,
    404: notFound,
  },
} satisfies Operation

export const runSchedule = {
  operationId: 'schedules/run',
  tags: ['Schedules'],
  summary: 'Run a schedule now',
  description: `Also works while it is paused. The next run stays as it is. ${own}`,
  parameters: [parameter('schedule-id')],
  responses: {
    201: json('Started.', { schema: one('schedule-run'), example: 'schedule-run' }),
    404: notFound,
    422: refusal('invalid'),
  },
} satisfies Operation
