import { CONNECTIONS, type CrowdRead } from './crowd.ts'
import { median, spread } from './measure.ts'
import { barPlot } from './plot.ts'
import { atLeast, round, type Section, type Table } from './section.ts'

const OF_PRISM = 15
const OF_SQLITE = 0.4

export const READERS = ['limit', 'prism', 'sqlite', 'postgres'] as const
export type Reader = (typeof READERS)[number]

/** Responses a second, and CPU seconds per response. */
export type Rates = Record<Reader, { rates: number[]; cpu: number[] }>

export const newRates = (): Rates =>
  Object.fromEntries(READERS.map((reader) => [reader, { rates: [], cpu: [] }])) as unknown as Rates

interface Rounds {
  rounds: number
  turns: number
  turnSeconds: number
  warmUpSeconds: number
  /** How many migrations one round of the requests that are sent only once takes, instead of a number of seconds. */
  onceATurn: number
  warmUpOnce: number
}

/** The medians of one kind of read; NaN for a server that was not measured. */
interface Middle extends CrowdRead, Record<Reader, number> {
  all: Rates
  /** The CPU time per response of the limit, divided by Godwit's. */
  byCpu: number
}

export function reportReads(
  reads: readonly CrowdRead[],
  rates: ReadonlyMap<string, Rates>,
  rounds: Rounds,
): Section {
  const middles = reads.map((read) => middleOf(read, rates.get(read.name)!))
  const polled = middles.filter(({ isOnce, prism }) => !isOnce && Number.isFinite(prism))
  return {
    title: 'Reads by a crowd',
    notes: notesOn(rounds),
    tables: [tableOf(middles)],
    targets: [
      ...middles.flatMap(({ name, aim, sqlite, limit }) =>
        aim === undefined ? [] : [atLeast(`${name}, of the limit`, sqlite / limit, aim)],
      ),
      ...middles.map(({ name, sqlite, postgres }) =>
        atLeast(`${name}, PostgreSQL of SQLite`, postgres / sqlite, OF_SQLITE),
      ),
      atLeast(
        'every polled read, of Prism',
        Math.min(...polled.map(({ sqlite, prism }) => sqlite / prism)),
        OF_PRISM,
      ),
    ],
    plots: [
      {
        file: 'reads.svg',
        alt: 'Responses a second: Godwit, a bare server that sends the same bytes, and Prism',
        svg: plotOf(middles),
      },
    ],
  }
}

function middleOf(read: CrowdRead, all: Rates): Middle {
  const middle = (reader: Reader) => median(all[reader].rates)
  return {
    ...read,
    all,
    limit: middle('limit'),
    prism: middle('prism'),
    sqlite: middle('sqlite'),
    postgres: middle('postgres'),
    byCpu: median(all.limit.cpu) / median(all.sqlite.cpu),
  }
}

const notesOn = ({
  rounds,
  turns,
  turnSeconds,
  warmUpSeconds,
  onceATurn,
  warmUpOnce,
}: Rounds): string[] => [
  `responses a second to ${CONNECTIONS} clients that never pause, each request with another account’s token and for another migration, in an order that never repeats; medians of ${rounds} rounds of ${turns} turns of ${turnSeconds} s, the servers alternating, after a warm-up of ${warmUpSeconds} s`,
  `40 accounts with 60 repositories each, 2,000 migrations of 10 of these and 2,000 of 30; *never requested*: ${onceATurn} migrations a turn after a warm-up of ${warmUpOnce}, each requested once, with repositories that were not requested before; *not modified*: requests with the ETag of the response`,
  'every server on one core, the clients on another; PostgreSQL is not bound to a core',
  'Godwit with authentication, rate limiting, a log line for every request, and its database',
  '*limit*: a bare `node:http` server that sends the same bytes and headers and does nothing else (`bench/bare-server.ts`); *by CPU*: its CPU time per response, divided by Godwit’s, which depends less on how busy the machine is',
  '*Prism*: `prism mock` of the same operation, from Godwit’s own description with the same body as example',
]

const whole = (value: number): string => (Number.isFinite(value) ? value.toFixed(0) : '–')

function tableOf(middles: readonly Middle[]): Table {
  return {
    head: [
      ...['', 'Prism', 'limit', 'SQLite', 'min – max', 'of Prism', 'of the limit', 'by CPU'],
      ...['PostgreSQL', 'of SQLite'],
    ],
    rows: middles.map(({ name, all, limit, prism, sqlite, postgres, byCpu }) => [
      name,
      whole(prism),
      whole(limit),
      whole(sqlite),
      spread(all.sqlite.rates, whole),
      Number.isFinite(prism) ? `${round(sqlite / prism)} ×` : '–',
      `${round(sqlite / limit)} ×`,
      `${round(byCpu)} ×`,
      whole(postgres),
      `${round(postgres / sqlite)} ×`,
    ]),
  }
}

function plotOf(middles: readonly Middle[]): string {
  return barPlot({
    title: 'Reads by a crowd: responses a second on one core',
    unit: '/s',
    groups: middles.map(({ name, limit, prism, sqlite, postgres }) => ({
      name,
      bars: [
        { name: 'bare node:http (the limit)', value: limit, series: 1 },
        { name: 'Godwit', value: sqlite, series: 0 },
        { name: 'Godwit, PostgreSQL', value: postgres, series: 3 },
        { name: 'Prism', value: prism || 0, series: 2 },
      ],
    })),
  })
}
