// Keeps the health on the start page up to date.
const panel = document.getElementById('health')
const summary = panel.querySelector('.health')
const { url, ok, bad, unknown, running } = panel.dataset
const INTERVAL_MS = 5000

async function update() {
  if (document.hidden) return
  try {
    const response = await fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(INTERVAL_MS) })
    const { status, checks } = await response.json()
    show(status === 'ok' ? 'ok' : 'bad', status === 'ok' ? ok : bad)
    for (const part of panel.querySelectorAll('[data-check]')) {
      const state = checks[part.dataset.check]
      part.dataset.state = state === 'ok' ? 'ok' : 'bad'
      part.querySelector('b').textContent = state === 'ok' ? running : state
    }
  } catch {
    show('unknown', unknown)
  }
}

/** An unchanged text is left alone: screen readers would read it again. */
function show(state, text) {
  summary.dataset.state = state
  if (summary.textContent !== text) summary.textContent = text
  panel.querySelector('.checks').hidden = state === 'unknown'
}

setInterval(update, INTERVAL_MS)
document.addEventListener('visibilitychange', update)
