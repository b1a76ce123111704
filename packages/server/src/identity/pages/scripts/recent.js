// Recent work on the start page: what the console has stored in this browser for the user who is signed in.
// A block, since the scripts of a page share their names.
{
  const panel = document.getElementById('recent')
  const { user, console: consoleUrl, ...kinds } = panel.dataset
  const MOST = 6
  const UNITS = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
  ]
  const ages = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: 'auto' })

  function read(key) {
    try {
      const stored = JSON.parse(localStorage.getItem(key) ?? '[]')
      return Array.isArray(stored) ? stored.filter((entry) => typeof entry?.at === 'number') : []
    } catch {
      return []
    }
  }

  const visits = read(`gatehouse.visits.${user}`).filter(
    ({ kind, title, href }) =>
      Object.hasOwn(kinds, kind) && typeof title === 'string' && String(href).startsWith(`${consoleUrl}/`),
  )
  const statements = read(`gatehouse.query.history.${user}`)
    .filter(({ text }) => typeof text === 'string')
    .map(({ text, at }) => {
      const title = text.replace(/\s+/g, ' ').slice(0, 120)
      return { kind: 'statement', title, href: `${consoleUrl}/query?${new URLSearchParams({ q: text })}`, at }
    })

  function formatAge(at) {
    const age = Math.max(0, Date.now() - at)
    const [unit, length] = UNITS.find(([, most]) => age >= most) ?? ['second', Number.POSITIVE_INFINITY]
    return ages.format(-Math.floor(age / length), unit)
  }

  function show({ kind, title, href, at }) {
    const [item, link, name, about] = ['li', 'a', 'span', 'small'].map((tag) => document.createElement(tag))
    link.href = href
    name.textContent = title
    name.className = kind
    about.textContent = `${kinds[kind]} · ${formatAge(at)}`
    link.append(name, about)
    item.append(link)
    return item
  }

  const recent = [...visits, ...statements].sort((one, other) => other.at - one.at).slice(0, MOST)
  panel.querySelector('ul').append(...recent.map(show))
  panel.hidden = recent.length === 0
}
