/** The page, as text. */
export function page({ user, trades = [], problem = '' } = {}) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Prices</title>
<link rel="icon" href="data:,">
<style>
  body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem / 1.5 system-ui, sans-serif }
  td { padding-right: 1rem; font-variant-numeric: tabular-nums }
</style>
<h1>Prices</h1>
<p role="alert">${escaped(problem)}</p>
${user === undefined ? '<a id="sign-in" href="/sign-in">Sign in</a>' : content(user, trades)}
`
}

function content(user, trades) {
  const cells = ({ executed_at: time, symbol, side, quantity, price }) => [time, symbol, side, quantity, price]
  return `<form method="post" action="/sign-out">
  <span id="user">${escaped(user.name)}</span> <button id="sign-out">Sign out</button>
</form>
<h2>Live prices</h2>
<table><tbody id="prices"></tbody></table>
<h2>Latest trades</h2>
<table><tbody id="trades">${trades.map((trade) => row(cells(trade))).join('')}</tbody></table>
<script>
  new EventSource('/prices').onmessage = ({ data }) => {
    const rows = JSON.parse(data).map(({ symbol, bid, ask }) => {
      const row = document.createElement('tr')
      for (const text of [symbol, bid, ask]) row.insertCell().textContent = text
      return row
    })
    document.getElementById('prices').replaceChildren(...rows)
  }
</script>`
}

function row(cells) {
  return `<tr>${cells.map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`
}

function escaped(text) {
  return String(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
