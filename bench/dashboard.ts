import { link, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from '../test/support/chromium.ts'
import { makeCorpus, OWNER } from './corpus.ts'
import { median } from './measure.ts'
import { type RunningService, startService } from './service.ts'

const DIST = new URL('../web/dist', import.meta.url).pathname
const ROUNDS = 5

export interface DashboardFigures {
  /** What a first visit fetches until it can be used. */
  files: number
  gzippedBytes: number
  /** From the start of the navigation, with nothing in the cache. */
  signInSeconds: number
  listSeconds: number
  /** From a key pressed in the search to what was found, among so many. */
  repositories: number
  searchSeconds: number
}

/** The dashboard in a real browser, served by the service itself on this machine. */
export async function measureDashboard(repositories = 10_000): Promise<DashboardFigures> {
  const place = await mkdtemp(join(tmpdir(), 'godwit-bench-'))
  const browser = await launchChromium()
  try {
    await copies(join(place, 'repositories'), repositories)
    const godwit = await startService({
      repositories: join(place, 'repositories'),
      data: join(place, 'data'),
      login: OWNER,
    })
    try {
      const loads = []
      for (let round = 0; round < ROUNDS; round += 1) loads.push(await load(browser, godwit))
      const [first] = loads
      return {
        files: first!.paths.length,
        gzippedBytes: await gzippedBytes(first!.paths),
        signInSeconds: median(loads.map(({ signIn }) => signIn)),
        listSeconds: median(loads.map(({ list }) => list)),
        repositories,
        searchSeconds: await search(browser, godwit, repositories),
      }
    } finally {
      await godwit.stop()
    }
  } finally {
    await browser.close()
    await rm(place, { recursive: true, force: true })
  }
}

/** A first visit, and the first one of whoever is signed in. */
async function load(browser: Browser, { url, token }: RunningService) {
  const context = await browser.newContext()
  const page = await context.newPage()
  const paths: string[] = []
  page.on('request', (request) => paths.push(new URL(request.url()).pathname))
  await page.goto(url)
  const signIn = await secondsUntil(page, 'input[name=token]')
  await context.close()

  const another = await browser.newContext()
  const signedIn = await another.newPage()
  await signedIn.addInitScript({ content: `sessionStorage.setItem('godwit.token', '${token}')` })
  await signedIn.goto(url)
  const list = await secondsUntil(signedIn, 'h1')
  await another.close()
  return { paths: paths.filter((path) => path === '/' || path.includes('.')), signIn, list }
}

/** Until it is there and the page has time for a key press. */
async function secondsUntil(page: Page, selector: string): Promise<number> {
  await page.waitForSelector(selector)
  const idleAt = `new Promise((done) => requestIdleCallback(() => done(performance.now())))`
  return ((await page.evaluate(idleAt)) as number) / 1000
}

async function search(
  browser: Browser,
  { url, token }: RunningService,
  count: number,
): Promise<number> {
  const page = await browser.newPage()
  await page.addInitScript({ content: `sessionStorage.setItem('godwit.token', '${token}')` })
  await page.goto(`${url}/#/new`)
  await page.getByRole('checkbox', { name: `${OWNER}/copy-0` }).waitFor()
  const waits = []
  for (let round = 1; round <= ROUNDS; round += 1) {
    const wanted = `copy-${Math.floor((count * round) / (ROUNDS + 1))}`
    const start = performance.now()
    await page.getByRole('searchbox').fill(wanted)
    await page
      .getByRole('checkbox', { name: `${OWNER}/${wanted}` })
      .first()
      .waitFor()
    waits.push((performance.now() - start) / 1000)
  }
  await page.close()
  return median(waits)
}

async function gzippedBytes(paths: readonly string[]): Promise<number> {
  const sizes = paths.map(async (path) => {
    const file = join(DIST, path === '/' ? 'index.html' : path)
    const { size } = await stat(`${file}.gz`).catch(() => stat(file))
    return size
  })
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** Alike, and linked rather than copied: only their number matters here. */
async function copies(root: string, count: number): Promise<void> {
  const one = join(await makeCorpus('small'), OWNER, 'small-1.git')
  const entries = await readdir(one, { recursive: true, withFileTypes: true })
  const folders = entries.filter((each) => each.isDirectory()).map(pathIn)
  const files = entries.filter((each) => each.isFile()).map(pathIn)
  function pathIn({ parentPath, name }: { parentPath: string; name: string }): string {
    return join(relative(one, parentPath), name)
  }
  for (let index = 0; index < count; index += 1) {
    const copy = join(root, OWNER, `copy-${index}.git`)
    await mkdir(copy, { recursive: true })
    for (const folder of folders) await mkdir(join(copy, folder))
    await Promise.all(files.map((file) => link(join(one, file), join(copy, file))))
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { repositories: { type: 'string' } } })
  const figures = await measureDashboard(
    values.repositories ? Number(values.repositories) : undefined,
  )
  console.log(
    `first load: ${(figures.gzippedBytes / 1000).toFixed(0)} kB gzipped in ${figures.files} files`,
  )
  console.log(
    `interactive: sign-in ${figures.signInSeconds.toFixed(2)} s, list ${figures.listSeconds.toFixed(2)} s`,
  )
  console.log(
    `search among ${figures.repositories} repositories: ${figures.searchSeconds.toFixed(2)} s`,
  )
}
