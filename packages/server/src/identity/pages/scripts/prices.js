// Moving prices on the start page of the demonstration.
// A block, since the scripts of a page share their names.
{
  const panel = document.getElementById('prices')
  const list = panel.querySelector('ul')
  const note = panel.querySelector('.late')
  const { url, late, waiting: soon } = panel.dataset
  const INTERVAL_MS = 1000
  const MOST_POINTS = 60
  const FEWEST_POINTS = 8
  const LEAST_SPAN = 0.002
  const [WIDTH, HEIGHT] = [120, 28]
  const SVG = 'http://www.w3.org/2000/svg'
  const shown = new Map()

  async function update() {
    if (document.hidden) return
    try {
      const response = await fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(5 * INTERVAL_MS) })
      if (!response.ok) return
      const { prices, delay, waiting = false } = await response.json()
      for (const { symbol, bid, ask } of prices) show(symbol, (Number(bid) + Number(ask)) / 2)
      panel.hidden = prices.length === 0 && !waiting
      const text = waiting ? soon : delay === undefined ? '' : late.replace('{seconds}', delay)
      if (note.textContent !== text) note.textContent = text
    } catch {
      // The panel of the health says what is wrong.
    }
  }

  function show(symbol, price) {
    const entry = shown.get(symbol) ?? add(symbol, price)
    const before = entry.points.at(-1)
    entry.points = [...entry.points, price].slice(-MOST_POINTS)
    entry.line.setAttribute('points', polylinePoints(entry.points))
    entry.value.textContent = price.toFixed(2)
    // Rounded first: what is shown as zero has no sign.
    const percent = Number((((price - entry.first) / entry.first) * 100).toFixed(2))
    entry.change.textContent = `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent).toFixed(2)} %`
    if (before === undefined || before === price) return
    entry.item.className = ''
    // Starts the animation again.
    void entry.item.offsetWidth
    entry.item.className = price > before ? 'up' : 'down'
  }

  function add(symbol, price) {
    const [item, name, value, change] = ['li', 'strong', 'b', 'span'].map((tag) => document.createElement(tag))
    const chart = document.createElementNS(SVG, 'svg')
    const line = document.createElementNS(SVG, 'polyline')
    chart.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`)
    chart.setAttribute('preserveAspectRatio', 'none')
    chart.setAttribute('aria-hidden', 'true')
    chart.append(line)
    name.textContent = symbol
    item.append(name, change, value, chart)
    list.append(item)
    const entry = { item, value, change, line, first: price, points: [] }
    shown.set(symbol, entry)
    return entry
  }

  /** As wide as the panel after a few points. A price that hardly moves is a line that hardly moves. */
  function polylinePoints(points) {
    const [low, high] = [Math.min(...points), Math.max(...points)]
    const span = Math.max(high - low, high * LEAST_SPAN)
    const bottom = (low + high - span) / 2
    const step = WIDTH / (Math.max(points.length, FEWEST_POINTS) - 1)
    const from = WIDTH - (points.length - 1) * step
    return points
      .map(
        (price, at) =>
          `${(from + at * step).toFixed(1)},${(HEIGHT - 2 - ((price - bottom) / span) * (HEIGHT - 4)).toFixed(1)}`,
      )
      .join(' ')
  }

  void update()
  setInterval(update, INTERVAL_MS)
  document.addEventListener('visibilitychange', update)
}
