import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { untilEnded } from '../support/service.ts'
import { skipUnless } from '../support/skip-unless.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

const PROJECT = new URL('../..', import.meta.url).pathname
const RULES = join(PROJECT, 'packaging/monitoring/godwit-alerts.yml')
const rules = readFileSync(RULES, 'utf8')
const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!)
const dashboard = JSON.parse(
  readFileSync(join(PROJECT, 'packaging/monitoring/godwit-dashboard.json'), 'utf8'),
) as { panels: { title: string; targets?: { expr: string }[] }[] }

const promtool = (args: string[], input = '') =>
  spawnSync('promtool', args, { input, encoding: 'utf8' })
const needsPrometheus = skipUnless(
  promtool(['--version']).status === 0,
  'prometheus is not installed',
)

interface Case {
  /** One sample a minute in each series: its values while all is well, and those that make the alert fire. */
  series: Record<string, [quiet: string, firing: string]>
  labels: Record<string, string>
  summary: string
}

/** What makes each alert fire within an hour. */
const CASES: Record<string, Case> = {
  GodwitDown: {
    series: { 'up{job="godwit",instance="a"}': ['1x60', '1x40 0x20'] },
    labels: { instance: 'a', severity: 'critical' },
    summary: 'a does not respond.',
  },
  GodwitDependencyDown: {
    series: {
      'godwit_dependency_up{job="godwit",instance="a",dependency="blobs"}': ['1x60', '0x60'],
      'godwit_dependency_up{job="godwit",instance="b",dependency="blobs"}': ['1x60', '1x60'],
    },
    labels: { instance: 'a', dependency: 'blobs', severity: 'critical' },
    summary: 'a waits for blobs.',
  },
  GodwitForgeUnavailable: {
    series: { 'godwit_dependency_up{job="godwit",dependency="forge"}': ['1x60', '0x60'] },
    labels: { severity: 'warning' },
    summary: 'The forge does not respond, so no migration can start or read its records.',
  },
  GodwitNoWorkers: {
    series: { 'godwit_workers{job="godwit",state="live"}': ['1x60', '1x50 0x10'] },
    labels: { severity: 'critical' },
    summary: 'No process runs exports.',
  },
  GodwitWorkerGone: {
    series: { 'godwit_workers{job="godwit",state="dead"}': ['0x60', '0x50 2x10'] },
    labels: { severity: 'warning' },
    summary: '2 processes that ran exports ended without stopping.',
  },
  GodwitOldJob: {
    series: {
      'godwit_queue_oldest_seconds{job="godwit",kind="export-repository"}': ['7200x60', '7260x60'],
      // Deliveries are tried again for days.
      'godwit_queue_oldest_seconds{job="godwit",kind="deliver-webhook"}': ['9e9x60', '9e9x60'],
    },
    labels: { kind: 'export-repository', severity: 'warning' },
    summary: 'The oldest job export-repository has waited or run for 2h 1m 0s.',
  },
  GodwitExportSlow: {
    series: {
      'godwit_migration_oldest_seconds{job="godwit",state="exporting"}': ['43200x60', '46800x60'],
      'godwit_migration_oldest_seconds{job="godwit",state="pending"}': ['9e9x60', '9e9x60'],
    },
    labels: { severity: 'warning' },
    summary: 'A migration has been exporting for 13h 0m 0s.',
  },
  GodwitMigrationsFail: {
    series: {
      'godwit_migrations_ended_total{job="godwit",outcome="failed"}': ['0+0x60', '0+1x60'],
      'godwit_migrations_ended_total{job="godwit",outcome="exported"}': ['0+3x60', '0+3x60'],
      'godwit_migrations_ended_total{job="godwit",outcome="cancelled"}': ['0+9x60', '0+9x60'],
    },
    labels: { severity: 'warning' },
    summary: '25% of the migrations of the last six hours failed.',
  },
  GodwitDiskLow: {
    series: { 'godwit_disk_free_bytes{job="godwit",of="archives"}': ['1.1e10x60', '9e11-1e10x60'] },
    labels: { severity: 'warning' },
    summary: 'The disk of the archives is full, or will be within a day.',
  },
  GodwitServerErrors: {
    series: {
      'godwit_http_requests_total{job="godwit",route="/user",status="200"}': ['0+99x60', '0+9x60'],
      'godwit_http_requests_total{job="godwit",route="/user",status="500"}': ['0+1x60', '0+1x60'],
      'godwit_http_requests_total{job="godwit",route="/readyz",status="503"}': ['0+9x60', '0+9x60'],
    },
    labels: { severity: 'warning' },
    summary: '10% of the requests get a server error.',
  },
  GodwitSchedulesOverdue: {
    series: { 'godwit_schedules{job="godwit",state="overdue"}': ['0x60', '3x60'] },
    labels: { severity: 'warning' },
    summary: '3 schedules did not run on time.',
  },
  GodwitBlobErrors: {
    series: { 'godwit_blob_errors_total{job="godwit",operation="put"}': ['5x60', '0x50 1x10'] },
    labels: { operation: 'put', severity: 'warning' },
    summary: 'The data directory or bucket refuses put.',
  },
  GodwitDataDamaged: {
    series: { 'godwit_segments{job="godwit",state="damaged"}': ['0x60', '0x59 1'] },
    labels: { severity: 'critical' },
    summary: '1 stored segments differ from their checksums.',
  },
}

