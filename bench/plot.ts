/** Draws plots as plain SVG that follows the reader's light or dark theme. */

const STYLE = `<style>
    text { font: 12px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600; font-size: 14px }
    .faint { fill: #59636e }
    .axis { stroke: #d1d9e0 }
    .s0 { fill: #0969da; stroke: #0969da } .s1 { fill: #818b98; stroke: #818b98 }
    .s2 { fill: #bc4c00; stroke: #bc4c00 } .s3 { fill: #1a7f37; stroke: #1a7f37 }
    .line { fill: none; stroke-width: 2 }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc } .faint { fill: #9198a1 } .axis { stroke: #3d444d }
      .s0 { fill: #4493f8; stroke: #4493f8 } .s2 { fill: #f0883e; stroke: #f0883e } .s3 { fill: #3fb950; stroke: #3fb950 }
    }
  </style>`

export interface Bars {
  title: string
  /** The unit of the values. */
  unit: string
  groups: { name: string; bars: Bar[] }[]
}

interface Bar {
  name: string
  value: number
  /** Index of the colour; 0 is Godwit. */
  series: number
}

const BAR = 18
const LABELS = 230
const WIDTH = 760

/** Draws horizontal bars in groups; the longest bar of each group has the full width. */
export function barPlot({ title, unit, groups }: Bars): string {
  let y = 46
  const shapes = groups.flatMap(({ name, bars }) => {
    const most = Math.max(...bars.map(({ value }) => value))
    const head = name === '' ? [] : [`<text x="8" y="${y + 12}">${escaped(name)}</text>`]
    if (name !== '') y += BAR
    const drawn = bars.map((bar) => {
      const length = Math.max(2, ((WIDTH - LABELS - 100) * bar.value) / most)
      const text = `${figure(bar.value)} ${unit}`
      const shape = `<text x="${LABELS - 8}" y="${y + 13}" text-anchor="end" class="faint">${escaped(bar.name)}</text>
  <rect x="${LABELS}" y="${y + 2}" width="${length.toFixed(1)}" height="${BAR - 4}" rx="2" class="s${bar.series}"/>
  <text x="${(LABELS + length + 6).toFixed(1)}" y="${y + 13}">${text}</text>`
      y += BAR
      return shape
    })
    y += 8
    return [...head, ...drawn]
  })
  return svg(title, y + 4, shapes)
}

export interface Lines {
  title: string
  x: string
  y: string
  series: { name: string; points: [x: number, y: number][] }[]
}

const LEFT = 70
const RIGHT = 190
const TOP = 46
const HEIGHT = 260

/** Draws lines on two logarithmic axes. */
export function linePlot({ title, x, y, series }: Lines): string {
  const points = series.flatMap((each) => each.points)
  const across = scale(
    points.map(([at]) => at),
    LEFT,
    WIDTH - RIGHT,
  )
  const up = scale(
    points.map(([, value]) => value),
    TOP + HEIGHT,
    TOP,
  )
  const grid = [
    ...across.ticks.map(
      (tick) =>
        `<path class="axis" d="M${across.at(tick)} ${TOP}V${TOP + HEIGHT}"/><text x="${across.at(tick)}" y="${TOP + HEIGHT + 16}" text-anchor="middle" class="faint">${figure(tick)}</text>`,
    ),
    ...up.ticks.map(
      (tick) =>
        `<path class="axis" d="M${LEFT} ${up.at(tick)}H${WIDTH - RIGHT}"/><text x="${LEFT - 6}" y="${up.at(tick) + 4}" text-anchor="end" class="faint">${figure(tick)}</text>`,
    ),
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${TOP + HEIGHT + 34}" text-anchor="middle" class="faint">${escaped(x)}</text>`,
    `<text x="${LEFT - 6}" y="${TOP - 8}" text-anchor="end" class="faint">${escaped(y)}</text>`,
  ]
  const drawn = series.map(({ name, points }, index) => {
    const path = points.map(([at, value]) => `${across.at(at)} ${up.at(value)}`).join('L')
    const dots = points.map(
      ([at, value]) =>
        `<circle class="s${index}" cx="${across.at(at)}" cy="${up.at(value)}" r="3"/>`,
    )
    const labelY = TOP + 14 + index * 20
    return `<path class="s${index} line" style="fill:none" d="M${path}"/>${dots.join('')}
  <rect class="s${index}" x="${WIDTH - RIGHT + 16}" y="${labelY - 9}" width="10" height="10" rx="2"/><text x="${WIDTH - RIGHT + 32}" y="${labelY}">${escaped(name)}</text>`
  })
  return svg(title, TOP + HEIGHT + 46, [...grid, ...drawn])
}

function scale(values: readonly number[], from: number, to: number) {
  const low = Math.floor(Math.log10(Math.min(...values)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))
  const at = (value: number) =>
    Number((from + ((to - from) * (Math.log10(value) - low)) / (high - low)).toFixed(1))
  return { at, ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)) }
}

function svg(title: string, height: number, shapes: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(title)}">
  ${STYLE}
  <text x="8" y="20" class="title">${escaped(title)}</text>
  ${shapes.join('\n  ')}
</svg>
`
}

function figure(value: number): string {
  if (value >= 10_000) return Math.round(value).toLocaleString('en')
  return Number(value.toPrecision(value >= 100 ? 4 : 3)).toString()
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
