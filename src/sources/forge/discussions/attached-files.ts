import type { AttachedTo } from '../../../records/release.ts'
import { linkedAttachments } from '../attachment-links.ts'
import type { Entry } from '../client/forge-pages.ts'
import { textIn } from '../client/forge-values.ts'
import { type Attached, attachmentFact, type ListedFile, listedFiles } from '../facts/file-facts.ts'
import { ifExists, listWholePart, type ReadContext } from './read-context.ts'

/** Collects the files of an issue's texts: as the forge lists them, else as the texts link to them. */
export class AttachedFiles {
  readonly #context: ReadContext
  readonly #found: Attached[] = []

  constructor(context: ReadContext) {
    this.#context = context
  }

  facts = () => this.#found.map(({ fact }) => fact)
  files = () => this.#found.map(({ file }) => file)

  /** `askFor` is the number of the comment whose files are to be asked for, where the answer at hand cannot list them. */
  async add(on: AttachedTo, holder: Entry, askFor?: number): Promise<void> {
    const { owner, name } = this.#context
    const known = new Set(this.#found.map(({ fact }) => fact.uuid))
    for (const file of await this.#filesOf(holder, askFor))
      if (!known.has(file.uuid))
        this.#found.push(attachmentFact(`${owner}/${name}`, on, holder, file))
  }

  async #filesOf(holder: Entry, askFor: number | undefined): Promise<ListedFile[]> {
    const { forge, notes } = this.#context
    const external = () => notes.skipped('attachments that are links to elsewhere')
    const linked = linkedAttachments(textIn(holder, 'body'), forge.client.url)
    // Some versions list them before they should: what is listed counts.
    if (Array.isArray(holder.assets)) return listedFiles(holder, external)
    if (!forge.can.issueAssets) {
      notes.noIssueAssets(forge.version)
      return linked.map((each) => ({ ...each, size: null, createdAt: null }))
    }
    // Reviews do not list their files, but the comments that they are do.
    if (askFor === undefined || linked.length === 0) return []
    const part = `issues/comments/${askFor}/assets`
    const assets = await ifExists(this.#context, () => listWholePart(this.#context, part))
    return assets ? listedFiles({ assets }, external) : []
  }
}
