import { scheduleChangeSchema, scheduleRequestSchema } from '../../../wire/schedule.ts'
import { EXTENSION } from '../../../wire/schema.ts'
import type { Operation } from '../../description/operation.ts'
import { IF_NONE_MATCH, PAGED, parameter } from '../../description/parameters.ts'
import { refusal } from '../../description/refusals.ts'
import { current, done, notFound, page, record } from '../../description/usual-answers.ts'

export const createSchedule = {
  operationId: 'schedules/create',
  tags: ['Schedules'],
  summary: 'Create a schedule',
  description: `Starts a migration of the repositories every day or every week. It runs as the account that creates it: each run asks anew what that account may migrate. A run that is still going when the next is due makes that one \`skipped\`. A run that lacks a repository of an earlier archive lists it as skipped, so that its migration is partial. Runs that were missed while the service was down are made up for by one run. ${EXTENSION}`,
  body: scheduleRequestSchema,
  responses: {
    201: record('Created.', 'schedule', 'location'),
    413: refusal('too-large'),
    422: refusal('invalid'),
  },
} satisfies Operation

export const listSchedules = {
  operationId: 'schedules/list',
  tags: ['Schedules'],
  summary: "List the caller's schedules",
  description: `Oldest first. ${EXTENSION}`,
  parameters: PAGED,
  responses: page('schedule', 'schedules', 'x-total-count'),
} satisfies Operation

export const getSchedule = {
  operationId: 'schedules/get',
  tags: ['Schedules'],
  summary: 'Get a schedule, its next run and its last',
  description: EXTENSION,
  parameters: [parameter('schedule-id'), IF_NONE_MATCH],
  responses: { ...current('The schedule.', 'schedule'), 404: notFound },
} satisfies Operation

export const updateSchedule = {
  operationId: 'schedules/update',
  tags: ['Schedules'],
  summary: 'Change, pause or resume a schedule',
  description: `Fields that are not sent stay as they are. What was due while it was paused is not made up for. ${EXTENSION}`,
  parameters: [parameter('schedule-id')],
  body: scheduleChangeSchema,
  responses: {
    200: record('The schedule as it is now.', 'schedule'),
    404: notFound,
    413: refusal('too-large'),
    422: refusal('invalid'),
  },
} satisfies Operation

export const deleteSchedule = {
  operationId: 'schedules/delete',
  tags: ['Schedules'],
  summary: 'Delete a schedule',
  description: `Its migrations stay, and their archives expire like any others, also protected ones. ${EXTENSION}`,
  parameters: [parameter('schedule-id')],
  responses: { 204: done, 404: notFound },
} satisfies Operation

export const listRuns = {
  operationId: 'schedules/list-runs',
  tags: ['Schedules'],
  summary: 'List the runs of a schedule',
  description: `Newest first, with those that were skipped or could not start a migration. Old runs without an archive are forgotten. ${EXTENSION}`,
  parameters: [parameter('schedule-id'), ...PAGED],
  responses: { ...page('schedule-run', 'schedule-runs', 'x-total-count'), 404: notFound },
} satisfies Operation

export const releaseArchive = {
  operationId: 'schedules/release-archive',
  tags: ['Schedules'],
  summary: 'Release a protected archive',
  description: `Deletes an archive that the schedule keeps beyond \`keep\`, because no newer one holds some of its repositories. Answers 404 for any other archive. ${EXTENSION}`,
  parameters: [parameter('schedule-id'), parameter('migration-id')],
  responses: { 204: done, 404: notFound },
} satisfies Operation

export const runSchedule = {
  operationId: 'schedules/run',
  tags: ['Schedules'],
  summary: 'Run a schedule now',
  description: `Starts the migration in the name of the caller, whoever made the schedule. Also works while it is paused. The next run stays as it is. ${EXTENSION}`,
  parameters: [parameter('schedule-id')],
  responses: { 201: record('Started.', 'schedule-run'), 404: notFound, 422: refusal('invalid') },
} satisfies Operation
