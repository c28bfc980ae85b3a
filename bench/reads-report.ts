import { CONNECTIONS, type CrowdRead } from './crowd.ts'
import { median, spread } from './measure.ts'
import { barPlot } from './plot.ts'
import { atLeast, round, type Section, type Table } from './section.ts'

const OF_PRISM = 15
const OF_SQLITE = 0.4

export const READERS = ['limit', 'prism', 'sqlite', 'postgres'] as const
export type Reader = (typeof READERS)[number]

/** Answers a second, and seconds of CPU for each of them. */
export type Rates = Record<Reader, { rates: number[]; cpu: number[] }>

export const newRates = (): Rates =>
  Object.fromEntries(READERS.map((reader) => [reader, { rates: [], cpu: [] }])) as unknown as Rates

interface Rounds {
  rounds: number
  turns: number
  turnSeconds: number
  warmUpSeconds: number
  /** Of what is asked for once only, so many migrations take the place of the seconds. */
  onceATurn: number
  warmUpOnce: number
}

/** One read, with the median of everyone who answers it; none where it was not asked. */
interface Middle extends CrowdRead, Record<Reader, number> {
  all: Rates
  /** What the limit needs of a CPU for each answer, to what Godwit needs. */
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
        alt: 'Answers a second: Godwit, a bare server that sends the same bytes, and Prism',
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
  `answers a second to ${CONNECTIONS} clients that never pause, each request with another account’s token and for another migration, in an order that never repeats; medians of ${rounds} rounds of ${turns} turns of ${turnSeconds} s, everyone in turn, after ${warmUpSeconds} s of the same to warm up`,
  `40 accounts with 60 repositories each, 2,000 migrations of 10 of these and 2,000 of 30; *never asked for*: of Godwit, ${onceATurn} migrations a turn after ${warmUpOnce} to warm up, each once, whose repositories nobody had asked for before; *not modified*: with the ETag of each`,
  'every server on one core, whoever asks on another; PostgreSQL wherever there is room',
  'Godwit with authentication, rate limiting, a line of log for every request, and its database',
  'the limit: a bare `node:http` that sends the very same bytes and headers and does nothing else (`bench/bare-server.ts`); *by CPU*: the CPU time that it needs for an answer, to what Godwit needs, which a busy machine changes less',
  'the peer: `prism mock` of the same operation, from Godwit’s own description with the same body as example',
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
    title: 'Reads by a crowd: answers a second on one core',
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
