// Filters the list of issues or pull requests on its page. Without this script, all pages of the list can be read.
const form = document.querySelector('form.filter')
const list = document.querySelector('.list')
const found = document.querySelector('.found')
const [status, results, more] = found.querySelectorAll('p, ul, button')
const kind = location.pathname.split('/').at(-2)
const PAGE_SIZE = 100
const rows = []
let colors = new Map()
let matching = []

// index.js calls these functions: scripts can be loaded from disk, other data cannot.
globalThis.addLabels = (labels) => {
  colors = new Map(labels)
}
globalThis.addRows = (more) => {
  for (const [number, title, state, author, labels, day, milestone, comments] of more)
    rows.push({
      ...{ number, title, state, author: author ?? 'ghost', labels, day, milestone, comments },
      text: [`#${number}`, title, author, ...labels, milestone].join('\n').toLowerCase(),
    })
}

const loaded = new Promise((resolve, reject) => {
  const script = document.createElement('script')
  script.src = 'index.js'
  script.onload = resolve
  script.onerror = reject
  document.head.append(script)
})

function addOptions(name, values) {
  const sorted = [...values].filter(Boolean).sort((a, b) => a.localeCompare(b))
  form.elements[name].append(...sorted.map((value) => new Option(value)))
}

function filter() {
  const wanted = Object.fromEntries(new FormData(form))
  const words = wanted.text.toLowerCase().split(/\s+/)
  const isFiltered = Object.values(wanted).some(Boolean)
  list.hidden = isFiltered
  found.hidden = !isFiltered
  matching = rows.filter(
    ({ text, state, labels, author, milestone }) =>
      words.every((word) => text.includes(word)) &&
      (!wanted.state || wanted.state === state) &&
      (!wanted.label || labels.includes(wanted.label)) &&
      (!wanted.author || wanted.author === author) &&
      (!wanted.milestone || wanted.milestone === milestone),
  )
  status.textContent = matching.length === 1 ? '1 found' : `${matching.length} found`
  results.replaceChildren()
  showMore()
}

function showMore() {
  const shown = results.childElementCount
  results.append(...matching.slice(shown, shown + PAGE_SIZE).map(rowElement))
  more.hidden = results.childElementCount === matching.length
}

function element(name, className, ...content) {
  const made = document.createElement(name)
  made.className = className
  made.append(...content)
  return made
}

function rowElement({ number, title, state, author, labels, day, milestone, comments }) {
  const link = element('a', '', element('bdi', '', title))
  link.href = `${number}.html`
  const about = [
    `#${number} by ${author} on ${day}`,
    milestone,
    comments && `comments: ${comments}`,
  ]
  return element(
    'li',
    '',
    element('span', `state ${state} ${kind}`, state[0].toUpperCase() + state.slice(1)),
    ' ',
    link,
    ' ',
    ...labels.map(labelElement),
    element('p', '', about.filter(Boolean).join(' · ')),
  )
}

function labelElement(name) {
  const label = element('span', 'label', element('bdi', '', name))
  const color = colors.get(name)
  if (!/^[0-9a-f]{6}$/i.test(color)) return label
  const svg = (tag, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', tag)
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
    return made
  }
  const dot = svg('svg', { class: 'dot', viewBox: '0 0 8 8', 'aria-hidden': 'true' })
  dot.append(svg('circle', { cx: 4, cy: 4, r: 4, fill: `#${color}` }))
  label.prepend(dot)
  return label
}

// A link such as index.html#label=bug opens the list with a filter.
function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1))
  for (const name of ['text', 'state', 'label', 'author', 'milestone'])
    if (wanted.has(name)) form.elements[name].value = wanted.get(name)
  filter()
}

loaded.then(() => {
  addOptions('label', new Set([...colors.keys(), ...rows.flatMap(({ labels }) => labels)]))
  addOptions('author', new Set(rows.map(({ author }) => author)))
  addOptions('milestone', new Set(rows.map(({ milestone }) => milestone)))
  form.hidden = false
  form.addEventListener('input', filter)
  form.addEventListener('reset', () => setTimeout(filter))
  form.addEventListener('submit', (event) => event.preventDefault())
  more.addEventListener('click', showMore)
  addEventListener('hashchange', readAddress)
  readAddress()
})