const expectedAlert = ({ labels, summary }: Case) => ({
  exp_labels: { job: 'godwit', ...labels },
  exp_annotations: { summary },
})

test('every alert fires for its reason and is quiet otherwise', needsPrometheus, async (t) => {
  const checked = promtool(['check', 'rules', RULES])
  assert.equal(checked.status, 0, checked.stderr)
  assert.deepEqual(Object.keys(CASES), alerts)
  /** A test with the series of these alerts, after which exactly the `expected` one fires. */
  const alertTest = (cases: Case[], expected?: string) => ({
    interval: '1m',
    input_series: cases.flatMap(({ series }) =>
      Object.entries(series).map(([name, [quiet, firing]]) => ({
        series: name,
        values: expected === undefined ? quiet : firing,
      })),
    ),
    alert_rule_test: alerts.map((alertname) => ({
      eval_time: '1h',
      alertname,
      exp_alerts: alertname === expected ? cases.map(expectedAlert) : [],
    })),
  })
  const tests = [
    alertTest(Object.values(CASES)),
    ...Object.entries(CASES).map(([name, each]) => alertTest([each], name)),
  ]
  const file = join(temporaryDirectory(t), 'tests.yml')
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ rule_files: [RULES], tests }))
  const tested = promtool(['test', 'rules', file])
  assert.equal(tested.status, 0, `${tested.stdout}${tested.stderr}`)
})

test('every alert has a line in OPERATIONS.md that says what to do', () => {
  const guide = readFileSync(join(PROJECT, 'docs/OPERATIONS.md'), 'utf8')
  const described = [...guide.matchAll(/^\| `(Godwit\w+)` \|[^|]+\|[^|]{20,}\|$/gm)]
  assert.deepEqual(described.map(([, name]) => name).sort(), alerts.toSorted())
})

test(
  'a real Prometheus evaluates all alerts, and has data for every panel',
  needsPrometheus,
  async (t) => {
    await using host = await gitHost()
    await host.repository('alice/site', { files: { a: '1' } })
    const service = await startSharedService(t, { repositories: host.root })
    const token = await service.token('alice')
    const body = JSON.stringify({ repositories: ['site'] })
    await service.call(token, '/user/migrations', { method: 'POST', body })
    await untilEnded(service, token, 1)

    const metrics = await (await fetch(`${service.url}/metrics`)).text()
    const checked = promtool(['check', 'metrics'], metrics)
    assert.deepEqual([checked.status, checked.stderr], [0, ''])
    const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    const named = new Set(`${rules}${queries.join()}`.match(/\b(godwit|process|nodejs)_\w+/g))
    const exposed = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!))
    for (const name of named) assert.ok(exposed.has(name.replace(/_bucket$/, '')), name)

    const folder = temporaryDirectory(t)
    const address = `127.0.0.1:${await freePort()}`
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: [RULES],
      scrape_configs: [
        { job_name: 'godwit', static_configs: [{ targets: [new URL(service.url).host] }] },
      ],
    }
    await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config))
    const prometheus = spawn(
      'prometheus',
      [
        '--config.file=prometheus.yml',
        '--storage.tsdb.path=data',
        `--web.listen-address=${address}`,
      ],
      { cwd: folder, stdio: 'ignore' },
    )
    const ended = new Promise((resolve) => prometheus.once('exit', resolve))
    t.after(async () => {
      prometheus.kill()
      await ended
    })
    const ask = async (path: string) =>
      (await (await fetch(`http://${address}/api/v1/${path}`)).json()) as {
        status: string
        error?: string
        data: { result: unknown[]; groups: { rules: { name: string; health: string }[] }[] }
      }
    for (const query of queries) {
      // Nothing is waiting.
      if (query.includes('godwit_queue_')) continue
      const path = `query?query=${encodeURIComponent(query.replaceAll('$job', 'godwit'))}`
      // A rate needs two samples.
      await until(`${query} has data`, async () => {
        const answer = await ask(path).catch(() => undefined)
        assert.equal(answer?.error, undefined, query)
        return (answer?.data.result.length ?? 0) > 0
      })
    }
    await until('all rules were evaluated', async () => {
      const { groups } = (await ask('rules')).data
      assert.deepEqual(
        groups.flatMap((group) => group.rules).map(({ name }) => name),
        alerts,
      )
      return groups.every((group) => group.rules.every(({ health }) => health === 'ok'))
    })
  },
)
