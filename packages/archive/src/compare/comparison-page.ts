import { type Html, html } from '../formats/html/html.ts'
import { type ComparedRepository, type Comparison, type Difference, OUTCOMES } from './compare.ts'
import type { Value } from './compared-kinds.ts'

/** Colors for both light and dark screens. */
const STYLE = `
:root { color-scheme: light dark; --muted: #59636e; --line: #d1d9e0; --good: #1a7f37; --bad: #d1242f; --note: #9a6700 }
@media (prefers-color-scheme: dark) { :root { --muted: #9198a1; --line: #3d444d; --good: #3fb950; --bad: #f85149; --note: #d29922 } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1.25rem; overflow-wrap: anywhere }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left; vertical-align: top }
td.n { text-align: right } .equal, .good { color: var(--good) } .known { color: var(--note) }
.changed, .missing, .extra, .bad { color: var(--bad) } .muted { color: var(--muted) } pre { white-space: pre-wrap; margin: 0 }
`

/** Returns the result as one HTML page without scripts, which loads nothing from elsewhere. */
export function comparisonPage(
  { repositories, totals, known, notes, isComplete }: Comparison,
  { left, right }: { left: string; right: string },
  now: Date,
): string {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width">
<title>Comparison of ${left} with ${right}</title>
<style>${STYLE}</style>
<h1>${left} compared with ${right}</h1>
<p class="${isComplete ? 'good' : 'bad'}"><strong>${isComplete ? 'Everything is equal or a known difference.' : 'There are differences.'}</strong></p>
<p>${OUTCOMES.map((outcome) => html`<span class="${outcome}">${totals[outcome]} ${outcome}</span> `)}</p>
<p class="muted">${now.toISOString().slice(0, 16).replace('T', ' ')} UTC</p>
${
  known.size > 0 &&
  html`<h2>Known differences</h2>
<table><tr><th>Number<th>Reason</tr>${[...known].map(([reason, count]) => html`<tr><td class="n">${count}<td>${reason}</tr>`)}</table>`
}
${notes.length > 0 && html`<h2>Notes</h2><ul>${notes.map((note) => html`<li>${note}`)}</ul>`}
${repositories.map(repositoryHtml)}
</html>
`.text
}

function repositoryHtml({ left, right, failure, kinds, differences }: ComparedRepository): Html {
  const title = left === right ? left : `${left} → ${right}`
  if (failure !== undefined)
    return html`<h2>${title}</h2><p class="bad">Not compared: ${failure}</p>`
  const rows = Object.entries(kinds).map(
    ([kind, counts]) =>
      html`<tr><th>${kind.replaceAll('_', ' ')}${OUTCOMES.map(
        (outcome) =>
          html`<td class="n ${counts[outcome] > 0 && outcome}">${counts[outcome] || '–'}`,
      )}</tr>`,
  )
  return html`<h2>${title}</h2>
<table><tr><th>Kind${OUTCOMES.map((outcome) => html`<th>${outcome}`)}</tr>${rows}</table>
${
  differences.length > 0 &&
  html`<details open><summary>The first differences of each kind</summary>
<table><tr><th>Kind<th>Name<th>Outcome<th>Field<th>archive<th>other side</tr>${differences.map(differenceHtml)}</table></details>`
}
`
}

function differenceHtml({ kind, name, outcome, reasons, fields }: Difference): Html {
  const [first, ...more] = fields.map(
    ({ field, left, right }) =>
      html`<td>${field}<td><pre>${formatValue(left)}</pre><td><pre>${formatValue(right)}</pre>`,
  )
  return html`<tr><td>${kind.replaceAll('_', ' ')}<td>${name}<td class="${outcome}">${outcome}${reasons.map((reason) => html`<br><span class="muted">${reason}</span>`)}${first ?? html`<td colspan="3">`}</tr>${more.map((cells) => html`<tr><td colspan="3">${cells}</tr>`)}`
}

export function formatValue(value: Value, maxLength = Number.POSITIVE_INFINITY): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
}
