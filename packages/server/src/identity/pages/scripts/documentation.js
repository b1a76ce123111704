// The documentation: results while typing, buttons that copy code, and the heading that is being read.
const form = document.querySelector('.search')
const field = document.getElementById('docs-q')
const list = document.getElementById('docs-results')
const status = document.getElementById('docs-count')
const PAUSE_MS = 80
const MOST_SHOWN = 8
let timer
let request = new AbortController()

field.addEventListener('input', () => {
  clearTimeout(timer)
  timer = setTimeout(search, PAUSE_MS)
})
field.addEventListener('focus', () => {
  if (list.childElementCount > 0 && field.value.trim() !== '') list.hidden = false
})

async function search() {
  request.abort()
  const query = field.value.trim()
  if (query === '') return close()
  request = new AbortController()
  try {
    const url = `${form.action}?q=${encodeURIComponent(query)}`
    const response = await fetch(url, { headers: { accept: 'application/json' }, signal: request.signal })
    if (response.ok) show(await response.json(), url)
  } catch (error) {
    if (error.name !== 'AbortError') close()
  }
}

function show({ hits, count }, url) {
  const links = hits.slice(0, MOST_SHOWN).map(({ url: target, page, heading, extract }) => {
    const text = element('span', '')
    for (const { text: piece, isMarked } of extract) text.append(isMarked ? element('mark', piece) : piece)
    const link = element('a', '')
    link.href = target
    link.append(
      element('strong', heading ?? page),
      heading === null || heading === undefined ? '' : element('em', page),
      text,
    )
    return link
  })
  if (count > links.length) {
    const all = element('a', form.dataset.all)
    all.href = url
    all.className = 'all'
    links.push(all)
  }
  list.replaceChildren(...(links.length === 0 ? [element('p', form.dataset.none)] : links))
  list.hidden = false
  status.textContent = links.length === 0 ? form.dataset.none : String(count)
}

function close() {
  list.hidden = true
  list.replaceChildren()
  status.textContent = ''
}

function element(name, text) {
  const made = document.createElement(name)
  made.textContent = text
  return made
}

form.addEventListener('keydown', (event) => {
  const links = [...list.querySelectorAll('a')]
  const at = links.indexOf(document.activeElement)
  if (event.key === 'Escape') {
    list.hidden = true
    field.focus()
  } else if (event.key === 'ArrowDown' && links.length > 0) (links[at + 1] ?? links[0]).focus()
  else if (event.key === 'ArrowUp' && at >= 0) (links[at - 1] ?? field).focus()
  else return
  event.preventDefault()
})
form.addEventListener('focusout', (event) => {
  if (!form.contains(event.relatedTarget)) list.hidden = true
})
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.closest('input, textarea, select')) return
  event.preventDefault()
  field.focus()
  field.select()
})

const key = element('kbd', '/')
key.ariaHidden = 'true'
field.after(key)

document.querySelector('#docs-navigation [aria-current]')?.scrollIntoView({ block: 'nearest' })

const { copy, copied } = document.querySelector('.documentation').dataset
for (const block of navigator.clipboard === undefined ? [] : document.querySelectorAll('.block')) {
  const button = element('button', copy)
  button.type = 'button'
  button.className = 'copy'
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent)
    button.textContent = copied
    status.textContent = copied
    setTimeout(() => {
      button.textContent = copy
    }, 2000)
  })
  block.append(button)
}

const entries = new Map([...document.querySelectorAll('.toc a')].map((link) => [link.hash.slice(1), link]))
const headings = [...entries.keys()].map((id) => document.getElementById(decodeURIComponent(id)))
if (headings.length > 0) {
  const mark = () => {
    const read = headings.findLast((heading) => heading.getBoundingClientRect().top < 120) ?? headings[0]
    for (const [id, link] of entries) {
      if (decodeURIComponent(id) === read.id) link.setAttribute('aria-current', 'true')
      else link.removeAttribute('aria-current')
    }
  }
  document.addEventListener('scroll', mark, { passive: true })
  mark()
}
