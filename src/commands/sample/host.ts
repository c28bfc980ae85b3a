import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '../../git/git.ts'

type Files = Record<string, string>

interface SampleRepository {
  path: string
  config: Record<string, string | string[]>
  isPublic?: boolean
  /** What each commit changes, oldest first. */
  history: { message: string; files: Files }[]
  wiki?: Files
}

/** Fixed, so that the sample has the same object ids everywhere. */
const FIRST_DAY = Date.UTC(2024, 2, 1, 9) / 1000
const A_DAY = 86_400

export const SAMPLE_LOGIN = 'wader'
export const SAMPLE_NAMES = [
  'wader/field-notes',
  'wader/flyway',
  'wader/tide-tables',
  'wader/nest-diary',
  'shorebirds/starter',
  'shorebirds/tide-tables',
]

/** A small git host with a little of everything, for a first look. Made whole or not at all; found again if it is there. */
export async function ensureSampleHost(directory: string, git: Git): Promise<string> {
  const root = join(directory, 'repositories')
  if (existsSync(root)) return root
  const unfinished = `${root}.unfinished`
  await rm(unfinished, { recursive: true, force: true })
  for (const repository of await sampleRepositories()) {
    await makeRepository(join(unfinished, repository.path), repository, git)
  }
  await rename(unfinished, root)
  return root
}

async function makeRepository(
  path: string,
  { config, history, isPublic, wiki }: Omit<SampleRepository, 'path'>,
  git: Git,
): Promise<void> {
  const dir = `${path}.git`
  await mkdir(dir, { recursive: true })
  await git.run(['init', '--quiet', '--bare', '--template=', '--initial-branch=main', dir])
  for (const [key, values] of Object.entries(config)) {
    for (const value of [values].flat()) {
      await git.run(['config', '--file', join(dir, 'config'), '--add', `godwit.${key}`, value])
    }
  }
  if (isPublic) await writeFile(join(dir, 'git-daemon-export-ok'), '')
  await git.run(['fast-import', '--quiet'], { dir, input: fastImport(history) })
  if (wiki) {
    const pages = { config: {}, history: [{ message: 'Write it down', files: wiki }] }
    await makeRepository(`${path}.wiki`, pages, git)
  }
}

function fastImport(history: SampleRepository['history']): string {
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`
  return history
    .map(({ message, files }, day) => {
      const who = `Godwit sample <sample@localhost> ${FIRST_DAY + day * A_DAY} +0000`
      const changes = Object.entries(files).map(
        ([name, text]) => `M 100644 inline ${name}\n${data(text)}`,
      )
      return `commit refs/heads/main\ncommitter ${who}\n${data(message)}${changes.join('')}\n`
    })
    .join('')
}

async function sampleRepositories(): Promise<SampleRepository[]> {
  const { default: licenses } = await import('spdx-license-list/full.js')
  const license = (id: string) => licenses[id]!.licenseText
  const shared = { collaborator: `${SAMPLE_LOGIN}:admin` }
  return [
    {
      path: 'shorebirds/starter',
      isPublic: true,
      config: { ...shared, description: 'Begin here', isTemplate: 'true', license: 'ISC' },
      history: [{ message: 'Begin', files: { 'README.md': '# A new study\n' } }],
    },
    {
      path: 'shorebirds/tide-tables',
      isPublic: true,
      config: { ...shared, description: 'High and low water', topic: ['tides', 'coast'] },
      history: [
        { message: 'Count the hours', files: { 'tides.go': GO, LICENSE: license('Apache-2.0') } },
        { message: 'Say how to use it', files: { 'README.md': '# Tide tables\n\n`go run .`\n' } },
      ],
    },
    {
      path: 'wader/field-notes',
      isPublic: true,
      config: {
        description: 'What was seen, where and when',
        homepage: 'https://example.org/field-notes',
        topic: ['birds', 'migration', 'notes'],
      },
      history: [
        { message: 'First sightings', files: { 'notes.py': PYTHON, LICENSE: license('MIT') } },
        {
          message: 'Add a list',
          files: { 'sightings.csv': 'date,species,count\n2024-03-02,Limosa lapponica,41\n' },
        },
        { message: 'Count them', files: { 'notes.py': `${PYTHON}\nprint(total())\n` } },
      ],
      wiki: { 'Home.md': '# Field notes\n\nHow the counting is done.\n' },
    },
    {
      path: 'wader/flyway',
      isPublic: true,
      config: { description: 'Routes over the sea', templateRepository: 'shorebirds/starter' },
      history: [{ message: 'Set out', files: { 'src/main.rs': RUST, LICENSE: license('MIT') } }],
    },
    {
      path: 'wader/tide-tables',
      isPublic: true,
      config: {
        description: 'High and low water, with moonlight',
        forkOf: 'shorebirds/tide-tables',
      },
      history: [
        { message: 'Count the hours', files: { 'tides.go': GO, LICENSE: license('Apache-2.0') } },
        { message: 'Add the moon', files: { 'moon.go': 'package main\n\nconst month = 29.53\n' } },
      ],
    },
    {
      path: 'wader/nest-diary',
      config: { description: 'Not for everyone' },
      history: [{ message: 'Four eggs', files: { 'diary.ts': 'export const eggs: number = 4\n' } }],
    },
  ]
}

const PYTHON = `import csv


def total(path="sightings.csv"):
    with open(path) as file:
        return sum(int(row["count"]) for row in csv.DictReader(file))
`
const GO = `package main

import "fmt"

func main() {
	for hour := 0.0; hour < 24; hour += 6.2 {
		fmt.Printf("%05.2f\\n", hour)
	}
}
`
const RUST = `fn main() {
    let days = 11;
    println!("{days} days over open sea");
}
`
